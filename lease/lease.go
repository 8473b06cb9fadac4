package lease

import (
	"context"
	"errors"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A Lease holds a worker of a [Store] for one [snowflake.Generator], extends its
// window in the background every third of it, and acquires another worker if that
// one is lost. [Acquire] returns it. It ends when the generator is closed, which
// releases the worker, or by [Lease.Release] where there is no generator. Its
// methods may be called concurrently.
type Lease struct {
	*config
	records  records
	holdings holdings // has a lock of its own

	// Held for every write, and for what follows, which its holder alone reads and
	// changes, as it does the workers in holdings.
	storeLock storeLock
	chooser   chooser
	clocks    clocks
	keeper    keeper

	ctx context.Context // of the background; ends with the lease
}

var _ snowflake.WorkerSource = (*Lease)(nil)

// Acquire leases a free worker of the store: the one with the lowest bound, so
// one that was never used if there is any. Of more than 32 workers it reads that
// many at random first, where the store is a [Getter]. It also compares the layout
// with the one that the store's workers belong to, and the clock with the store's
// where that is a [Clock]: see [WithMaxSkew].
//
// Where nothing is free the error is a [NoFreeWorkerError]. An error of the
// store is returned, wrapped or as it is. ctx is for this call only. Without a
// deadline Acquire tries for as long as other processes get in first, waits for its
// turn where the store is a [Queue], and takes the time of [WithSettle]. A connection,
// which a store inspects, may take 20 seconds, and each call of the store 5. If ctx ends
// while a write is under way, the worker may stay leased for a window. Acquire writes
// nothing if ctx ends sooner than the store has answered a read.
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
	w, err := l.acquire(ctx)
	if err != nil {
		l.holdings.cancel()
		return nil, err
	}
	l.holdings.held = w
	l.log.Info("lease: worker acquired", w.attrs()...)
	go l.renewLoop()
	return l, nil
}

func newLease(c *config, store Store) *Lease {
	l := &Lease{
		config:    c,
		records:   records{store, c.timeout()},
		storeLock: make(storeLock, 1),
		chooser:   chooser{c, map[int]int64{}, liveness{}},
		clocks:    clocks{config: c},
		holdings:  holdings{config: c, retry: make(chan struct{}, 1), grants: map[*snowflake.Grant]*heldWorker{}},
	}
	l.keeper = keeper{c, l.records, &l.clocks}
	l.ctx, l.holdings.cancel = context.WithCancel(context.Background())
	return l
}

// Layout is the layout that the lease was acquired for.
func (l *Lease) Layout() snowflake.Layout { return l.layout }

// Clock is the clock given by [WithClock], or nil.
func (l *Lease) Clock() func() time.Time { return l.clock }

// Stats is what a lease holds, and what it has been through.
type Stats struct {
	Datacenter, Worker int64
	Owner              string    // the token of this grant: host/process/random
	Since              time.Time // when this lease acquired the worker
	Until              time.Time // the end of the window that the store has acknowledged

	// Extensions counts the windows after the first. Failures counts the
	// attempts at getting one that failed, Losses the workers that another
	// process, or a copy of this one, has taken. Regressions counts acknowledged
	// writes that the store has forgotten: alert on any.
	Extensions, Failures, Losses, Regressions uint64

	// FailingSince and Failure are when the store, or the search for a free
	// worker, began to fail, and the last error. They are zero while all is
	// well.
	FailingSince time.Time
	Failure      error
}

// Stats returns the state of the lease.
func (l *Lease) Stats() Stats { return l.holdings.stats() }

// Health is nil while the lease has a window. Otherwise it is the error that the
// generator returns: the window has ended and the store fails or no worker is
// free, or the lease has ended. It does not ask the store. A store that fails
// within the window is not an error; see Stats.FailingSince. A probe calls
// [snowflake.Generator.Health], which includes this.
func (l *Lease) Health() error { return l.holdings.health() }
