// Package serve has the command serve, which runs the HTTP service of package service.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/issuer"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/page"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
)

const serveHelp = `Serve IDs, what is in them, and the inspector's web page over HTTP:

  GET /v1/ids?count=n       {"ids":["…", …]}, by default one
  GET /v1/ids/{id}?as=form  an ID taken apart; form is base32, base58 or base62, by default decimal
  GET /v1/layout            the layout of the IDs
  GET /v1/workers           who holds which worker (with --dsn)
  GET /readyz               200, or 503 while no IDs can be issued
  GET /livez                200
  GET /metrics              for Prometheus
  GET /openapi.json         all of this, for programs
  GET /                     the inspector

With --dsn a worker is leased from the database, and released on SIGTERM or
SIGINT once the requests under way are answered. With --worker alone the number
must be nobody else's. With neither, IDs are only taken apart.

If the database is away at the start, or all workers are leased, the service
starts all the same, and issues IDs once it has a worker. While the database is
away later, IDs are issued until the window ends (see --window). Until then and
from then on they are refused with 503. Use /readyz to take the
process out of a load balancer, and /livez to restart it: a restart does not
bring a database back.

Only this machine is served unless --addr says otherwise. A client that reaches the
address may use up the sequence; nothing else can be changed. With a token, in
the file of --token-file or in $` + flags.TokenVariable + `, that one is wanted for /v1 and
/metrics.

Without a token, requests for hosts other than localhost, IP addresses and the hosts of
--host and --allow-origin are refused: a web page could have made its own
name lead here. Who else reaches the service by a name gives it with --host.`

type serveFlags struct {
	issuer      issuer.Flags
	addr        string
	token       flags.Token
	tls         keyPair
	healthAddr  string
	maxMemory   string
	delay       time.Duration
	maxShutdown time.Duration
	logFormat   string
	service     service.Config
}

// New returns the command serve.
func New() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve IDs and the inspector over HTTP",
		Long:  serveHelp,
		Example: `  gormflake serve --dsn sqlite://app.db
  gormflake serve --worker 3 --addr 127.0.0.1:9000
  gormflake serve --dsn postgres://app@db/app --addr :8080 --token-file /run/secrets/token`,
		Args: flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	f.issuer.Register(cmd)
	f.token.Register(cmd)
	set := cmd.Flags()
	f.tls.register(set)
	set.StringVar(&f.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one, :8080 is reached from other machines")
	set.StringVar(&f.healthAddr, "health-addr", "", "another address, for /livez, /readyz and /metrics alone, which clients of the first cannot exhaust (default none)")
	set.StringSliceVar(&f.service.Origins, "allow-origin", nil, "web site whose pages may ask, such as https://app.example.com, or * for all (default none but the inspector)")
	set.StringSliceVar(&f.service.Hosts, "host", nil, "name by which clients reach this address, such as ids.example.com:8080 (default IP addresses and localhost)")
	set.IntVar(&f.service.MaxCount, "max-count", 10_000, "most IDs of one request")
	set.StringVar(&f.maxMemory, "max-memory", "256MiB", "memory that clients together may make this process use")
	flags.ChoiceVar(cmd, &f.logFormat, "log-format", "text", "format of the log: text, json", []string{"text", "json"})
	set.BoolVar(&f.service.AccessLog, "access-log", false, "log every request")
	set.DurationVar(&f.service.Timeout, "timeout", 5*time.Second, "how long a request may wait for IDs")
	set.DurationVar(&f.delay, "shutdown-delay", 0, "how long to go on serving at the end, with 503 for /readyz, until load balancers have noticed")
	set.DurationVar(&f.maxShutdown, "shutdown-timeout", 10*time.Second, "how long requests under way, and then giving the worker back, may take at the end")
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	log, err := f.log(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	cfg, err := f.config(log)
	secure, secureErr := f.tls.config(log)
	if err := cmp.Or(err, secureErr); err != nil {
		return err
	}
	listeners, err := f.listen(cmd.Context()) // before a worker is leased, so that a port in use does not cost a worker
	if err != nil {
		return err
	}
	for _, l := range listeners {
		defer func() { _ = l.Close() }() // the server has closed it already, or it was never used
	}
	cfg.Draining = cmd.Context().Done()
	return f.serveWhenOpen(cmd, listeners, secure, cfg)
}

func (f *serveFlags) log(out io.Writer) (*slog.Logger, error) {
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(out, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil)), nil
	}
	return nil, terminal.Usagef("--log-format %q: want text or json", f.logFormat)
}

