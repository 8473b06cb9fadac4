package service

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of a connection.
const (
	headerTimeout  = 5 * time.Second  // until the header of a request has arrived
	readTimeout    = 10 * time.Second // until the whole request has arrived
	idleTimeout    = 2 * time.Minute  // until the next request
	sendTimeout    = 30 * time.Second // until the client has read the answer
	maxHeaderBytes = 8 << 10          // net/http adds 4 KiB

	// connSize is the number of bytes that MaxConns reserves for a connection, which needs
	// the stacks of two goroutines and two buffers. Measured were 20 KiB, with 5,000
	// connections that each requested an ID.
	connSize = 32 << 10
)

// NewServer returns a server for handler with limits against slow and hostile clients.
// timeout is [Config.Timeout], for which a request may wait for its answer. In addition, a
// client has 30 seconds to read the answer.
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
