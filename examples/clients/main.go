// Command clients serves a page that takes IDs from gormflake serve and from the API of
// examples/orderapi, and sends them back. The page shows that no digit is lost, next to
// the number form, which loses digits. client.mjs does the same in Node.js. README.md
// lists the commands.
//
// It is a separate module, because its test drives a browser.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shutdownTimeout is how long requests may take to end after Ctrl-C.
const shutdownTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// run reads the flags in args, and serves the page until ctx ends. It prints the address of the
// page to stdout.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("clients", flag.ContinueOnError)
	address := flags.String("addr", "localhost:8082", "`address` to serve the page on; port 0 takes a free one")
	ids := flags.String("ids", "http://127.0.0.1:8080", "`URL` of gormflake serve")
	orders := flags.String("orders", "http://127.0.0.1:8081", "`URL` of examples/orderapi")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: everything is a flag, see -h", flags.Arg(0))
	}
	handler, err := newHandler(*ids, *orders)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "Open http://%s/ in a browser; Ctrl-C stops.\n", listener.Addr())
	return serve(ctx, listener, handler)
}

// serve answers requests until ctx ends. It then closes the listener, and waits until requests
// that have begun are answered.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// ctx has ended, so Shutdown needs a context of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return server.Shutdown(ctx)
}
