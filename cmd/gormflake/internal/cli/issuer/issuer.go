// Package issuer creates the generator that issues IDs for the commands gen and serve. Each
// ID contains a worker, a number under which only one process may issue at a time. The
// worker of the generator is fixed by --worker, or leased from a database or another store.
// The commands register [Flags] and call [Flags.Open].
package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// Flags select the worker under which IDs are issued. The worker is a fixed number, or it
// is leased from a database or another store.
type Flags struct {
	cmd                *cobra.Command
	Layout             flags.Layout
	Database           flags.Database // the database or other store; not given for a fixed worker
	Datacenter, Worker int64
	store              flags.Store   // the table and namespace of the leases
	window             time.Duration // how far ahead of the clock the lease reserves the worker
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	f.cmd = cmd
	f.Layout.Register(cmd)
	f.Database.RegisterOr(cmd, leasestore.Forms)
	f.store.Register(cmd)
	flagSet := cmd.Flags()
	flagSet.Int64Var(&f.Datacenter, "datacenter", 0, "datacenter of the worker; with --dsn, lease a worker of this one only")
	flagSet.Int64Var(&f.Worker, "worker", 0, "worker to issue under; with --dsn, lease this very one")
	flagSet.DurationVar(&f.window, "window", time.Minute, "with --dsn, how far ahead a worker is reserved")
}

// errNoWorker is the error if no flag says under which worker IDs are issued.
var errNoWorker = terminal.Usagef("no worker: give --worker with a number that nobody else uses, or --dsn to lease one")

// Check returns an error if the flags are invalid. It also rejects flags for a database
// if no database is given, because the user may have forgotten --dsn.
func (f *Flags) Check() error {
	if f.Database.Given() {
		return errors.Join(f.checkStore(), f.checkLease())
	}
	// Environment variables may set these flags for other commands, so only a flag on the
	// command line is a mistake.
	for _, name := range []string{"window", "table", "namespace"} {
		if flags.OnCommandLine(f.cmd, name) {
			return terminal.Usagef("--%s is about workers in a database, and there is none: give --dsn or set GORMFLAKE_DSN", name)
		}
	}
	// Without --dsn and --worker, Open returns errNoWorker. But serve does not call Open
	// then, because it only decodes IDs, and would ignore --datacenter.
	if flagSet := f.cmd.Flags(); flagSet.Changed("datacenter") && !flagSet.Changed("worker") {
		return errNoWorker
	}
	return nil
}

// checkStore returns an error if the flags for the table and namespace are invalid.
func (f *Flags) checkStore() error {
	if leasestore.Is(f.Database.URL()) {
		return f.store.CheckRemote()
	}
	return f.store.Check()
}

// leaseOptions returns the options of the lease. The window is always the first option,
// because checkLease checks the window alone if no flag sets the layout.
func (f *Flags) leaseOptions() []lease.Option {
	options := []lease.Option{lease.WithWindow(f.window)}
	if f.cmd.Flags().Changed("datacenter") {
		options = append(options, lease.WithDatacenter(f.Datacenter))
	}
	if f.cmd.Flags().Changed("worker") {
		options = append(options, lease.WithWorker(f.Worker))
	}
	return options
}

// checkLease returns an error if the options of the lease are invalid. If no flag sets the
// layout, it checks only the window. Which datacenters and workers are valid then depends on
// the layout in the store, with which openLeased checks all options.
func (f *Flags) checkLease() error {
	layout, err := f.Layout.Layout()
	if err != nil {
		return err
	}
	options := f.leaseOptions()
	if !f.Layout.Given() {
		options = options[:1] // only the window
	}
	return terminal.Usage(lease.CheckOptions(layout, options...))
}

// An Issuer is a generator. If the worker of the generator is leased, the issuer also has the
// lease and the store of the lease. The zero Issuer has no generator.
type Issuer struct {
	Gen        *snowflake.Generator
	lease      *lease.Lease // nil if the worker is fixed
	Store      lease.Store  // nil if the worker is fixed
	closeStore func() error // closes the connection to the store; nil only in the zero Issuer
}

// Close closes the generator, which releases the worker, and then the store. timeout limits
// how long the release may take. Close also works after the end of ctx, because commands
// close the issuer after Ctrl-C. For an issuer without a generator it does nothing.
func (i *Issuer) Close(ctx context.Context, timeout time.Duration) error {
	if i.Gen == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return errors.Join(i.Gen.Close(ctx), i.closeStore())
}

