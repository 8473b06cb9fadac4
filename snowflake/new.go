package snowflake

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// New creates a generator that issues under a worker of the source. It fails if an
// option is wrong or conflicts with the source, if the layout is invalid, starts in the
// future or has expired, or if no worker is available. For a fixed worker that already
// has a live generator the error is [ErrWorkerInUse].
//
// Under a fixed worker New sleeps, for at most 20 ms, until the tick in which the
// process was started is over, because the previous process may have used that tick. With
// longer ticks the first call of [Generator.Next] waits for that.
func New(src WorkerSource, opts ...Option) (*Generator, error) {
	if src == nil {
		return nil, errors.New("snowflake: no worker source: pass Static, FromEnv, FromStatefulSet or a lease; there is no default because two processes would share it")
	}
	g, c, err := prepare(src, opts)
	if err == nil {
		err = g.openFirst(c)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// CheckOptions returns the layout of a generator that [New] creates with these options
// and a source without a layout of its own, such as [Static]. It returns the errors
// that New finds in the options before it asks the source for a worker.
func CheckOptions(opts ...Option) (Layout, error) {
	_, c, err := prepare(Static(0, 0), opts)
	if err != nil {
		return Layout{}, err
	}
	return c.layout, nil
}

// prepare creates a generator from the options and from the source's layout and clock. The
// generator has no worker yet, and cannot issue before openFirst has got one. prepare also
// returns the config, because the default clock policy depends on the grant that openFirst
// gets.
func prepare(src WorkerSource, opts []Option) (*Generator, config, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, c, err
	}
	if err := c.adopt(src); err != nil {
		return nil, c, err
	}
	g := newGenerator(src, c)
	return g, c, g.checkLifetime()
}

// newGenerator creates a generator that cannot issue, because its state is sealed until
// openFirst has a grant.
func newGenerator(src WorkerSource, c config) *Generator {
	g := &Generator{
		secret:       new(maphash.Hash).Sum64(),                           // 64 random bits
		lag:          uint64((c.lag + c.layout.Tick - 1) / c.layout.Tick), // rounded up
		sequenceBits: c.layout.SequenceBits,
		lowBits:      uint8(c.layout.lowBits()),
		layout:       c.layout,
		byDefault:    c.byDefault,
		source:       src,
		maxJump:      c.maxJump,
		logical:      c.logical,
		startBits:    c.start.randomBits(c.layout.SequenceBits),
		grantLock:    make(chan struct{}, 1),
		warnAt:       uint64(max(0, c.layout.tickOf(c.layout.Expires().Add(-expiryNotice)))),
		closed:       make(chan struct{}),
	}
	g.tickSpan = (g.lag + 1) * uint64(c.layout.Tick)
	g.state.Store(sealed)
	g.clock.Init(clock.Config{
		Epoch:   c.layout.Epoch,
		Tick:    c.layout.Tick,
		MaxJump: c.maxJump,
		Wall:    c.wall,
		Read:    c.read,

		// Under WithLogicalTime the method next must not issue IDs by the clock. If comparisons are
		// never trusted, next leaves each call to nextSlow.
		NeverTrust: c.logical,
	})
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// checkLifetime returns an error if the wall clock is before the layout's epoch or after
// its end.
func (g *Generator) checkLifetime() error {
	now, _ := g.clock.Read()
	if now.Before(g.layout.Epoch) {
		return fmt.Errorf("snowflake: layout's epoch %v is after the clock's %v", g.layout.Epoch, now)
	}
	if !now.Before(g.layout.Expires()) {
		return g.expiredError()
	}
	return nil
}
