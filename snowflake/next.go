package snowflake

import (
	"context"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
	"github.com/gormflake/gormflake/types"
)

// Next returns a new ID, above all that this generator has returned before the
// call began. It waits while the sequence of the current tick is used up, at
// most until ctx ends; a deadline that is too close for the wait is refused at
// once. ctx is looked at only when Next has to wait: where there is a free slot,
// a call whose ctx has ended may get an ID all the same.
//
// The error wraps [ErrClockBackwards], [ErrClockJumped], [ErrFenced],
// [ErrExpired], [ErrClosed] or what ended ctx, or it is the source's own. All
// except ErrExpired and ErrClosed are transient.
func (g *Generator) Next(ctx context.Context) (types.ID, error) {
	if id, ok := g.short(); ok {
		return id, nil
	}
	return g.one(ctx, true)
}

// TryNext is [Generator.Next] without waiting: when there is no free slot at
// this moment it returns [ErrSequenceExhausted]. Nor does it ask the source for
// more: at the end of the window it returns [ErrFenced] until a call of Next or
// Fill has asked, or the source has extended the window by itself.
func (g *Generator) TryNext() (types.ID, error) {
	if id, ok := g.short(); ok {
		return id, nil
	}
	return g.one(context.Background(), false)
}

// short is the short path: as long as a tick is open the next ID is the last one
// plus one. One look at the time, one load for the fence, one swap. All else is
// take's, which opens the ticks.
func (g *Generator) short() (id types.ID, ok bool) {
	grant, count := g.grant.Load(), clock.Count()
	if !grant.tickEnd.AfterCount(count) && !grant.tickEnd.AfterTime(time.Since(g.monotonic), &g.counter, count) {
		return 0, false
	}
	last := grant.state.Load()
	if last >= grant.open.Load() {
		return 0, false
	}
	if !grant.state.CompareAndSwap(last, last+1) {
		standBack()
		return 0, false
	}
	return types.ID(last + 1), true
}

// Fill sets every element of dst to a new ID, in rising order. It reserves the
// slots for all of them in one step and waits once, for the last of them; only
// where the source's window ends in between does it take more than one. Where the
// source revokes a grant that dst has IDs of, Fill starts over; see
// [Grant.Revoke]. An empty dst takes nothing and is no error. The errors are those
// of [Generator.Next]; what dst holds after one is not to be used, and the slots
// it took are lost.
func (g *Generator) Fill(ctx context.Context, dst []types.ID) error {
	var earlier []*Grant // of the blocks that are written
	for rest := dst; len(rest) > 0; {
		c, err := g.take(ctx, uint64(len(rest)), true)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(earlier, isRevoked) {
			g.skipped.Add(int64(len(dst)-len(rest)) + int64(c.count))
			rest, earlier = dst, nil
			continue
		}
		c.grant.write(rest[:c.count], c.first)
		if rest = rest[c.count:]; len(rest) > 0 && !slices.Contains(earlier, c.grant) {
			earlier = append(earlier, c.grant)
		}
	}
	return nil
}

func isRevoked(g *Grant) bool { return g.revoked.Load() }

// write lays out contiguous slots, tick by tick.
func (g *Grant) write(dst []types.ID, first slot) {
	for len(dst) > 0 {
		inTick := min(uint64(len(dst)), g.mask+1-first&g.mask)
		number(dst[:inTick], g.id(first))
		dst, first = dst[inTick:], first+inTick
	}
}

// number fills the run, from id up. By eights it takes two thirds of the time,
// wherever the linker happens to place the loop.
func number(run []types.ID, id types.ID) {
	for ; len(run) >= 8; run, id = run[8:], id+8 {
		eight := run[:8]
		eight[0], eight[1], eight[2], eight[3] = id, id+1, id+2, id+3
		eight[4], eight[5], eight[6], eight[7] = id+4, id+5, id+6, id+7
	}
	for i := range run {
		run[i] = id + types.ID(i)
	}
}

// standBack lets some 3 µs pass after another call has spoilt this one's
// compare-and-swap: the cache line then stays with the other, which issues
// hundreds of IDs in the time in which the two would wrest fifty from each other.
// It counts readings, as the clock may be one that does not move meanwhile.
func standBack() {
	start := time.Now()
	for range 120 {
		time.Since(start)
	}
}

func (g *Generator) one(ctx context.Context, wait bool) (types.ID, error) {
	c, err := g.take(ctx, 1, wait)
	if err != nil {
		return 0, err
	}
	return c.grant.id(c.first), nil
}
