package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/issuer"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
)

type serveFlags struct {
	issuer      issuer.Flags
	addr        string
	token       flags.Token
	tls         keyPair
	healthAddr  string
	maxMemory   string
	delay       time.Duration // of --shutdown-delay
	maxShutdown time.Duration // of --shutdown-timeout
	logFormat   string
	service     service.Config
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

// log returns the logger for --log-format.
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

// checkBounds returns an error if a number or duration is out of range.
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

// listen returns the listener of an address. name is the flag. An address without a valid
// port is a mistake in the command line, any other error is not.
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
