package main

import (
	"flag"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
)

// table is the command's own table of leases, which it drops before and after.
const table = "gormflake_bench_workers"

// options are the command's flags.
type options struct {
	dsn         string
	leases      int           // how many leases are held
	connections int           // the size of the pool that all leases share
	bits        uint          // the bits of an ID that contain the worker
	window      time.Duration // the window of each lease
	holdTime    time.Duration // how long the leases are held
	isHolder    bool          // whether this is the process that holds the leases
}

// parse returns the options in the command's arguments.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.StringVar(&o.dsn, "dsn", "", "the `database`, mysql://… or postgres://…")
	flags.IntVar(&o.leases, "leases", 10_000, "how many leases are held")
	flags.IntVar(&o.connections, "connections", 64, "to the database, shared by all leases")
	flags.UintVar(&o.bits, "bits", 15, "of the worker; the sequence has 22 less these")
	flags.DurationVar(&o.window, "window", time.Minute, "of each lease")
	flags.DurationVar(&o.holdTime, "hold", 3*time.Minute, "how long the leases are held")
	flags.BoolVar(&o.isHolder, "crowd", false, "hold the leases; for the command itself")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.dsn == "" || flags.NArg() > 0 {
		return o, fmt.Errorf("-dsn %q, arguments %q: want a database and flags only", o.dsn, flags.Args())
	}
	return o, nil
}

// layout returns the layout of the leases, which lasts until 2095. The default layout has 22
// bits for the datacenter, the worker and the sequence. This layout gives o.bits of them to the
// worker, and the rest to the sequence.
func (o options) layout() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, uint8(o.bits), uint8(22-o.bits)
	return l
}

// open returns the database of -dsn, with a pool of this number of connections.
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
