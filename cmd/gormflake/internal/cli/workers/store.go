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

// withStore calls use with the store, which it opens and closes. db is nil if that is not
// a database.
func (f *workersFlags) withStore(ctx context.Context, mode string, use func(store lease.Store, db *gorm.DB) error) error {
	store, db, err := f.openStore(ctx, mode)
	if err != nil {
		return err
	}
	err = use(store.Store, db)
	if closeErr := store.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// openStore opens the database or another store. No table is created. Whether the server
// forgets is the concern of those who hold a worker.
func (f *workersFlags) openStore(ctx context.Context, mode string) (*leasestore.Store, *gorm.DB, error) {
	if err := f.store.Check(); err != nil {
		return nil, nil, err
	}
	if leasestore.Is(f.database.URL()) {
		if err := f.store.CheckRemote(); err != nil {
			return nil, nil, err
		}
		store, err := leasestore.Open(ctx, f.database.URL(), f.store.Namespace, slog.New(slog.DiscardHandler))
		return store, nil, err
	}
	db, closeDB, err := f.database.Open(ctx, mode)
	if err != nil {
		return nil, nil, err
	}
	options := append(f.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile())
	return &leasestore.Store{Store: sqllease.New(db, options...), Close: closeDB}, db, nil
}

func (f *workersFlags) inspect(ctx context.Context, store lease.Store) (*lease.Inspection, error) {
	in, err := lease.Inspect(ctx, store)
	if errors.Is(err, sqllease.ErrNoTable) {
		err = fmt.Errorf("there is no table %s that can be read: no lease was ever taken in this database, or --table is to name another", f.store.Table)
	}
	return in, err
}
