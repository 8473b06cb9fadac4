package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// issuerFlags say under which worker IDs are issued: under a fixed one, or
// under one that is leased from a database.
type issuerFlags struct {
	cmd                *cobra.Command
	layout             layoutFlags
	database           databaseFlag
	store              storeFlags
	datacenter, worker int64
	window             time.Duration
}

func (f *issuerFlags) register(cmd *cobra.Command) {
	f.cmd = cmd
	f.layout.register(cmd)
	f.database.register(cmd)
	f.store.register(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&f.datacenter, "datacenter", 0, "datacenter of the worker; with --dsn, lease a worker of this one only")
	flags.Int64Var(&f.worker, "worker", 0, "worker to issue under; with --dsn, lease this very one")
	flags.DurationVar(&f.window, "window", time.Minute, "with --dsn, how far ahead a worker is reserved")
}

var errNoWorker = usageError{errors.New("no worker: give --worker with a number that nobody else uses, or --dsn to lease one")}

// check refuses flags that would do nothing: who gives one of a database may
// have forgotten which.
func (f *issuerFlags) check() error {
	if f.database.given() {
		return errors.Join(f.store.check(), f.checkLease())
	}
	flags := f.cmd.Flags()
	for _, name := range []string{"window", "table", "namespace"} {
		if flags.Changed(name) {
			return usageError{fmt.Errorf("--%s is about workers in a database, and there is none: give --dsn or set %s", name, dsnVariable)}
		}
	}
	if flags.Changed("datacenter") && !flags.Changed("worker") {
		return errNoWorker
	}
	return nil
}

// An issuer is a generator, and the lease and the database that it stands on,
// where it has one.
type issuer struct {
	gen   *snowflake.Generator
	lease *lease.Lease
	store lease.Store
	done  func() error
}

// close gives the worker back.
func (i *issuer) close(ctx context.Context) error {
	return errors.Join(i.gen.Close(ctx), i.done())
}

// open makes the generator. Changes of state of the lease are logged to log.
func (f *issuerFlags) open(ctx context.Context, log *slog.Logger) (*issuer, error) {
	layout, err := f.layout.layout()
	if err != nil {
		return nil, err
	}
	if f.database.given() {
		return f.leased(ctx, layout, log)
	}
	if !f.cmd.Flags().Changed("worker") {
		return nil, errNoWorker
	}
	gen, err := snowflake.New(snowflake.Static(f.datacenter, f.worker), snowflake.WithLayout(layout))
	if err != nil {
		return nil, usageError{err}
	}
	return &issuer{gen: gen, done: func() error { return nil }}, nil
}

func (f *issuerFlags) leased(ctx context.Context, layout snowflake.Layout, log *slog.Logger) (*issuer, error) {
	db, closeDB, err := f.database.open(ctx)
	if err != nil {
		return nil, err
	}
	if !f.layout.given() {
		layout = f.layoutIn(ctx, db, layout)
	}
	flagged := f.leaseOptions()
	if err := checkOptions(ctx, layout, flagged); err != nil {
		return nil, errors.Join(err, closeDB())
	}
	store := sqllease.New(db, append(f.store.options(), sqllease.WithLogger(log))...)
	l, err := lease.Acquire(ctx, store, layout, append(optionsOf(flagged), lease.WithLogger(log))...)
	if err != nil {
		return nil, errors.Join(err, closeDB())
	}
	gen, err := snowflake.New(l)
	if err != nil {
		return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)), closeDB())
	}
	return &issuer{gen, l, store, closeDB}, nil
}

// layoutIn is the one that the database has for its workers, or otherwise. It
// creates nothing: what is wrong with the flags is found before that.
func (f *issuerFlags) layoutIn(ctx context.Context, db *gorm.DB, otherwise snowflake.Layout) snowflake.Layout {
	store := sqllease.New(db, append(f.store.options(), sqllease.ExistingTable(), sqllease.AllowVolatile())...)
	if in, err := lease.Inspect(ctx, store); err == nil && in.Layout.Validate() == nil {
		return in.Layout
	}
	return otherwise
}

const defaultTable = "snowflake_workers"

// storeFlags say where in the database the workers are kept.
type storeFlags struct{ table, namespace string }

func (f *storeFlags) register(cmd *cobra.Command) {
	textVar(cmd.Flags(), &f.table, "table", defaultTable, "table of the workers")
	textVar(cmd.Flags(), &f.namespace, "namespace", "default", "namespace of the workers within the table")
}

// check says what is wrong before a database is asked.
func (f *storeFlags) check() error {
	if _, err := sqllease.DDL("sqlite", f.options()...); err != nil {
		return usageError{err}
	}
	return nil
}

func (f *storeFlags) options() []sqllease.Option {
	return []sqllease.Option{sqllease.WithTable(f.table), sqllease.WithNamespace(f.namespace)}
}

// name describes the issuer's worker, for people.
func (i *issuer) name() string {
	if i.lease == nil {
		return fmt.Sprint("a fixed worker of ", i.gen.Layout())
	}
	stats := i.lease.Stats()
	return fmt.Sprintf("worker %d of datacenter %d until %s", stats.Worker, stats.Datacenter, stats.Until.Format(time.RFC3339))
}
