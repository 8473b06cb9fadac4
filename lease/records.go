package lease

import (
	"context"
	"fmt"
	"time"
)

// records are a store's, each read or written in one call that ends after the
// timeout.
type records struct {
	store   Store
	timeout time.Duration
}

// connect returns the records over a connection of their own, for which it waits no
// longer than the given time. The caller calls disconnect.
func (r records) connect(ctx context.Context, patience time.Duration) (over records, disconnect func(), err error) {
	c, ok := r.store.(Connector)
	if !ok {
		return r, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, disconnect, err := c.Connect(ctx)
	return records{store, r.timeout}, disconnect, err
}

// enter waits for the turn of a claim, for as long as the caller does.
func (r records) enter(ctx context.Context) (leave func(), err error) {
	if q, ok := r.store.(Queue); ok {
		return q.Enter(ctx)
	}
	return func() {}, nil
}

// load reads the records of these keys and the store's time. Without keys, and of a
// store that is no [Getter], it reads all records and no time.
func (r records) load(ctx context.Context, keys ...int) (map[int]Record, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if getter, ok := r.store.(Getter); ok && len(keys) > 0 {
		return getter.Get(ctx, keys)
	}
	all, err := r.store.Load(ctx)
	return all, time.Time{}, err
}

func (r records) read(ctx context.Context, key int) (Record, error) {
	found, _, err := r.load(ctx, key)
	return found[key], err
}

func (r records) swap(ctx context.Context, key int, old, next Record) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.store.CompareAndSwap(ctx, key, old, next)
}

// now is the store's clock, or zero where it has none.
func (r records) now(ctx context.Context) (time.Time, error) {
	clock, ok := r.store.(Clock)
	if !ok {
		return time.Time{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	theirs, err := clock.Now(ctx)
	if err != nil {
		err = fmt.Errorf("the store's time: %w", err)
	}
	return theirs, err
}

// check makes the store examine again what it is kept in.
func (r records) check(ctx context.Context) error {
	checker, ok := r.store.(Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return checker.Check(ctx)
}

// A storeLock is a mutex for which one can give up waiting: its holder calls the
// store.
type storeLock chan struct{}

func (s storeLock) lock(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s storeLock) unlock() { <-s }
