package serve

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/issuer"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// A replaceableHandler passes requests to a handler that can be replaced while the server
// runs. Until a worker ID is leased, the handler is [service.Starting], which answers only
// probes and /metrics. Then the service takes its place.
type replaceableHandler struct{ handler atomic.Pointer[http.Handler] }

// replace sets the handler for all further requests.
func (f *replaceableHandler) replace(h http.Handler) { f.handler.Store(&h) }

// ServeHTTP may be called only after replace.
func (f *replaceableHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// isTransient reports whether a later try to lease a worker may succeed without a change of
// flags or of the table. That is so if the store could not be reached, if other processes
// hold all workers, or if this process was paused until the window of its new lease had ended.
func isTransient(err error) bool {
	var network net.Error                          // for example a refused connection
	var postgresErr interface{ SQLState() string } // an error of PostgreSQL's driver
	switch {
	case errors.Is(err, lease.ErrNoFreeWorker), errors.Is(err, snowflake.ErrFenced), errors.Is(err, context.DeadlineExceeded), errors.Is(err, driver.ErrBadConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return true
	case errors.As(err, &postgresErr):
		state := postgresErr.SQLState()
		return state == "57P03" || state == "53300" // the server is starting, or has too many connections
	}
	return false
}

const (
	// firstWait is how long serve waits for a worker before it begins to answer requests
	// without a worker.
	firstWait = 5 * time.Second

	// The pause between two tries doubles from shortestPause to longestPause.
	shortestPause = 250 * time.Millisecond
	longestPause  = 5 * time.Second
)

// errNoAnswer is the error if the first try has not ended after firstWait. The try goes on.
var errNoAnswer = fmt.Errorf("the database has not answered within %v", firstWait)

// An attempt is the result of one try to lease a worker. It has an issuer with the worker, or
// an error.
type attempt struct {
	*issuer.Issuer
	err error
}

// startAttempt begins a try to lease a worker, and returns a channel that receives its
// result once. The try ends soon after ctx has ended.
func (f *serveFlags) startAttempt(ctx context.Context, cmd *cobra.Command, log *slog.Logger) <-chan attempt {
	result := make(chan attempt, 1)
	go func() {
		i, err := f.open(ctx, cmd, log)
		result <- attempt{i, err}
	}()
	return result
}

// serveWhenOpen runs the service until the command ends. First it waits up to firstWait for a
// worker. If the try to lease a worker fails because of a transient error, or has not ended by
// then, the service starts without a worker. It answers probes and refuses other requests
// until openLater has leased a worker. An error that is not transient ends the command.
func (f *serveFlags) serveWhenOpen(cmd *cobra.Command, listeners []net.Listener, secure *tls.Config, cfg service.Config) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	// running receives the result of the first try. It is nil once the try has ended.
	running := f.startAttempt(ctx, cmd, cfg.Log)
	var a attempt
	select {
	case a = <-running:
		running = nil
	case <-time.After(firstWait):
		a.err = errNoAnswer
	}
	front := new(replaceableHandler) // the handler of the server
	switch {
	case a.err == nil: // the worker is leased, or the service only decodes IDs
		handler, err := handlerOf(cfg, a.Issuer)
		front.replace(handler)
		if err == nil {
			err = f.serve(cmd, listeners, secure, cfg, front)
		}
		return errors.Join(err, a.Close(cmd.Context(), f.shutdownTimeout))
	case ctx.Err() != nil: // a signal has ended the command
		if running != nil {
			a = <-running // It ends soon, because ctx has ended.
		}
		if a.err == nil { // the try has succeeded meanwhile
			return a.Close(cmd.Context(), f.shutdownTimeout)
		}
		cfg.Log.Info("ended before a worker was leased", "reason", a.err)
		return nil
	case running == nil && !isTransient(a.err):
		return a.err
	}
	cfg.Log.Warn("no worker is leased yet, and no ID is issued", "error", a.err)
	front.replace(service.Starting())
	// Serve without a worker, while openLater tries to lease a worker and then puts the
	// service into front.
	later, served := make(chan error, 1), make(chan struct{})
	go func() { later <- f.openLater(ctx, cmd, front, cfg, running, served) }()
	err := f.serve(cmd, listeners, secure, cfg, front)
	close(served) // openLater may release the worker now
	stop()        // openLater stops trying if the server has failed
	return errors.Join(err, <-later)
}

// openLater tries to lease a worker until it succeeds or ctx ends. Then it puts the service
// under this worker into front, and keeps the worker until served is closed. It must not
// release the worker at the end of ctx, because the service answers requests for
// --shutdown-delay after the signal to end. running receives the result of a try that has not
// ended yet, and is nil if there is no such try. openLater logs an error only if its text
// differs from the text of the error before.
func (f *serveFlags) openLater(ctx context.Context, cmd *cobra.Command, front *replaceableHandler, cfg service.Config, running <-chan attempt, served <-chan struct{}) error {
	for pause, lastError := shortestPause, ""; ; pause = min(2*pause, longestPause) {
		if running == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			running = f.startAttempt(ctx, cmd, cfg.Log)
		}
		a := <-running
		running = nil
		if a.err == nil {
			return f.holdWorker(ctx, front, cfg, a, served)
		}
		if ctx.Err() == nil && a.err.Error() != lastError {
			lastError = a.err.Error()
			cfg.Log.Warn("no worker is leased yet, and no ID is issued", "error", a.err)
		}
	}
}

// holdWorker puts the service that issues IDs under the worker of a into front, and releases
// the worker once served is closed. If the service cannot be created, front continues to
// refuse requests, and holdWorker releases the worker at once and returns the error.
func (f *serveFlags) holdWorker(ctx context.Context, front *replaceableHandler, cfg service.Config, a attempt, served <-chan struct{}) error {
	handler, err := handlerOf(cfg, a.Issuer)
	if err != nil {
		cfg.Log.Error("no ID is issued", "error", err)
	} else {
		front.replace(handler)
		<-served
	}
	return errors.Join(err, a.Close(ctx, f.shutdownTimeout))
}
