// Package service is the HTTP interface of a generator: it issues IDs and takes
// them apart, and reports its layout, its workers and its health. openapi.json
// describes its paths; everything else is the page's.
//
// No request changes anything but the sequence of the generator. Errors are
// problems as in RFC 9457, with one sentence as their detail.
package service

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/gormflake/gormflake/types"
)

type service struct {
	Config
	token     *[sha256.Size]byte // nil: none is wanted
	anyone    bool               // pages of every site may read
	last      types.ID           // of the layout
	durations *prometheus.HistogramVec
	noted     atomic.Bool // an error, a moment ago
	workers   workerList

	small, large *semaphore.Weighted // memory for blocks
}

// New makes the service. What is wrong with cfg is one error.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &service{
		Config: cfg, anyone: slices.Contains(cfg.Origins, "*"), last: cfg.Layout.Max(cfg.Layout.Expires()),
		small: semaphore.NewWeighted(cfg.MaxMemory / shares / 2), large: semaphore.NewWeighted(cfg.MaxMemory / shares / 2), durations: newDurations(),
	}
	if cfg.Token != "" {
		sum := sha256.Sum256([]byte(cfg.Token))
		s.token = &sum
	}
	return s.routes(), nil
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(route string, handler http.Handler) {
		mux.Handle(route, s.observed(route, handler))
	}
	open := func(route string, answer answer) { handle(route, s.endpoint(answer, false)) }
	guarded := func(route string, answer answer) { handle(route, s.endpoint(answer, true)) }
	guarded("/v1/ids", s.issue)
	guarded("/v1/ids/{id}", s.read)
	guarded("/v1/layout", s.layout)
	guarded("/v1/workers", s.listWorkers)
	guarded("/v1/", notFound)
	open("/openapi.json", openAPI)
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

// Probes is the part of a service that tells its health, for an address of its own.
func Probes(service http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics"} {
		mux.Handle(path, service)
	}
	return mux
}

func notFound(_ http.ResponseWriter, r *http.Request) error {
	return failf(http.StatusNotFound, "no such path %.100q: see /openapi.json", r.URL.Path)
}

// Limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	sendTimeout    = 30 * time.Second
	maxHeaderBytes = 8 << 10 // net/http adds 4 KiB of its own

	// connSize is about what a connection takes of memory: two goroutines' stacks
	// and two buffers: 20 KiB were measured, with 5,000 that each asked for an ID.
	connSize = 32 << 10
)

// NewServer serves the handler to clients that may be slow or hostile. timeout
// is the [Config]'s; on top of it a client has 30 seconds to read the
// answer.
func NewServer(handler http.Handler, timeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      timeout + sendTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
