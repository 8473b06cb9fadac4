package service

import (
	"crypto/sha256"
	"net/http"
	"slices"

	"golang.org/x/sync/semaphore"
)

// New returns the handler of the service. It returns an error that lists all mistakes in
// cfg.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{
		Config: cfg, anyone: slices.Contains(cfg.Origins, "*"), last: cfg.Layout.Max(cfg.Layout.Expires()),
		// Half of the share for answers is for small blocks, and half is for large blocks.
		small: semaphore.NewWeighted(cfg.MaxMemory / shares / 2), large: semaphore.NewWeighted(cfg.MaxMemory / shares / 2), durations: newDurations(),
	}
	if cfg.Token != "" {
		sum := sha256.Sum256([]byte(cfg.Token))
		s.token = &sum
	}
	return s.routes(), nil
}

// routes returns the handler of all paths. Open paths answer every client. Guarded paths
// require an accepted host and the token. Once the process is about to end, the handler
// closes each connection after its response, so that clients go to another server.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(route string, handler http.Handler) {
		mux.Handle(route, s.observe(route, handler))
	}
	open := func(route string, write answer) { handle(route, s.endpoint(write, false)) }
	guarded := func(route string, write answer) { handle(route, s.endpoint(write, true)) }
	guarded("/v1/ids", s.issue)
	guarded("/v1/ids/{id}", s.read)
	guarded("/v1/layout", s.layout)
	guarded("/v1/workers", s.listWorkers)
	guarded("/v1/", notFound)
	open("/openapi.json", s.openAPI())
	open("/livez", s.alive)
	open("/readyz", s.health)
	open("/healthz", s.health)
	metrics := s.metrics()
	guarded("/metrics", func(w http.ResponseWriter, r *http.Request) error {
		metrics.ServeHTTP(w, r)
		return nil
	})
	if s.Page != nil {
		handle("/", s.Page)
	} else {
		open("/", notFound)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining() {
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

// Probes returns a handler that passes only the paths of health and metrics to the handler
// of a service. serve offers it on the address of --health-addr.
func Probes(service http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics"} {
		mux.Handle(path, service)
	}
	return mux
}

// notFound answers requests for paths that do not exist.
func notFound(_ http.ResponseWriter, r *http.Request) error {
	return failf(http.StatusNotFound, "no such path %.100q: see /openapi.json", r.URL.Path)
}
