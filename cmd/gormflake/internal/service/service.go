// Package service is the HTTP interface of a generator. It issues IDs, reads IDs, and
// reports its layout, its workers and its health. openapi.json describes its paths; all
// other paths belong to the page. The command serve calls [New] with a [Config], and
// [NewServer] for the server.
//
// Requests change only the sequence of the generator. Errors are problems as in RFC 9457,
// whose detail is one sentence.
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
	token     *[sha256.Size]byte // hash of the token; nil if no token is required
	anyone    bool               // whether pages of all sites may read the answers
	last      types.ID           // the last ID of the layout
	durations *prometheus.HistogramVec
	noted     atomic.Bool // whether an error was logged a moment ago
	workers   workerList

	small, large *semaphore.Weighted // memory for blocks
}

// New returns the handler of the service. It returns an error that lists all mistakes in
// cfg.
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

// Probes returns a handler for the paths of the service that report its health, to be
// served on another address.
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
	maxHeaderBytes = 8 << 10 // net/http adds 4 KiB

	// connSize is about the memory of a connection, which consists of the stacks of two
	// goroutines and two buffers. Measured were 20 KiB, with 5,000 connections that each
	// requested an ID.
	connSize = 32 << 10
)

// NewServer returns a server for handler with limits against slow and hostile clients.
// timeout is [Config.Timeout]; in addition, a client has 30 seconds to read the answer.
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
