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

// A workerStore is an open store of workers.
type workerStore struct {
	lease.Store
	flags *workersFlags
	db    *gorm.DB // nil if the store is not a database
	close func() error
}

// register adds the flags of commands that take any store.
func (f *workersFlags) register(cmd *cobra.Command) {
	f.database.RegisterOr(cmd, leasestore.Forms)
	f.store.Register(cmd)
}

// withStore calls use with the store, which it opens and closes.
func (f *workersFlags) withStore(ctx context.Context, mode string, use func(*workerStore) error) error {
	store, err := f.openStore(ctx, mode)
	if err != nil {
		return err
	}
	err = use(store)
	if closeErr := store.close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// openStore opens the database or another store. No table is created.
func (f *workersFlags) openStore(ctx context.Context, mode string) (*workerStore, error) {
	if err := f.store.Check(); err != nil {
		return nil, err
	}
	if leasestore.Is(f.database.URL()) {
		return f.openRemote(ctx)
	}
	db, closeDB, err := f.database.Open(ctx, mode)
	if err != nil {
		return nil, err
	}
	// Whether the database forgets is the concern of those who hold a worker.
	options := append(f.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile())
	return &workerStore{sqllease.New(db, options...), f, db, closeDB}, nil
}

func (f *workersFlags) openRemote(ctx context.Context) (*workerStore, error) {
	if err := f.store.CheckRemote(); err != nil {
		return nil, err
	}
	// Whether the server forgets is the concern of those who hold a worker.
	store, err := leasestore.Open(ctx, f.database.URL(), f.store.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &workerStore{store.Store, f, nil, store.Close}, nil
}

func (s *workerStore) inspect(ctx context.Context) (*lease.Inspection, error) {
	in, err := lease.Inspect(ctx, s.Store)
	if errors.Is(err, sqllease.ErrNoTable) {
		err = fmt.Errorf("there is no table %s that can be read: no lease was ever taken in this database, or --table is to name another", s.flags.store.Table)
	}
	return in, err
}
