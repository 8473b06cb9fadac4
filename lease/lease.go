package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A Lease holds a worker of a [Store] for one [snowflake.Generator], extends its
// window in the background every third of it, and acquires another worker if that
// one is lost. [Acquire] returns it. It ends when the generator is closed, which
// releases the worker, or by [Lease.Release] where there is no generator. Its
// methods may be called concurrently.
type Lease struct {
	config
	store   Store
	storeMu chan struct{} // held to call the store, and to change what is held; a channel, to give up waiting for it

	// Guarded by storeMu.
	liveness   liveness
	skew       skewCheck
	lostBounds map[int]int64 // of workers that this lease has lost: the highest that was acknowledged, in Unix ms
	lossLevel  slog.Level    // at which the last loss was logged
	leading    bool

	retry  chan struct{} // a failure was noted
	ctx    context.Context
	cancel context.CancelFunc

	mu          sync.Mutex // guards what follows, and is never held during a call of the store
	held        *heldWorker
	replacement *heldWorker // takes the place of held, which is lost, once the generator asks
	grants      map[*snowflake.Grant]*heldWorker
	ended       bool
	outage      outage
	counts      counts
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
// turn where the store is a [Queue], and takes the time of [WithSettle]; each call
// of the store ends after 5 seconds at most.
func Acquire(ctx context.Context, store Store, layout snowflake.Layout, opts ...Option) (*Lease, error) {
	c, err := newConfig(layout, opts)
	if store == nil {
		err = errors.Join(errNoStore, err)
	}
	if err != nil {
		return nil, err
	}
	l := newLease(c, store)
	if l.settle > 0 && l.settle < l.window {
		l.log.Warn("lease: WithSettle is shorter than the window: a holder whose lease the store lost may still be issuing", "settle", l.settle, "window", l.window)
	}
	if l.held, err = l.acquire(ctx); err != nil {
		l.cancel()
		return nil, err
	}
	l.log.Info("lease: worker acquired", l.held.attrs()...)
	go l.renewLoop()
	return l, nil
}

func newLease(c config, store Store) *Lease {
	l := &Lease{
		config:     c,
		store:      store,
		storeMu:    make(chan struct{}, 1),
		liveness:   liveness{},
		lostBounds: map[int]int64{},
		retry:      make(chan struct{}, 1),
		grants:     map[*snowflake.Grant]*heldWorker{},
	}
	l.skew.config = &l.config
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Layout is the layout that the lease was acquired for.
func (l *Lease) Layout() snowflake.Layout { return l.layout }

// Clock is the clock given by [WithClock], or nil.
func (l *Lease) Clock() func() time.Time { return l.clock }

func (l *Lease) lock(ctx context.Context) error {
	select {
	case l.storeMu <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Lease) unlock() { <-l.storeMu }

// connect waits for a connection to the store, no longer than the given time.
// The caller calls disconnect.
func (l *Lease) connect(ctx context.Context, patience time.Duration) (store Store, disconnect func(), err error) {
	c, ok := l.store.(Connector)
	if !ok {
		return l.store, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Connect(ctx)
}

// timeout bounds one call of the store.
func (c *config) timeout() time.Duration { return min(maxCall, max(c.window/3, maxCall/10)) }

func (c *config) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout())
}

func (c *config) load(ctx context.Context, store Store) (map[int]Record, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return store.Load(ctx)
}

// get reads some of the records, where the store can.
func (c *config) get(ctx context.Context, store Store, keys ...int) (map[int]Record, error) {
	getter, ok := store.(Getter)
	if !ok {
		return c.load(ctx, store)
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	records, _, err := getter.Get(ctx, keys)
	return records, err
}

func (c *config) swap(ctx context.Context, store Store, key int, old, next Record) (bool, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return store.CompareAndSwap(ctx, key, old, next)
}
