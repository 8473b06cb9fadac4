// Command gormflake works with Snowflake IDs. It decodes and issues IDs, shows which
// process holds which worker, migrates tables from auto-increment keys, and serves IDs and
// an inspector over HTTP. "gormflake help" lists its commands.
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
	// "go vet -vettool=gormflake" runs this program as its tool. vet.Tool does not return.
	if vet.IsTool(os.Args[1:]) {
		vet.Tool()
	}
	os.Exit(run())
}

// run runs the command line until its end, Ctrl-C or SIGTERM, and returns the exit code. It
// is separate from main, because os.Exit skips deferred calls.
func run() int {
	// Ignore SIGPIPE, so that a write to a closed pipe, as in "gormflake gen | head", returns an
	// error. The signal would end the process at once, and a worker ID that the process has
	// leased would stay occupied until its lease expires.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
