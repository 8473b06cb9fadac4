package lease

import (
	"context"
	"errors"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A Lease holds a worker of a [Store] for one [snowflake.Generator]. The store reserves the
// worker for a window of time, by default a minute. The lease extends this window in the
// background every third of a window. If it loses the worker, for example because another
// process has taken the worker, the lease acquires another. [Acquire] returns a Lease. Closing
// the generator ends the lease and releases the worker. If there is no generator,
// [Lease.Release] does. The methods may be called concurrently.
type Lease struct {
	*config
	records  records  // calls the store
	holdings holdings // the workers and their grants to the generator; has its own lock

	// storeLock is held during every write to the store, because the next write depends
	// on the outcome of the last. The lock also guards the fields below, and the fields of
	// the workers in holdings. Acquire does not take the lock, because no other goroutine
	// has the lease before Acquire returns.
	storeLock storeLock
	chooser   chooser // picks a worker to acquire
	clocks    clocks  // compares the process's clock with the store's
	keeper    keeper  // writes the records that extend and release a worker

	ctx context.Context // for background work; ends with the lease
}

var _ snowflake.WorkerSource = (*Lease)(nil)

// Acquire leases a free worker, which is a worker whose bound has passed. The bound is the
// end of the last window that the store has recorded for the worker. Acquire prefers a
// worker that was never used, and then the worker with the lowest bound. If the store is a
// [Getter] and there are more than 32 workers, Acquire first reads 32 of them at random, and
// chooses among these. It also compares the layout with the layout of the store's workers,
// and the clock with the store's clock if the store is a [Clock]: see [WithMaxSkew].
//
// If no worker is free the error is a [NoFreeWorkerError]. An error of the store is
// returned, wrapped or as it is.
//
// ctx is for this call only. If it has no deadline, Acquire tries again for as long as other
// processes write first, waits for its turn if the store is a [Queue], and waits for the time
// of [WithSettle]. With the default window, each call of the store may take 5 seconds, and a
// connection 20, because a store may inspect a new connection. Acquire does not write if the
// deadline of ctx is nearer than the time that the store has just taken to answer a read,
// because the answer to the write would probably come too late. If ctx ends during a write,
// Acquire returns, and a goroutine tries for a window to release the worker, because the write
// may have landed. If the process exits before that, the worker stays leased for a window.
func Acquire(ctx context.Context, store Store, layout snowflake.Layout, opts ...Option) (*Lease, error) {
	c, err := newConfig(layout, opts)
	if store == nil {
		err = errors.Join(errNoStore, err)
	}
	if err != nil {
		return nil, err
	}
	l := newLease(&c, store)
	if l.settle > 0 && l.settle < l.window {
		l.log.Warn("lease: WithSettle is shorter than the window: a holder whose lease the store lost may still be issuing", "settle", l.settle, "window", l.window)
	}
	w, err := l.claimFirst(ctx)
	if err != nil {
		l.holdings.cancel()
		return nil, err
	}
	l.holdings.held = w
	l.log.Info("lease: worker acquired", w.attrs()...)
	go l.renewLoop()
	return l, nil
}

// newLease returns a lease without a worker. The lease and its parts share the config c and
// the records of the store. Acquire then claims the first worker and starts renewLoop.
func newLease(c *config, store Store) *Lease {
	l := &Lease{
		config:    c,
		records:   records{store: store, timeout: c.timeout()},
		storeLock: make(storeLock, 1),
		chooser:   chooser{config: c, lostBounds: map[int]int64{}, liveness: liveness{}},
		clocks:    clocks{config: c},
		holdings:  holdings{config: c, retry: make(chan struct{}, 1), grants: map[*snowflake.Grant]*heldWorker{}},
	}
	l.keeper = keeper{config: c, records: l.records, clocks: &l.clocks}
	l.ctx, l.holdings.cancel = context.WithCancel(context.Background())
	return l
}

// Layout returns the layout that the lease was acquired for.
func (l *Lease) Layout() snowflake.Layout { return l.layout }

// Clock returns the clock given by [WithClock], or nil.
func (l *Lease) Clock() func() time.Time { return l.clock }

// Stats returns the worker and the counts of the lease. It does not call the store.
func (l *Lease) Stats() Stats { return l.holdings.stats() }

// Health returns nil while the lease has a window. Otherwise it returns the error that
// the generator returns: the window has ended and the store fails or no worker is free,
// or the lease has ended. It does not call the store. A store that fails within the
// window is not an error; see Stats.FailingSince. A probe calls
// [snowflake.Generator.Health], which includes this check.
func (l *Lease) Health() error { return l.holdings.health() }
