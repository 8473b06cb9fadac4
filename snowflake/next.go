package snowflake

import (
	"context"
	"time"

	"github.com/gormflake/gormflake/types"
)

// Next returns a new ID, above all that this generator has returned before the
// call began. It waits while the sequence of the current tick is used up, at
// most until ctx ends; a deadline that is too close for the wait is refused at
// once. ctx is looked at only when Next has to wait.
//
// Errors wrap [ErrClockBackwards], [ErrFenced], [ErrExpired], [ErrClosed] or
// what ended ctx. They pass by themselves but for ErrExpired and ErrClosed.
func (g *Generator) Next(ctx context.Context) (types.ID, error) {
	if id, ok := g.quick(); ok {
		return id, nil
	}
	c, err := g.take(ctx, 1, true)
	if err != nil {
		return 0, err
	}
	return c.grant.id(c.first), nil
}

// TryNext is [Generator.Next] without waiting: when there is no free slot at
// this moment it returns [ErrSequenceExhausted].
func (g *Generator) TryNext() (types.ID, error) {
	if id, ok := g.quick(); ok {
		return id, nil
	}
	c, err := g.take(context.Background(), 1, false)
	if err != nil {
		return 0, err
	}
	return c.grant.id(c.first), nil
}

// Fill sets every element of dst to a new ID, in rising order. It reserves the
// slots for all of them in one step and waits once, for the last of them; only
// where the source's window ends in between does it take more than one. What
// dst holds after an error is not to be used; the slots it took are lost.
func (g *Generator) Fill(ctx context.Context, dst []types.ID) error {
	for len(dst) > 0 {
		c, err := g.take(ctx, uint64(len(dst)), true)
		if err != nil {
			return err
		}
		c.grant.write(dst[:c.count], c.first)
		dst = dst[c.count:]
	}
	return nil
}

// write lays out contiguous slots, tick by tick.
func (g *Grant) write(dst []types.ID, first slot) {
	for len(dst) > 0 {
		inTick := min(uint64(len(dst)), 1<<g.sequenceBits-first&(1<<g.sequenceBits-1))
		run, id := dst[:inTick], g.id(first)
		for i := range run {
			run[i] = id + types.ID(i)
		}
		dst, first = dst[inTick:], first+inTick
	}
}

// quick issues the slot after the last one while both the tick that is open and
// the moment at which it was opened last: one reading of the clock, one load
// for the fence, one compare-and-swap. Everything else is take's.
//
// The clock comes first, so that the loads overlap with its latency.
func (g *Generator) quick() (types.ID, bool) {
	now := uint64(g.clock.base.Load() + int64(time.Since(g.clock.start)))
	grant := g.grant.Load()
	for range attempts {
		last := grant.state.Load()
		if now-grant.opened.Load() >= g.span || last+1 >= grant.open.Load() {
			return 0, false
		}
		if grant.state.CompareAndSwap(last, last+1) {
			return grant.id(last + 1), true
		}
		now = g.clock.backOff()
	}
	return 0, false
}

// attempts is how often quick tries before it leaves the rest to take. A call
// whose compare-and-swap another one has spoilt stands back in between: the
// cache line then stays with the other one, which issues a hundred IDs in the
// time in which the two would wrest fifty from each other.
const attempts = 4