// Open returns an issuer whose generator issues under the worker of --worker or, if a
// database or another store is given, under a leased worker. The lease logs changes of its
// state to log. The caller closes the issuer.
func (f *Flags) Open(ctx context.Context, log *slog.Logger) (*Issuer, error) {
	layout, err := f.Layout.Layout()
	if err != nil {
		return nil, err
	}
	if f.Database.Given() {
		return f.openLeased(ctx, layout, log)
	}
	if !f.cmd.Flags().Changed("worker") {
		return nil, errNoWorker
	}
	gen, err := snowflake.New(snowflake.Static(f.Datacenter, f.Worker), snowflake.WithLayout(layout))
	if err != nil {
		return nil, terminal.Usage(err)
	}
	return &Issuer{Gen: gen, closeStore: func() error { return nil }}, nil // a fixed worker has no store
}

// openLeased leases a worker, and returns an issuer whose generator issues under it. If no
// flag sets the layout, it adopts the layout of the workers in the store.
func (f *Flags) openLeased(ctx context.Context, layout snowflake.Layout, log *slog.Logger) (*Issuer, error) {
	s, err := f.openStore(ctx, log)
	if err != nil {
		return nil, err
	}
	if !f.Layout.Given() {
		layout = storedLayout(ctx, s.reader, layout)
	}
	// An error of CheckOptions is a mistake in the command line. Acquire checks the options
	// too, but there it could not be told from an error of the store.
	options := f.leaseOptions()
	if err := lease.CheckOptions(layout, options...); err != nil {
		return nil, errors.Join(terminal.Usage(err), s.close())
	}
	l, err := lease.Acquire(ctx, s.Store, layout, append(options, lease.WithLogger(log))...)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	gen, err := snowflake.New(l)
	if err != nil {
		return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)), s.close()) // also after Ctrl-C
	}
	return &Issuer{gen, l, s.Store, s.close}, nil
}

// A connection is a connected store of leases.
type connection struct {
	lease.Store
	reader lease.Store  // reads the same records, but does not create the table of workers
	close  func() error // ends the connection
}

// openStore connects to the database or another store of --dsn.
func (f *Flags) openStore(ctx context.Context, log *slog.Logger) (connection, error) {
	if leasestore.Is(f.Database.URL()) {
		store, err := leasestore.Open(ctx, f.Database.URL(), f.store.Namespace, log)
		if err != nil {
			return connection{}, err
		}
		return connection{store.Store, store.Store, store.Close}, nil // such a store has no table to create
	}
	db, closeDB, err := f.Database.Open(ctx, flags.ReadWrite)
	if err != nil {
		return connection{}, err
	}
	options := f.store.Options()
	// AllowVolatile lets reader read from a server that may lose writes. The store for Acquire
	// does not have this option, so Acquire refuses such a server later, with its own error.
	reader := sqllease.New(db, append(slices.Clip(options), sqllease.ExistingTable(), sqllease.AllowVolatile())...)
	return connection{sqllease.New(db, append(slices.Clip(options), sqllease.WithLogger(log))...), reader, closeDB}, nil
}

// storedLayout returns the layout of the workers in the store. It returns fallback if no
// worker was ever leased there, and if the store cannot be read. It need not report why the
// store cannot be read, because openLeased calls Acquire afterwards. Acquire creates a missing
// table, and returns any other error itself.
func storedLayout(ctx context.Context, store lease.Store, fallback snowflake.Layout) snowflake.Layout {
	if in, err := lease.Inspect(ctx, store); err == nil && in.Layout.Validate() == nil {
		return in.Layout
	}
	return fallback
}

// Name describes the worker of the issuer for the log, for example "worker 7 of datacenter 0
// until 2026-11-21T17:16:01Z". The issuer must have a generator.
func (i *Issuer) Name() string {
	if i.lease == nil {
		return fmt.Sprint("a fixed worker of ", i.Gen.Layout())
	}
	stats := i.lease.Stats()
	return fmt.Sprintf("worker %d of datacenter %d until %s", stats.Worker, stats.Datacenter, stats.Until.Format(time.RFC3339))
}
