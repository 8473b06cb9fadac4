package workers

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A workerStore is the table of workers in an open database.
type workerStore struct {
	lease.Store
	flags *workersFlags
	db    *gorm.DB
	close func() error
}

// openStore opens the database, and leaves it to its caller to close the store.
// No table is created.
func (f *workersFlags) openStore(ctx context.Context, mode string) (*workerStore, error) {
	if err := f.store.Check(); err != nil {
		return nil, err
	}
	db, closeDB, err := f.database.OpenExisting(ctx, mode)
	if err != nil {
		return nil, err
	}
	// Whether the database forgets is the concern of those who hold a worker.
	options := append(f.store.Options(), sqllease.ExistingTable(), sqllease.AllowVolatile())
	return &workerStore{sqllease.New(db, options...), f, db, closeDB}, nil
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
		return fmt.Errorf("database: %w", closeErr)
	}
	return err
}
