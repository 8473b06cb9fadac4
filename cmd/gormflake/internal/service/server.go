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
