package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	errNoStore = errors.New("lease: store is nil: want one that sqllease, redislease, etcdlease or zklease has made, or your own")
	errRefused = errors.New("the store refused to replace the record that it holds")
)

// layoutKey is the key of the record whose Owner describes the layout. The records of
// workers have the keys of keyOf, from 0 on.
const layoutKey = -1

// A Record is the state of one worker in a [Store]. The zero Record stands for a record
// that was never written.
type Record struct {
	// Bound is in Unix milliseconds. Every tick that was ever issued under this worker,
	// or that any process can still issue, is below it.
	Bound int64

	// Owner is the token of one claim of the worker, at most 128 characters of
	// printable ASCII. It consists of host/process/random, the number of writes, the
	// bound that the claim replaced, and the holder's window, both in milliseconds. It
	// ends in "/released" once the worker is released. It may be empty if a person has
	// freed the worker.
	Owner string
}

// A Store keeps one [Record] per worker, for all processes that share it. Its
// methods may be called concurrently, from any number of processes, and must
// return soon after ctx has ended.
//
// A store must not forget: a write that it has acknowledged survives crashes and
// failovers of the system behind it. A write that is visible but not acknowledged may
// vanish. One log orders all writes, so that an acknowledged write makes all writes
// before it durable. If a store can forget acknowledged writes, see [WithSettle]. A
// store that fails over must not answer from a lagging replica. Package leasetest tests
// this, except failovers and losses of power.
//
// Keys are datacenter<<WorkerBits | worker of the layout. Key -1 describes the layout
// itself. A store decides itself how it is named or prefixed, which is its namespace.
// Stores of one namespace share their workers.
//
// A store may also implement [Clock], [Connector], [Getter], [Queue], [Checker] and
// [Settler].
type Store interface {
	// Load returns the current value of every record that was ever written. It sees
	// every write that was acknowledged to any process before the call.
	Load(ctx context.Context) (map[int]Record, error)

	// CompareAndSwap replaces the record of the worker by next if the record equals old, in
	// one atomic step. An absent record equals the zero Record. If old equals next,
	// CompareAndSwap returns an error, because a reader could not see from the record
	// whether the write has happened.
	//
	// CompareAndSwap returns true if the store has acknowledged that this call wrote next,
	// durably. It returns false only if the record differed from old, and this call has
	// written nothing and will not write later. In all other cases it returns an error,
	// after which the write may have happened or may still happen. If a call only reads
	// afterwards that the record is next, it must not return true, because a record that is
	// visible may not be durable.
	CompareAndSwap(ctx context.Context, worker int, old, next Record) (bool, error)
}

// A Clock is a [Store] with a clock of its own, such as a server's. A lease compares
// the clock of its process with it: see [WithMaxSkew].
type Clock interface {
	// Now returns the store's time, independent of any time zone, with a resolution of 50
	// milliseconds or better.
	Now(ctx context.Context) (time.Time, error)
}

// A Connector is a [Store] whose calls wait for a connection from a shared pool. Before
// it extends its window, a [Lease] waits for a connection for up to a window. A call
// that gave up its place in the queue after a few seconds would never get a connection
// from a busy pool. A store may also use Connect to prepare its first call, for example to
// read the settings of a server, and return itself.
type Connector interface {
	// Connect waits for a connection until ctx ends. The returned store uses this
	// connection, for one goroutine at a time. release returns the connection to the
	// pool, and is called once.
	Connect(ctx context.Context) (store Store, release func(), err error)
}

// A Getter is a [Store] that can read some of its records, together with its time. If
// there are many workers, a claim first reads a few at random, and reads all of them
// only if none of these is free.
type Getter interface {
	// Get is [Store.Load] for the given keys only. The caller passes at least one key, and
	// no key twice. The time is the result of [Clock.Now], or zero if the store is no Clock.
	Get(ctx context.Context, keys []int) (map[int]Record, time.Time, error)
}

