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
			getterStore
			lease.Clock
		}{getterStore{store}, clock}
	}
	return getterStore{store}
}

// A getterStore is the store that WithGet returns.
type getterStore struct{ lease.Store }

var _ lease.Getter = getterStore{}

// Get loads all records of the store and returns the records of these keys, with the store's
// time, or the zero time if the store has no clock. It returns an error if a key occurs twice,
// because [lease.Getter] does not allow that.
func (s getterStore) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
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
