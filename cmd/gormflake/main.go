// Command gormflake reads, makes and looks after Snowflake IDs: it takes IDs
// apart, issues them, shows who holds which worker, moves tables from
// auto-increment keys, and serves IDs and an inspector over HTTP. "gormflake
// help" lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/vet"
)

func main() {
	if vet.IsTool(os.Args[1:]) {
		vet.Tool()
	}
	os.Exit(run())
}

func run() int {
	// A closed pipe is then an error of the write: a worker is released before the end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
