// Command crowd measures the load of many processes on one store of leases:
//
//	go -C bench run ./crowd -dsn postgres://…
//
// A separate process holds 10,000 leases over 64 connections. Each lease behaves like the
// lease of a process of its own. All leases start at once on an empty table, are held for
// some minutes, are released, and start at once again in a new process. The new process is
// killed before it can release its leases, and all leases start at once again in a third
// process.
//
// The command needs a server that no other program uses. The server must be on this
// machine if its CPU time is to be shown. The command takes four minutes. See
// docs/clusters.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	err := run(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

// run measures, or holds the leases if the flag -crowd says that this is the process that the
// measuring process has started.
func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.isHolder {
		return holdLeases(o, os.Stdin, os.Stdout)
	}
	return measure(o, args)
}
