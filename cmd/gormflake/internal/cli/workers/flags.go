package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// workersFlags holds the flags of the command workers. The types of the flags of its
// subcommands embed it.
type workersFlags struct {
	database flags.Database
	store    flags.Store // the table and namespace of the workers
	all      bool        // of workers only: show also free workers
	held     bool        // of workers only: show only held workers
	json     bool
	now      func() time.Time // this machine's clock
}

// register adds the flags that select the store. It is for commands that accept every store;
// workers reset accepts only databases.
func (f *workersFlags) register(cmd *cobra.Command) {
	f.database.RegisterOr(cmd, leasestore.Forms)
	f.store.Register(cmd)
}

// withRecords opens the store, reads the records of the leases, and calls use with them.
// mode is flags.ReadOnly or flags.ReadWrite, and matters only for SQLite files.
func (f *workersFlags) withRecords(ctx context.Context, mode string, use func(*lease.Inspection) error) error {
	return f.withStore(ctx, mode, func(store lease.Store) error {
		in, err := f.inspect(ctx, store)
		if err != nil {
			return err
		}
		return use(in)
	})
}

// withStore opens the database or another store, calls use with the store, and closes the
// store. mode is flags.ReadOnly or flags.ReadWrite, and matters only for SQLite files.
func (f *workersFlags) withStore(ctx context.Context, mode string, use func(lease.Store) error) error {
	if err := f.store.Check(); err != nil {
		return err
	}
	if leasestore.Is(f.database.URL()) {
		return f.withRemote(ctx, use)
	}
	return f.database.With(ctx, mode, func(db *gorm.DB) error {
		// The commands do not create the table of workers. They also use a server that may lose
		// writes, because only a process that leases a worker must refuse such a server.
		options := append(f.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile())
		return use(sqllease.New(db, options...))
	})
}

// withRemote opens a store that is not a database, such as Redis, calls use with the store,
// and closes the store. It discards the warnings that the store logs, which the command doctor
// shows.
func (f *workersFlags) withRemote(ctx context.Context, use func(lease.Store) error) error {
	if err := f.store.CheckRemote(); err != nil {
		return err
	}
	store, err := leasestore.Open(ctx, f.database.URL(), f.store.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = use(store.Store)
	// If use has failed, an error of Close would only distract from it.
	if closeErr := store.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// inspect reads the records of the leases. If the table does not exist, the error names it.
func (f *workersFlags) inspect(ctx context.Context, store lease.Store) (*lease.Inspection, error) {
	in, err := lease.Inspect(ctx, store)
	if errors.Is(err, sqllease.ErrNoTable) {
		err = fmt.Errorf("there is no table %s that can be read: no lease was ever taken in this database, or --table is to name another", f.store.Table)
	}
	return in, err
}
