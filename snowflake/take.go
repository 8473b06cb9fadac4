package snowflake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// A claim is a block of contiguous slots of one grant.
type claim struct {
	grant *Grant
	last  slot // the state that the claim follows
	first slot
	count uint64
	at    clock.Moment  // when the claim was made
	now   uint64        // the tick of at
	due   uint64        // the tick of the last slot
	over  time.Duration // until the wall clock will have caught up, if that must be awaited
}

// take reserves up to n slots, fewer only where the grant ends, and then
// waits, outside any lock, until the last of them is due. Slots whose wait was
// given up are lost, never issued again, and so are those of a grant that has
// been revoked by then: take starts over.
func (g *Generator) take(ctx context.Context, n uint64, wait bool) (claim, error) {
	for {
		c, err := g.propose(n)
		if err == nil && (c.count == 0 || c.due > c.now) {
			err = g.admit(ctx, c, wait)
		}
		if err != nil {
			g.refusals.Add(1)
			return c, err
		}
		if c.count > 0 && g.advance(c) {
			if err = g.await(ctx, c); !errors.Is(err, errRevoked) {
				return c, err
			}
		}
		if ctx.Err() != nil {
			g.refusals.Add(1)
			return c, waiting(ctx)
		}
	}
}

// propose makes the claim that the state and the clock allow. It counts no
// slot where something has to be done first: see admit.
func (g *Generator) propose(n uint64) (claim, error) {
	c := claim{grant: g.grant.Load()}
	c.last = c.grant.last() // before the clock: see heal
	if c.grant.retired.Load() {
		if g.closed.Load() {
			return c, ErrClosed
		}
		return c, nil
	}
	var err error
	if c.at, c.over, err = g.allowed(c.grant); err != nil || c.over > 0 {
		return c, err
	}
	c.now = min(g.clock.TickAt(c.at.Logical), uint64(g.layout.endTick()))
	c.first = g.next(c, n)
	limit := c.grant.limit.Load()
	c.count = min(n, limit-min(c.first, limit))
	c.due = uint64(c.grant.tickOf(c.first + max(c.count, 1) - 1))
	return c, nil
}

// next is the first free slot for a block of n: right after the last one, or
// in a fresh tick where there is none yet, or it has fallen behind.
func (g *Generator) next(c claim, n uint64) slot {
	following := c.last + 1
	oldest := (c.now - min(c.now, g.lag)) << g.sequenceBits
	if following != c.grant.first && (g.logical || following >= oldest) {
		return following
	}
	if g.logical {
		oldest = 0
	}
	return max(following, oldest) + g.start.at(1<<g.sequenceBits, n, g.random)
}

// admit clears what is in the claim's way, or says why it cannot be. A call
// that may not wait does not ask the source either.
func (g *Generator) admit(ctx context.Context, c claim, wait bool) error {
	switch {
	case c.grant.retired.Load(): // another grant is being installed
		runtime.Gosched()
		return nil
	case c.over > 0 && !wait:
		return fmt.Errorf("%w: it will have caught up in %v", ErrClockBackwards, c.over)
	case c.over > 0:
		return g.sleep(ctx, c.over)
	case c.count == 0 && !wait && !c.grant.expires():
		return c.grant.fenced()
	case c.count == 0:
		return g.extend(ctx, c.grant, c.first)
	case !wait:
		return ErrSequenceExhausted
	}
	return g.inTime(ctx, c.due)
}

// inTime refuses before slots are lost to a wait that cannot succeed: under
// overload every call that gives up would push the others further back.
func (g *Generator) inTime(ctx context.Context, due uint64) error {
	if ctx.Err() != nil {
		return waiting(ctx)
	}
	left := g.clock.Until(due)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
		return fmt.Errorf("snowflake: the next free slot is %v away: %w", left, context.DeadlineExceeded)
	}
	return nil
}

// advance makes the claim the state, unless that has moved on. Slots that are
// passed over, or not due yet, do not count as issued.
func (g *Generator) advance(c claim) bool {
	uncounted := int64(c.first - c.last - 1)
	if c.due > c.now {
		uncounted += int64(c.count)
	}
	if uncounted > 0 {
		g.skipped.Add(uncounted)
	}
	if c.grant.advance(c.last, c.first+c.count-1) {
		return true
	}
	if uncounted > 0 {
		g.skipped.Add(-uncounted)
	}
	return false
}

// errRevoked is await's answer where the slots are lost.
var errRevoked = errors.New("snowflake: grant revoked")

// await returns once the claim is due, or its grant has been revoked during the
// wait.
func (g *Generator) await(ctx context.Context, c claim) error {
	if c.due > c.now {
		if err := g.waitUntilDue(ctx, &c); err != nil {
			return err
		}
		g.skipped.Add(-int64(c.count))
	}
	if !g.clock.Scripted() && !g.logical && c.now <= c.due+g.lag {
		c.grant.openTick(c.due, g.clock.PeriodEnd(c.at))
	}
	return nil
}

// waitUntilDue moves the claim to the tick in which it is due.
func (g *Generator) waitUntilDue(ctx context.Context, c *claim) error {
	g.waits.Add(1)
	for c.due > c.now {
		if err := g.sleep(ctx, g.clock.Until(c.due)); err != nil {
			g.refusals.Add(1)
			return err
		}
		c.at = g.observe(c.grant)
		c.now = g.clock.TickAt(c.at.Logical)
		if c.grant.revoked.Load() {
			return errRevoked
		}
	}
	return nil
}