// A Queue is a [Store] that lets only as many claims of this process work at once as it
// can answer within the timeout of a call. Without it, thousands of claims that start
// together would all time out before their turn.
type Queue interface {
	// Enter waits for the turn of a claim until ctx ends. leave ends the turn and is
	// called once. Extensions and releases do not wait for a turn.
	Enter(ctx context.Context) (leave func(), err error)
}

// A Checker is a [Store] that can check again the system that it is kept in, for
// example the settings of a server, or a table that somebody has changed since the
// first call.
type Checker interface {
	// Check returns an error if the store can no longer guarantee that a worker has one
	// holder. It logs a warning for a setting under which the store forgets, once for
	// each change. A lease calls it before it acquires another worker in place of a
	// lost worker.
	Check(ctx context.Context) error
}

// A Settler is a [Store] that cannot always find out whether the system behind it
// forgets acknowledged writes.
type Settler interface {
	// Unsettled returns an error if the system may forget acknowledged writes, so that a
	// lease must use [WithSettle] with a window or more. Otherwise it returns nil. It does
	// not call the system behind the store. A claim under a shorter WithSettle calls it
	// after its first read, and fails with its error.
	Unsettled() error
}

// records reads and writes the records of a store. Each call of the store ends after the
// timeout. The methods use an optional interface, such as [Getter], if the store implements
// it. Otherwise they use the methods of [Store], or do nothing.
type records struct {
	store   Store
	timeout time.Duration
}

// connect returns records that use a connection of their own, if the store is a
// [Connector], and otherwise r itself. It waits for the connection for at most patience. If
// there is no error, the caller calls disconnect.
func (r records) connect(ctx context.Context, patience time.Duration) (conn records, disconnect func(), err error) {
	c, ok := r.store.(Connector)
	if !ok {
		return r, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, disconnect, err := c.Connect(ctx)
	return records{store: store, timeout: r.timeout}, disconnect, err
}

// enter waits for the turn of a claim until ctx ends. It does not wait if the store is not a
// [Queue]. The caller calls leave to end the turn.
func (r records) enter(ctx context.Context) (leave func(), err error) {
	if q, ok := r.store.(Queue); ok {
		return q.Enter(ctx)
	}
	return func() {}, nil
}

// load reads the records of these keys and the store's time. Without keys, or if the
// store is not a [Getter], it reads all records and returns a zero time.
func (r records) load(ctx context.Context, keys ...int) (map[int]Record, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if getter, ok := r.store.(Getter); ok && len(keys) > 0 {
		return getter.Get(ctx, keys)
	}
	all, err := r.store.Load(ctx)
	return all, time.Time{}, err
}

// read reads one record. An absent record is the zero Record.
func (r records) read(ctx context.Context, key int) (Record, error) {
	found, _, err := r.load(ctx, key)
	return found[key], err
}

// swap replaces the record with this key by next if it equals old, and reports whether the
// store has acknowledged that; see [Store.CompareAndSwap].
func (r records) swap(ctx context.Context, key int, old, next Record) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.store.CompareAndSwap(ctx, key, old, next)
}

// now returns the store's time, or the zero time if the store is not a [Clock].
func (r records) now(ctx context.Context) (time.Time, error) {
	clock, ok := r.store.(Clock)
	if !ok {
		return time.Time{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	storeTime, err := clock.Now(ctx)
	if err != nil {
		err = fmt.Errorf("the store's time: %w", err)
	}
	return storeTime, err
}

// check makes the store check the system behind it again, for example its settings, and
// returns the error of that check. It returns nil if the store is not a [Checker].
func (r records) check(ctx context.Context) error {
	checker, ok := r.store.(Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return checker.Check(ctx)
}

// A storeLock is a mutex whose lock method returns when a context ends, because the lock is
// held during calls of the store, which may take long. It is a channel with room for one
// value, which is full while the mutex is locked.
type storeLock chan struct{}

// lock locks the mutex and returns nil, or returns the cause of ctx if ctx ends first.
func (s storeLock) lock(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unlock unlocks the mutex.
func (s storeLock) unlock() { <-s }
