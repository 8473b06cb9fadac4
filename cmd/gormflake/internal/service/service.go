package service

import (
	"crypto/sha256"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gormflake/gormflake/types"
)

type service struct {
	Config
	token    *[sha256.Size]byte // nil: none is wanted
	anyone   bool               // pages of every site may read
	last     types.ID           // of the layout
	refusals *prometheus.CounterVec
	noted    moment
	workers  workerList
}

// New makes the service. What is wrong with cfg is one error.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	s := &service{Config: cfg, anyone: slices.Contains(cfg.Origins, "*"), last: cfg.Layout.Max(cfg.Layout.Expires())}
	if cfg.Token != "" {
		sum := sha256.Sum256([]byte(cfg.Token))
		s.token = &sum
	}
	metrics, err := s.metrics()
	if err != nil {
		return nil, err
	}
	return s.routes(metrics), nil
}

func (s *service) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, answer answer) { mux.Handle(pattern, &endpoint{s, answer, reading, false}) }
	guarded := func(pattern string, answer answer) { mux.Handle(pattern, &endpoint{s, answer, reading, true}) }
	// HEAD would use up IDs that nobody gets.
	mux.Handle("/v1/ids", &endpoint{s, s.issue, []string{http.MethodGet}, true})
	guarded("/v1/ids/{id}", s.read)
	guarded("/v1/layout", s.layout)
	guarded("/v1/workers", s.listWorkers)
	guarded("/v1/", notFound)
	open("/healthz", s.health)
	guarded("/metrics", func(w http.ResponseWriter, r *http.Request) error {
		metrics.ServeHTTP(w, r)
		return nil
	})
	if s.Page != nil {
		mux.Handle("/", s.Page)
	} else {
		open("/", notFound)
	}
	return mux
}

var reading = []string{http.MethodGet, http.MethodHead}

func notFound(_ http.ResponseWriter, r *http.Request) error {
	return failf(http.StatusNotFound, "no such path %.100q: want /v1/ids, /v1/ids/{id}, /v1/layout, /v1/workers, /healthz or /metrics", r.URL.Path)
}
