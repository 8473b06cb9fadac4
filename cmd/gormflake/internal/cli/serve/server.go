package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/issuer"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/page"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
)

// open leases a worker, or takes the worker of --worker, and returns an issuer with a
// generator for it. Without --dsn and --worker, the issuer has no generator, because the
// service then only decodes IDs.
func (f *serveFlags) open(ctx context.Context, cmd *cobra.Command, log *slog.Logger) (*issuer.Issuer, error) {
	if !f.issuer.Database.Given() && !cmd.Flags().Changed("worker") {
		log.Info("no --dsn and no --worker: IDs are taken apart, none are issued")
		return &issuer.Issuer{}, nil
	}
	i, err := f.issuer.Open(ctx, log)
	if err != nil {
		return nil, err
	}
	log.Info("IDs are issued under " + i.Name())
	return i, nil
}

// handlerOf returns the handler of the service and of its web page for an issuer. It
// replaces the layout in cfg, which the flags describe, by the layout of the generator,
// which may come from the database.
func handlerOf(cfg service.Config, i *issuer.Issuer) (http.Handler, error) {
	cfg.Generator, cfg.Store = i.Gen, i.Store
	if i.Gen != nil {
		cfg.Layout = i.Gen.Layout()
	}
	cfg.Page = page.Handler(page.Config{
		Layout: true, IDs: cfg.Generator != nil, MaxCount: cfg.MaxCount, Workers: cfg.Store != nil, Token: cfg.Token != "",
	}, service.Refuse)
	return service.New(cfg)
}

// serve runs a server for each listener until the command's context ends, and returns after
// the last request has been answered. The first listener offers all paths of handler, over
// HTTPS if secure is not nil. It returns early with an error if a server fails.
func (f *serveFlags) serve(cmd *cobra.Command, listeners []net.Listener, secure *tls.Config, cfg service.Config, handler http.Handler) error {
	limitMemory(cfg.MaxMemory)
	server := service.NewServer(handler, cfg.Timeout, cfg.Log)
	server.TLSConfig = secure
	ended := make(chan error, len(listeners)) // receives the error of a server that fails
	serve := server.Serve
	if secure != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() { ended <- serve(limitConnections(server, listeners[0], cfg.MaxConns())) }()
	// --health-addr has only the probes and metrics, and no limit of connections, so that
	// clients who use up the connections of --addr do not keep probes from being answered.
	for _, l := range listeners[1:] {
		probes := service.NewServer(service.Probes(handler), cfg.Timeout, cfg.Log)
		defer func() { _ = probes.Close() }()
		go func() { ended <- probes.Serve(l) }()
	}
	if err := announce(cmd.OutOrStdout(), listeners, secure != nil, cfg); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-ended:
		return err
	case <-cmd.Context().Done():
		return f.shutdown(cmd.Context(), server)
	}
}

// limitMemory makes the runtime collect garbage more often when its memory approaches limit
// bytes. It does nothing if the environment variable GOMEMLIMIT is set, because the runtime
// then has a limit already.
func limitMemory(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// announce prints the address of --addr, which is the first listener, and the address of
// --health-addr, which is the second listener, if there is one. Scripts that use port 0 read
// the port from these lines. secure says whether --addr serves HTTPS.
func announce(out io.Writer, listeners []net.Listener, secure bool, cfg service.Config) error {
	// An address that is not on the loopback interface, such as 0.0.0.0, is open to other
	// machines.
	if tcp, ok := listeners[0].Addr().(*net.TCPAddr); cfg.Token == "" && (!ok || !tcp.IP.IsLoopback()) {
		cfg.Log.Warn("other machines can reach this address, and no token is wanted of them: see --token-file")
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	terminal.Say(out, "listening on %s://%s", scheme, listeners[0].Addr())
	for _, l := range listeners[1:] {
		terminal.Say(out, "health and metrics on http://%s", l.Addr())
	}
	return terminal.Flush(out)
}

// shutdown ends the server after a signal. It first waits --shutdown-delay, during which the
// service still answers and /readyz returns 503, so that load balancers stop sending
// requests. Then it waits up to --shutdown-timeout until the running requests have been
// answered, and returns an error if it has to cut them off. [terminal.Ended] marks this
// error, so that the command does not report an interruption.
func (f *serveFlags) shutdown(ctx context.Context, server *http.Server) error {
	time.Sleep(f.shutdownDelay)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.shutdownTimeout) // the signal has ended ctx
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return terminal.Ended(errors.Join(fmt.Errorf("requests under way were cut off after %v: see --shutdown-timeout", f.shutdownTimeout), server.Close()))
}
