package leasetest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// WithGet returns a store that keeps its records in store, and is also a [lease.Getter],
// for tests of code that reads some of the records. If store is a [lease.Clock], the
// returned store has its clock.
func WithGet(store lease.Store) lease.Store {
	if clock, ok := store.(lease.Clock); ok {
		return struct {
			getting
			lease.Clock
		}{getting{store}, clock}
	}
	return getting{store}
}

// getting is the store that WithGet returns.
type getting struct{ lease.Store }

var _ lease.Getter = getting{}

// Get loads all records and returns those of these keys, with the store's time, or zero if
// the store has no clock. It returns an error if a key occurs twice, which the caller must
// avoid.
func (s getting) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	wanted := map[int]bool{}
	for _, key := range keys {
		if wanted[key] {
			return nil, time.Time{}, fmt.Errorf("leasetest: Get(%v): key %d twice", keys, key)
		}
		wanted[key] = true
	}
	records, err := s.Load(ctx)
	maps.DeleteFunc(records, func(key int, _ lease.Record) bool { return !wanted[key] })
	clock, ok := s.Store.(lease.Clock)
	if err != nil || !ok {
		return records, time.Time{}, err
	}
	now, err := clock.Now(ctx)
	return records, now, err
}
