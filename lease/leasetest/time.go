package leasetest

import (
	"context"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// WithTime returns a store that keeps its records in store, and is also a [lease.Clock]. Its
// Now returns the result of now, or an error if the context has ended.
func WithTime(store lease.Store, now func() time.Time) lease.Store {
	return &timedStore{store, now}
}

// A timedStore is the store that WithTime returns.
type timedStore struct {
	lease.Store
	now func() time.Time
}

var _ lease.Clock = (*timedStore)(nil)

// Now returns the result of the function now, or an error if ctx has ended.
func (s *timedStore) Now(ctx context.Context) (time.Time, error) {
	if ctx.Err() != nil {
		return time.Time{}, context.Cause(ctx)
	}
	return s.now(), nil
}
