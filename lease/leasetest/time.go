package leasetest

import (
	"context"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// WithTime returns a store that keeps its records in store and has a clock of
// its own, as a [lease.Clock]: its Now returns what now returns.
func WithTime(store lease.Store, now func() time.Time) lease.Store {
	return &timedStore{store, now}
}

type timedStore struct {
	lease.Store
	now func() time.Time
}

var _ lease.Clock = (*timedStore)(nil)

func (s *timedStore) Now(ctx context.Context) (time.Time, error) {
	if ctx.Err() != nil {
		return time.Time{}, context.Cause(ctx)
	}
	return s.now(), nil
}
