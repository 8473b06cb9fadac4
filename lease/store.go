package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errNoStore = errors.New("lease: store is nil: want one that sqllease, redislease, etcdlease or zklease has made, or your own")

// layoutKey is the key of the record whose Owner describes the layout.
const layoutKey = -1

// A Record is what a [Store] keeps of one worker. The zero Record stands for
// one that has never been written.
type Record struct {
	// Bound is in Unix milliseconds. Every tick that was ever issued under
	// this worker, or that anybody can still issue, is below it.
	Bound int64

	// Owner is the token of one grant of the worker, at most 128 characters of
	// printable ASCII: host/process/random, and how often it was written, the
	// bound that the grant replaced and its window, both in milliseconds. It
	// ends in "/released" once the worker is; where a person has freed it, it
	// may be empty.
	Owner string
}

// A Store keeps one [Record] per worker, for all processes that share it. Its
// methods may be called concurrently, from any number of processes, and must
// return soon after ctx has ended.
//
// A store must not forget: a write that it has acknowledged survives crashes
// and failovers of whatever it is kept in. What it shows without having
// acknowledged it may vanish. One log orders all its writes, so that a write
// that is acknowledged makes all durable that came before it. Where the first
// cannot be had, see [WithSettle]. A store that fails over must not answer from a
// replica that lags. Package leasetest has a suite that shows whether a store
// does all this.
//
// Keys are datacenter<<WorkerBits | worker of the layout; key -1 describes the
// layout itself. What a store is named or prefixed with, its namespace, is its
// own affair: stores of one namespace share their workers.
//
// A store may also be a [Clock], a [Connector], a [Getter], a [Queue], a [Checker] and a
// [Settler].
type Store interface {
	// Load returns all records that were ever written, as they are now: it
	// sees every write that was acknowledged, to anybody, before the call.
	Load(ctx context.Context) (map[int]Record, error)

	// CompareAndSwap replaces the record by next if it equals old, in one
	// atomic step; a record that is absent equals the zero Record. Old and next
	// differ. True means that this call was seen to write next, durably. False
	// means that the record differed, and that nothing of this call is there
	// or will come. All else is an error, after which the write may have
	// happened, or may yet happen. What is read afterwards never justifies
	// true: a record that is visible may not be durable.
	CompareAndSwap(ctx context.Context, worker int, old, next Record) (bool, error)
}

// A Clock is a [Store] that has a clock of its own, such as a server's. It judges
// the clocks of processes that start: see [WithMaxSkew].
type Clock interface {
	// Now returns the store's time, independent of any time zone, to 50
	// milliseconds or better.
	Now(ctx context.Context) (time.Time, error)
}

// A Connector is a [Store] whose calls wait for a connection that others use too.
// A [Lease] extends its window over a connection for which it waits as long as
// the window lasts: a call that gave up its place in the queue after a few seconds
// would never get one from a busy pool.
type Connector interface {
	// Connect waits for a connection until ctx ends. The store that it
	// returns uses this one, for one goroutine at a time; release returns it to
	// the pool and is called once.
	Connect(ctx context.Context) (store Store, release func(), err error)
}

// A Getter is a [Store] that reads some of its records without the others, and its
// time with them. Of many workers a claim then reads a few at random, and all of
// them only where it finds none of these free.
type Getter interface {
	// Get is [Store.Load] for these keys alone, at least one and none twice. The
	// time is that of [Clock], or zero where the store has none.
	Get(ctx context.Context, keys []int) (map[int]Record, time.Time, error)
}

// A Queue is a [Store] that lets only as many claims of this process work at once
// as it can answer within the time of a call: of thousands that start together,
// each would otherwise give up before its turn.
type Queue interface {
	// Enter waits for the turn of a claim until ctx ends. leave ends the turn and
	// is called once. Extensions and releases do not wait for a turn.
	Enter(ctx context.Context) (leave func(), err error)
}

// A Checker is a [Store] that can look again at what it is kept in: a server's
// settings, or a table that somebody else has changed since the first call.
type Checker interface {
	// Check returns an error if the store can no longer keep a worker to one
	// holder. It logs a setting under which the store forgets, once for each
	// change. A lease calls it before it acquires another worker in place of one
	// that it has lost.
	Check(ctx context.Context) error
}

// A Settler is a [Store] that may be kept in something of which it is not known whether
// it forgets.
type Settler interface {
	// Unsettled returns why a lease must not do without [WithSettle] of a window or
	// more, or nil. It does not ask the store: a claim calls it after it has read.
	Unsettled() error
}

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
