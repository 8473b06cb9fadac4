package service

import (
	"log/slog"
	"net/http"
	"time"
)

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
