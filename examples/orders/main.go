// Command orders writes orders with their lines to a database, under Snowflake
// keys that are known before the first INSERT, and compares that with writing
// them one by one under keys that the database makes up.
//
//	go run ./examples/orders                               a temporary SQLite file
//	go run ./examples/orders -dsn postgres://user@host/db  a database of yours
//	go run ./examples/orders -serve :8080                  a JSON API and a page
//
// The place to start reading is insertBatches, in ways.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// run is the whole program. It returns when the work is done or ctx has ended,
// and leaves no temporary file behind.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	cfg, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return printUsage(stdout)
	}
	if err != nil {
		return err
	}
	shop, err := openShop(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close()) }()

	if cfg.serve != "" {
		return serve(ctx, shop, cfg.serve, stdout)
	}
	return demonstrate(ctx, shop, cfg, stdout)
}
