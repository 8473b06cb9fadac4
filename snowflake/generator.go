package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// expiryNotice is how long before the layout's end the warnings begin.
const expiryNotice = 5 * 365 * 24 * time.Hour

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

func (g *Generator) checkLifetime() error {
	now := g.layout.Epoch.Add(g.clock.now())
	if now.Before(g.layout.Epoch) {
		return fmt.Errorf("snowflake: layout's epoch %v is after the clock's %v", g.layout.Epoch, now)
	}
	if !now.Before(g.layout.Expires()) {
		return g.expired()
	}
	return nil
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

// started is when this process began.
var started = time.Now()

// tickAfterStart is the first tick that a predecessor under the same fixed
// worker cannot have used, or zero if the tick in which this process was
// started is over.
func (l Layout) tickAfterStart() int64 {
	if tick := l.tickOf(started); tick == l.tickOf(time.Now()) {
		return tick + 1
	}
	return 0
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
// get their IDs. Closing again does nothing.
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

// extend gets room for the slot from the source, or a grant that has it.
func (g *Generator) extend(ctx context.Context, held *Grant, need slot) error {
	if held.expires() {
		return g.expired()
	}
	if err := g.lock(ctx); err != nil {
		return fmt.Errorf("%w, and the source has not answered: %w", ErrFenced, err)
	}
	defer g.unlock()
	switch {
	case g.closed.Load():
		return ErrClosed
	case g.grant.Load() != held || need < held.limit.Load():
		return nil // settled by the call that went before
	}
	next, err := g.source.Extend(ctx, held, held.timeOf(need))
	switch {
	case err != nil:
		return err
	case next != held:
		g.replace(ctx, held, next)
	case need >= held.limit.Load():
		return fmt.Errorf("%w: %v was granted until %v", ErrFenced, held, held.Until())
	}
	return nil
}

// replace goes on under another grant. The old one is sealed first: only then
// is it known which slot was its last.
func (g *Generator) replace(ctx context.Context, old, next *Grant) {
	last := old.seal()
	g.skipped.Add(int64(g.begin(next, old.tickOf(last)+1) - last))
	g.grant.Store(next)
	if err := g.source.Retire(ctx, old, old.timeOf(last)); err != nil {
		slog.Warn("snowflake: giving back a replaced worker", "worker", old.String(), "error", err)
	}
}

// lock is held to change the grant. It is a channel so that a call can give
// up waiting for another's answer from the source.
func (g *Generator) lock(ctx context.Context) error {
	select {
	case g.changing <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Generator) unlock() { <-g.changing }

func (g *Generator) expired() error {
	return fmt.Errorf("%w at %v (%v): move to a layout with more time bits, a longer tick or a later epoch", ErrExpired, g.layout.Expires(), g.layout)
}

// warn says once that the layout's end is near.
func (g *Generator) warn() {
	if g.warned.Swap(true) {
		return
	}
	slog.Warn("snowflake: the layout expires", "at", g.layout.Expires(), "layout", g.layout.String())
}