// config returns the configuration of the service, except the parts that open creates.
func (f *serveFlags) config(log *slog.Logger) (service.Config, error) {
	layout, layoutErr := f.issuer.Layout.Layout()
	token, tokenErr := f.token.Value()
	if err := cmp.Or(errors.Join(f.checkBounds(), f.issuer.Check()), layoutErr, tokenErr); err != nil {
		return service.Config{}, err
	}
	memory, err := humanize.ParseBytes(f.maxMemory)
	if err != nil || memory > math.MaxInt64 {
		return service.Config{}, terminal.Usagef("--max-memory %q: want a size such as 256MiB", f.maxMemory)
	}
	cfg := f.service
	cfg.Layout, cfg.Token, cfg.MaxMemory, cfg.Log = layout, token, int64(memory), log
	return cfg, terminal.Usage(cfg.Validate())
}

func (f *serveFlags) checkBounds() error {
	switch {
	case f.service.MaxCount <= 0:
		return terminal.Usagef("--max-count %d: want more than zero", f.service.MaxCount)
	case f.service.Timeout <= 0:
		return terminal.Usagef("--timeout %v: want more than zero", f.service.Timeout)
	case f.delay < 0:
		return terminal.Usagef("--shutdown-delay %v: want zero or more", f.delay)
	case f.maxShutdown <= 0:
		return terminal.Usagef("--shutdown-timeout %v: want more than zero", f.maxShutdown)
	}
	return nil
}

// listen returns the listener of --addr and, if it is given, the listener of
// --health-addr.
func (f *serveFlags) listen(ctx context.Context) ([]net.Listener, error) {
	all, err := listen(ctx, "addr", f.addr)
	if err != nil || f.healthAddr == "" {
		return []net.Listener{all}, err
	}
	health, err := listen(ctx, "health-addr", f.healthAddr)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return []net.Listener{all, health}, nil
}

func listen(ctx context.Context, name, addr string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil && port == "" {
		err = errors.New("no port")
	}
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return nil, terminal.Usagef("--%s %q: %w: want host:port, such as 127.0.0.1:8080", name, addr, err)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// open creates the issuer. Without a database and a worker, the issuer has no generator.
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

// handlerOf returns the service for an issuer. Its layout may come from the database.
func handlerOf(cfg service.Config, i *issuer.Issuer) (http.Handler, error) {
	cfg.Generator, cfg.Store = i.Gen, i.Store
	if i.Gen != nil {
		cfg.Layout = i.Gen.Layout()
	}
	cfg.Page = page.Handler(page.Config{
		Layout: true, IDs: cfg.Generator != nil, Workers: cfg.Store != nil, Token: cfg.Token != "",
	}, service.Refuse)
	return service.New(cfg)
}

// serve runs the servers until the end of the context, and returns after the last request
// has been answered.
func (f *serveFlags) serve(cmd *cobra.Command, listeners []net.Listener, secure *tls.Config, cfg service.Config, handler http.Handler) error {
	limitMemory(cfg.MaxMemory)
	server := service.NewServer(handler, cfg.Timeout, cfg.Log)
	server.TLSConfig = secure
	ended := make(chan error, len(listeners))
	serve := server.Serve
	if secure != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() { ended <- serve(limit(server, listeners[0], cfg.MaxConns())) }()
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

// limitMemory makes the runtime collect garbage more often when memory use approaches the
// limit. The environment variable GOMEMLIMIT takes precedence.
func limitMemory(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// announce prints the addresses of the service. Scripts that use port 0 read them.
func announce(out io.Writer, listeners []net.Listener, secure bool, cfg service.Config) error {
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

// shutdown waits --shutdown-delay, so that load balancers stop sending requests, and then
// waits until the running requests have been answered.
func (f *serveFlags) shutdown(ctx context.Context, server *http.Server) error {
	time.Sleep(f.delay)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.maxShutdown)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return terminal.Ended(errors.Join(fmt.Errorf("requests under way were cut off after %v: see --shutdown-timeout", f.maxShutdown), server.Close()))
}
