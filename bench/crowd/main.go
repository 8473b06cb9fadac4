// Command crowd measures the load of many processes on one store of leases:
//
//	go -C bench run ./crowd -dsn postgres://…
//
// A separate process holds 10,000 leases over 64 connections. They behave like real
// processes, except that they share a process. They start all at once on an empty table,
// are held for some minutes, are released in order, start all at once again, are killed,
// and start all at once again.
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
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
)

// table is the command's own table, which it drops before and after.
const table = "gormflake_bench_workers"

func main() {
	err := run(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	dsn         string
	leases      int
	connections int
	bits        uint
	window      time.Duration
	hold        time.Duration
	crowd       bool // this is the process that holds the leases
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.StringVar(&o.dsn, "dsn", "", "the `database`, mysql://… or postgres://…")
	flags.IntVar(&o.leases, "leases", 10_000, "how many leases are held")
	flags.IntVar(&o.connections, "connections", 64, "to the database, shared by all leases")
	flags.UintVar(&o.bits, "bits", 15, "of the worker; the sequence has 22 less these")
	flags.DurationVar(&o.window, "window", time.Minute, "of each lease")
	flags.DurationVar(&o.hold, "hold", 3*time.Minute, "how long the leases are held")
	flags.BoolVar(&o.crowd, "crowd", false, "hold the leases; for the command itself")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.dsn == "" || flags.NArg() > 0 {
		return o, fmt.Errorf("-dsn %q, arguments %q: want a database and flags only", o.dsn, flags.Args())
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.crowd {
		return holdLeases(o, os.Stdin, os.Stdout)
	}
	return measure(o, args)
}

// layout returns a layout that lasts until 2095. It gives workers the bits that the
// default layout gives to workers, datacenters and the sequence.
func (o options) layout() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, uint8(o.bits), uint8(22-o.bits)
	return l
}

// open returns a database with a pool of the given size.
func (o options) open(connections int) (*gorm.DB, error) {
	dialector, err := dsn.Open(o.dsn)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return db, nil
}
