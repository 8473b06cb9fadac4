package snowflake

import (
	"context"

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

// quick issues the slot after the last one if that lies in a tick that has
// come: one reading of the clock, one compare-and-swap, one load for the fence.
func (g *Generator) quick() (types.ID, bool) {
	if g.slow {
		return 0, false
	}
	grant := g.grant.Load()
	last := grant.state.Load() // before the clock: see heal
	now := g.clock.machineTick()
	for range 4 {
		next := last + 1
		if last>>g.sequenceBits+g.lag < now || next>>g.sequenceBits > now || next >= grant.limit.Load() {
			return 0, false
		}
		if grant.state.CompareAndSwap(last, next) {
			return grant.id(next), true
		}
		last = grant.state.Load()
	}
	return 0, false
}
