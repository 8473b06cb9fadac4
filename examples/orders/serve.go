package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	shutdownTimeout = 10 * time.Second
	maxBodyBytes    = 1 << 20
)

// serve answers on address until ctx ends, then lets the requests that are
// under way finish.
func serve(ctx context.Context, s *shop, address string, stdout io.Writer) error {
	listener, err := net.Listen("tcp", listenAddress(address))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newHandler(s),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	(&report{w: stdout}).printf("Open http://%s/ in a browser; Ctrl-C stops.\n", listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return shutdown(ctx, server)
	}
}

func shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("requests still under way after %v were cut off: %w", shutdownTimeout, server.Close())
	}
	return nil
}

// listenAddress completes a bare port, written 8080 or :8080. It is not opened
// to the network, for there is no login here.
func listenAddress(address string) string {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	return address
}
