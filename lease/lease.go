package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A Lease holds a worker of a [Store] for one [snowflake.Generator], extends its
// window in the background every third of it, and takes another worker if that
// one is lost. [Acquire] makes it. It ends when the generator is closed, which
// gives the worker back, or by [Lease.Release] where no generator was made. Its
// methods may be called concurrently.
type Lease struct {
	config
	store Store
	turn  chan struct{} // held to call the store, and to change what is held

	silence    silence    // guarded by turn
	clockCheck clockCheck // guarded by turn

	wake chan struct{} // a failure was noted
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex // guards what follows, and is never held during a call of the store
	held   *holding   // what the generator issues under, or will
	spare  *holding   // takes the place of held once the generator asks: held is lost
	out    map[*snowflake.Grant]*holding
	ended  bool
	outage outage
	counts counts
}

var _ snowflake.WorkerSource = (*Lease)(nil)

// Acquire takes a free worker of the store and keeps it: the one with the lowest
// bound, so one that was never used if there is any. It also compares the
// layout with the one that the store's workers belong to.
//
// Where nothing is free the error is a [NoFreeWorkerError]. An error of the
// store is returned, wrapped or as it is. ctx is for this call only. Without a
// deadline Acquire tries for as long as other processes get in first, and takes the
// time of [WithSettle]; each call of the store ends after 5 seconds at most.
func Acquire(ctx context.Context, store Store, layout snowflake.Layout, opts ...Option) (*Lease, error) {
	c, err := newConfig(layout, opts)
	if store == nil {
		err = errors.Join(errNoStore, err)
	}
	if err != nil {
		return nil, err
	}
	l := &Lease{
		config:  c,
		store:   store,
		silence: silence{},
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		out:     map[*snowflake.Grant]*holding{},
	}
	if l.settle > 0 && l.settle < l.window {
		l.log.Warn("lease: WithSettle is shorter than the window: who holds a worker by a forgotten write may issue for longer", "settle", l.settle, "window", l.window)
	}
	l.held, err = l.claim(ctx, l.stepIn)
	if err != nil {
		return nil, err
	}
	l.log.Info("lease: worker taken", l.held.attrs()...)
	l.life, l.end = context.WithCancel(context.Background())
	go l.keep()
	return l, nil
}

// Layout is the layout that the lease was acquired for.
func (l *Lease) Layout() snowflake.Layout { return l.layout }

// Clock is the clock given by [WithClock], or nil.
func (l *Lease) Clock() func() time.Time { return l.clock }

// now is the wall clock in Unix milliseconds.
func (l *Lease) now() int64 {
	if l.clock != nil {
		return l.clock().UnixMilli()
	}
	return time.Now().UnixMilli()
}

// enter waits for the turn; leave gives it up.
func (l *Lease) enter(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Lease) leave() { <-l.turn }
