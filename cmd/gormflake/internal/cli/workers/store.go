package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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

// openStore opens the database or another store, and leaves it to its caller to
// close it. No table is created.
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

// closed closes the store, and returns err or what has failed at that.
func (s *workerStore) closed(err error) error {
	closeErr := s.close()
	if err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}
