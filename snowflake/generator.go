package snowflake

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Generator issues IDs. All methods may be called concurrently. Whoever made
// it closes it, which gives the worker back.
type Generator struct {
	grant        atomic.Pointer[Grant]
	clock        *clock
	lag          uint64 // ticks
	sequenceBits uint8
	slow         bool // no call may take the short path: scripted clock or logical time

	layout  Layout
	source  WorkerSource
	policy  ClockPolicy
	maxJump time.Duration
	logical bool
	start   SequenceStart
	random  func(n uint64) uint64

	changing chan struct{} // see lock
	closed   atomic.Bool
	warned   atomic.Bool
	warnAt   uint64 // tick

	counters
}

// New makes a generator that issues under a worker of the source. It fails if
// an option is wrong or contradicts the source, if the layout is not valid,
// not begun or expired, and if the source has no worker to give; a fixed
// worker that already has a live generator is [ErrWorkerInUse].
func New(src WorkerSource, opts ...Option) (*Generator, error) {
	if src == nil {
		return nil, errors.New("snowflake: no worker source: pass Static, FromEnv, FromStatefulSet or a lease; there is no default because two processes would share it")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if err := c.adopt(src); err != nil {
		return nil, err
	}
	g := newGenerator(src, c)
	if err := g.checkLifetime(); err != nil {
		return nil, err
	}
	if err := g.open(c); err != nil {
		return nil, err
	}
	return g, nil
}

func newGenerator(src WorkerSource, c config) *Generator {
	return &Generator{
		clock:        newClock(c),
		lag:          uint64((c.lag + c.layout.Tick - 1) / c.layout.Tick),
		sequenceBits: c.layout.SequenceBits,
		slow:         c.logical || c.wall != nil || c.read != nil,
		layout:       c.layout,
		source:       src,
		maxJump:      c.maxJump,
		logical:      c.logical,
		start:        c.start,
		random:       c.random,
		changing:     make(chan struct{}, 1),
		warnAt:       uint64(max(0, c.layout.tickOf(c.layout.Expires().Add(-expiryNotice)))),
	}
}

// open takes the first grant.
func (g *Generator) open(c config) error {
	grant, err := g.source.Grant(context.Background(), g.layout)
	if err != nil {
		return err
	}
	if err := c.settle(grant); err != nil {
		return errors.Join(err, g.source.Retire(context.Background(), grant, time.Time{}))
	}
	g.policy = *c.policy
	if grant.fixed && !g.clock.scripted {
		grant.from = max(grant.from, g.layout.tickAfterStart())
	}
	g.origin = g.begin(grant, 0)
	g.grant.Store(grant)
	return nil
}

// begin opens the grant at the current tick, or at the first that it allows
// and that is not below least. It returns the state, the slot before the first.
func (g *Generator) begin(grant *Grant, least int64) slot {
	now := g.clock.tickAt(g.clock.now())
	first := max(uint64(grant.from), uint64(least))
	if first > now+1 {
		g.clock.startAt(first)
	}
	return grant.begin(max(first, now))
}

// Layout is the layout of the IDs that the generator issues.
func (g *Generator) Layout() Layout { return g.layout }

// Close ends the generator and gives its worker back; what the source says
// about that is returned. Calls that come later, or that are still waiting for
// the source, fail with [ErrClosed]; calls that wait for a slot already taken
// get their IDs. Closing again does nothing. A fixed worker has nothing to say:
// defer gen.Close(context.Background()) is right for it.
func (g *Generator) Close(ctx context.Context) error {
	if g.closed.Swap(true) {
		return nil
	}
	if err := g.lock(ctx); err != nil {
		g.closed.Store(false)
		return fmt.Errorf("snowflake: close: %w", err)
	}
	defer g.unlock()
	grant := g.grant.Load()
	last := grant.seal()
	g.settleIssued(last)
	return g.source.Retire(ctx, grant, grant.timeOf(last))
}
