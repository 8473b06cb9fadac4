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

// serveFlags holds the flags of serve.
type serveFlags struct {
	issuer          issuer.Flags // the layout, and the worker or the store to lease it from
	addr            string
	token           flags.Token
	tls             keyPair
	healthAddr      string
	maxMemory       string        // a size such as 256MiB
	shutdownDelay   time.Duration // how long to answer requests after the signal to end
	shutdownTimeout time.Duration // how long to wait then for running requests
	logFormat       string
	service         service.Config // only the fields that flags set directly, such as MaxCount
}

// register adds the flags to a command.
func (f *serveFlags) register(cmd *cobra.Command) {
	f.issuer.Register(cmd)
	f.token.Register(cmd)
	flagSet := cmd.Flags()
	f.tls.register(flagSet)
	flagSet.StringVar(&f.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one, :8080 is reached from other machines")
	flagSet.StringVar(&f.healthAddr, "health-addr", "", "another address, for /livez, /readyz and /metrics alone, which clients of the first cannot exhaust (default none)")
	flagSet.StringSliceVar(&f.service.Origins, "allow-origin", nil, "web site whose pages may ask, such as https://app.example.com, or * for all (default none but the inspector)")
	flagSet.StringSliceVar(&f.service.Hosts, "host", nil, "name by which clients reach this address, such as ids.example.com:8080 (default IP addresses and localhost)")
	flagSet.IntVar(&f.service.MaxCount, "max-count", 10_000, "most IDs of one request")
	flagSet.StringVar(&f.maxMemory, "max-memory", "256MiB", "memory that clients together may make this process use")
	flags.ChoiceVar(cmd, &f.logFormat, "log-format", "text", "format of the log: text, json", []string{"text", "json"})
	flagSet.BoolVar(&f.service.AccessLog, "access-log", false, "log every request")
	flagSet.DurationVar(&f.service.Timeout, "timeout", 5*time.Second, "how long a request may wait for IDs")
	flagSet.DurationVar(&f.shutdownDelay, "shutdown-delay", 0, "how long to go on serving at the end, with 503 for /readyz, until load balancers have noticed")
	flagSet.DurationVar(&f.shutdownTimeout, "shutdown-timeout", 10*time.Second, "how long requests under way, and then giving the worker back, may take at the end")
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

// config checks the flags, and returns the configuration of the service. run sets its field
// Draining, and handlerOf the fields that need an open store: Generator, Store and Page.
func (f *serveFlags) config(log *slog.Logger) (service.Config, error) {
	layout, layoutErr := f.issuer.Layout.Layout()
	token, tokenErr := f.token.Value()
	// cmp.Or returns the first error that is not nil.
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
	case f.shutdownDelay < 0:
		return terminal.Usagef("--shutdown-delay %v: want zero or more", f.shutdownDelay)
	case f.shutdownTimeout <= 0:
		return terminal.Usagef("--shutdown-timeout %v: want more than zero", f.shutdownTimeout)
	}
	return nil
}

// listen returns the listener of --addr and, if it is given, the listener of
// --health-addr behind it.
func (f *serveFlags) listen(ctx context.Context) ([]net.Listener, error) {
	main, err := listen(ctx, "addr", f.addr)
	if err != nil {
		return nil, err
	}
	if f.healthAddr == "" {
		return []net.Listener{main}, nil
	}
	health, err := listen(ctx, "health-addr", f.healthAddr)
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	return []net.Listener{main, health}, nil
}

// listen returns the listener of an address. name is the flag of the address, for the
// error. If the address has no valid port, the error has the exit code for a mistake in the
// command line. Other errors do not have this exit code, for example if the port is in use.
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
