package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// register adds the flags of commands that take any store.
func (f *workersFlags) register(cmd *cobra.Command) {
	f.database.RegisterOr(cmd, leasestore.Forms)
	f.store.Register(cmd)
}

// withStore opens the database or another store, calls use with it and closes it. No table
// is created. db is nil if the store is not a database. Whether the server forgets is the
// concern of those who hold a worker.
func (f *workersFlags) withStore(ctx context.Context, mode string, use func(store lease.Store, db *gorm.DB) error) error {
	if err := f.store.Check(); err != nil {
		return err
	}
	if leasestore.Is(f.database.URL()) {
		return f.withRemote(ctx, use)
	}
	return f.database.With(ctx, mode, func(db *gorm.DB) error {
		options := append(f.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile())
		return use(sqllease.New(db, options...), db)
	})
}

func (f *workersFlags) withRemote(ctx context.Context, use func(store lease.Store, db *gorm.DB) error) error {
	if err := f.store.CheckRemote(); err != nil {
		return err
	}
	store, err := leasestore.Open(ctx, f.database.URL(), f.store.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = use(store.Store, nil)
	if closeErr := store.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

func (f *workersFlags) inspect(ctx context.Context, store lease.Store) (*lease.Inspection, error) {
	in, err := lease.Inspect(ctx, store)
	if errors.Is(err, sqllease.ErrNoTable) {
		err = fmt.Errorf("there is no table %s that can be read: no lease was ever taken in this database, or --table is to name another", f.store.Table)
	}
	return in, err
}
