// Command leased shows worker leases at work: processes that write orders to one
// database share its worker numbers, one of them is killed and another one
// paused for longer than its window, and still no key exists twice.
//
//	go run ./examples/leased                               a temporary SQLite file
//	go run ./examples/leased -dsn postgres://user@host/db  a database of yours
//
// The processes are this program, started again for each. The place to start
// reading is open, in writer.go: all that a process needs for its keys.
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
	if isWriter() {
		os.Exit(writerMain())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "leased:", err)
		os.Exit(1)
	}
}

// run is the whole program. When it returns, because the time is over or ctx has
// ended, no process and no temporary file is left.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	cfg, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return printUsage(stdout)
	}
	if err != nil {
		return err
	}
	if cfg.dsn == "" {
		dir, mkErr := os.MkdirTemp("", "leased-example-")
		if mkErr != nil {
			return mkErr
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		cfg.dsn = fileIn(dir)
	}
	s, err := openShow(ctx, cfg, stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.run(ctx)
}
