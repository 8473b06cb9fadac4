// Package issuer makes the generator that gen and serve issue from, under a fixed
// worker or a leased one.
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

// Flags say under which worker IDs are issued: under a fixed one, or under one that is
// leased from a database or another store.
type Flags struct {
	cmd                *cobra.Command
	Layout             flags.Layout
	Database           flags.Database
	Datacenter, Worker int64
	store              flags.Store
	window             time.Duration
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	f.cmd = cmd
	f.Layout.Register(cmd)
	f.Database.RegisterOr(cmd, leasestore.Forms)
	f.store.Register(cmd)
	set := cmd.Flags()
	set.Int64Var(&f.Datacenter, "datacenter", 0, "datacenter of the worker; with --dsn, lease a worker of this one only")
	set.Int64Var(&f.Worker, "worker", 0, "worker to issue under; with --dsn, lease this very one")
	set.DurationVar(&f.window, "window", time.Minute, "with --dsn, how far ahead a worker is reserved")
}

var errNoWorker = terminal.Usagef("no worker: give --worker with a number that nobody else uses, or --dsn to lease one")

// Check refuses flags that would do nothing: who gives one of a database may
// have forgotten which.
func (f *Flags) Check() error {
	if f.Database.Given() {
		return errors.Join(f.checkStore(), f.checkLease())
	}
	for _, name := range []string{"window", "table", "namespace"} {
		if flags.OnCommandLine(f.cmd, name) {
			return terminal.Usagef("--%s is about workers in a database, and there is none: give --dsn or set GORMFLAKE_DSN", name)
		}
	}
	if set := f.cmd.Flags(); set.Changed("datacenter") && !set.Changed("worker") {
		return errNoWorker
	}
	return nil
}

func (f *Flags) checkStore() error {
	if leasestore.Is(f.Database.URL()) {
		return f.store.CheckRemote()
	}
	return f.store.Check()
}

// leaseOptions are the options of a lease. They begin with the window, of which there
// always is one.
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

// checkLease returns what is wrong before a database is asked: no more than the
// window where the database may name another layout.
func (f *Flags) checkLease() error {
	layout, err := f.Layout.Layout()
	if err != nil {
		return err
	}
	options := f.leaseOptions()
	if !f.Layout.Given() {
		options = options[:1]
	}
	return terminal.Usage(lease.CheckOptions(layout, options...))
}

// An Issuer is a generator, and the lease and the database that it stands on,
// where it has one.
type Issuer struct {
	Gen   *snowflake.Generator
	lease *lease.Lease
	Store lease.Store
	done  func() error
}

// Close gives the worker back, also after the end of ctx. An issuer without a
// generator has none.
func (i *Issuer) Close(ctx context.Context, timeout time.Duration) error {
	if i.Gen == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return errors.Join(i.Gen.Close(ctx), i.done())
}

// Open makes the generator. Changes of state of the lease are logged to log.
func (f *Flags) Open(ctx context.Context, log *slog.Logger) (*Issuer, error) {
	layout, err := f.Layout.Layout()
	if err != nil {
		return nil, err
	}
	if f.Database.Given() {
		return f.leased(ctx, layout, log)
	}
	if !f.cmd.Flags().Changed("worker") {
		return nil, errNoWorker
	}
	gen, err := snowflake.New(snowflake.Static(f.Datacenter, f.Worker), snowflake.WithLayout(layout))
	if err != nil {
		return nil, terminal.Usage(err)
	}
	return &Issuer{Gen: gen, done: func() error { return nil }}, nil
}

func (f *Flags) leased(ctx context.Context, layout snowflake.Layout, log *slog.Logger) (*Issuer, error) {
	s, err := f.openStore(ctx, log)
	if err != nil {
		return nil, err
	}
	if !f.Layout.Given() {
		layout = layoutIn(ctx, s.reader, layout)
	}
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
		return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)), s.close())
	}
	return &Issuer{gen, l, s.Store, s.close}, nil
}

// An opened is a store that is connected until it is closed.
type opened struct {
	lease.Store
	reader lease.Store // the same records; it creates no table
	close  func() error
}

func (f *Flags) openStore(ctx context.Context, log *slog.Logger) (opened, error) {
	if leasestore.Is(f.Database.URL()) {
		store, err := leasestore.Open(ctx, f.Database.URL(), f.store.Namespace, log)
		if err != nil {
			return opened{}, err
		}
		return opened{store.Store, store.Store, store.Close}, nil
	}
	db, closeDB, err := f.Database.Open(ctx, flags.ReadWrite)
	if err != nil {
		return opened{}, err
	}
	options := f.store.Options()
	reader := sqllease.New(db, append(slices.Clip(options), sqllease.ExistingTable(), sqllease.AllowVolatile())...)
	return opened{sqllease.New(db, append(slices.Clip(options), sqllease.WithLogger(log))...), reader, closeDB}, nil
}

// layoutIn returns the layout that the store has for its workers, or otherwise. It
// creates nothing, because what is wrong with the flags is found later.
func layoutIn(ctx context.Context, store lease.Store, otherwise snowflake.Layout) snowflake.Layout {
	if in, err := lease.Inspect(ctx, store); err == nil && in.Layout.Validate() == nil {
		return in.Layout
	}
	return otherwise
}

// Name describes the issuer's worker, for people.
func (i *Issuer) Name() string {
	if i.lease == nil {
		return fmt.Sprint("a fixed worker of ", i.Gen.Layout())
	}
	stats := i.lease.Stats()
	return fmt.Sprintf("worker %d of datacenter %d until %s", stats.Worker, stats.Datacenter, stats.Until.Format(time.RFC3339))
}
