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
)

// A replaceableHandler passes requests to a handler that can be replaced while the server
// runs. The handler answers probes until a worker is leased, and then is the service.
type replaceableHandler struct{ handler atomic.Pointer[http.Handler] }

// replace sets the handler for all further requests.
func (f *replaceableHandler) replace(h http.Handler) { f.handler.Store(&h) }

func (f *replaceableHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// mayPass reports whether the error may pass, so that a later try succeeds without a change
// of flags or of the table. That is so if the database could not be reached, or if all
// workers were leased.
func mayPass(err error) bool {
	var network net.Error // for example a refused connection
	var postgresErr interface{ SQLState() string }
	switch {
	case errors.Is(err, lease.ErrNoFreeWorker), errors.Is(err, context.DeadlineExceeded), errors.Is(err, driver.ErrBadConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return true
	case errors.As(err, &postgresErr):
		state := postgresErr.SQLState()
		return state == "57P03" || state == "53300" // the server is starting, or has too many connections
	}
	return false
}

const (
	// firstTry is how long the service waits for a worker before it begins to answer
	// requests without a worker.
	firstTry = 5 * time.Second

	// The bounds of the pauses between tries.
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second
)

// errNoAnswer is the error if the first try has not ended after firstTry.
var errNoAnswer = fmt.Errorf("the database has not answered within %v", firstTry)

// An attempt is the result of one try to lease a worker.
type attempt struct {
	*issuer.Issuer
	err error
}

// startAttempt begins a try to lease a worker, and returns a channel that receives its
// result.
func (f *serveFlags) startAttempt(ctx context.Context, cmd *cobra.Command, log *slog.Logger) <-chan attempt {
	result := make(chan attempt, 1)
	go func() {
		i, err := f.open(ctx, cmd, log)
		result <- attempt{i, err}
	}()
	return result
}

// serveWhenOpen runs the service. Until a worker is leased, the service answers probes
// and refuses all other requests.
func (f *serveFlags) serveWhenOpen(cmd *cobra.Command, listeners []net.Listener, secure *tls.Config, cfg service.Config) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	first := f.startAttempt(ctx, cmd, cfg.Log)
	// a is the result of the first try. first is nil once the try has ended.
	var a attempt
	select {
	case a = <-first:
		first = nil
	case <-time.After(firstTry):
		a.err = errNoAnswer
	}
	front := new(replaceableHandler)
	switch {
	case a.err == nil:
		handler, err := handlerOf(cfg, a.Issuer)
		front.replace(handler)
		if err == nil {
			err = f.serve(cmd, listeners, secure, cfg, front)
		}
		return errors.Join(err, a.Close(cmd.Context(), f.shutdownTimeout))
	case ctx.Err() != nil:
		if first != nil {
			a = <-first // It ends soon, because ctx has ended.
		}
		if a.err == nil { // the try has succeeded meanwhile
			return a.Close(cmd.Context(), f.shutdownTimeout)
		}
		cfg.Log.Info("ended before a worker was leased", "reason", a.err)
		return nil
	case !mayPass(a.err) && first == nil: // first is not nil if the try is still running
		return a.err
	}
	cfg.Log.Warn("no worker is leased yet, and no ID is issued", "error", a.err)
	front.replace(service.Starting())
	// Serve without a worker, while openLater tries to lease one and puts the service into
	// front.
	later, served := make(chan error, 1), make(chan struct{})
	go func() { later <- f.openLater(ctx, cmd, front, cfg, first, served) }()
	err := f.serve(cmd, listeners, secure, cfg, front)
	close(served)
	stop()
	return errors.Join(err, <-later)
}

// openLater tries to lease a worker until it succeeds or ctx ends. It keeps the worker
// until served is closed, because the service answers requests for --shutdown-delay after
// the signal to end. running receives the result of the first try if that is still
// running, and is nil otherwise. openLater logs an error unless it is equal to the last
// error.
func (f *serveFlags) openLater(ctx context.Context, cmd *cobra.Command, front *replaceableHandler, cfg service.Config, running <-chan attempt, served <-chan struct{}) error {
	for pause, last := firstPause, ""; ; pause = min(2*pause, lastPause) {
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
		if ctx.Err() == nil && a.err.Error() != last {
			last = a.err.Error()
			cfg.Log.Warn("no worker is leased yet, and no ID is issued", "error", a.err)
		}
	}
}

// holdWorker issues IDs under the worker until served is closed, and then releases it.
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
