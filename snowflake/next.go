package snowflake

import (
	"context"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
	"github.com/gormflake/gormflake/types"
)

// Next returns a new ID, above all that this generator returned before the call
// began. It waits while the sequence of the current tick is used up, at most until
// ctx ends, and fails at once if its deadline is too close for the wait. Next
// checks ctx only when it has to wait: where there is a free slot, a call whose
// ctx has ended may still get an ID.
//
// The error wraps [ErrClockBackwards], [ErrClockJumped], [ErrFenced],
// [ErrExpired], [ErrClosed] or what ended ctx, or it is the source's own. All
// except ErrExpired and ErrClosed are transient.
func (g *Generator) Next(ctx context.Context) (types.ID, error) { return g.next(ctx, true) }

// TryNext is [Generator.Next] without waiting: where there is no free slot at
// this moment it returns [ErrSequenceExhausted]. It does not ask the source
// either: at the end of the window it returns [ErrFenced] until a call of Next or
// Fill has asked, or the source has extended the window on its own. If the worker
// was lost, only Next or Fill gets another.
func (g *Generator) TryNext() (types.ID, error) { return g.next(context.Background(), false) }

// next is the fast path: as long as a tick is open the next ID is the last one plus
// one. It costs one reading of the processor's counter or the clock, two loads for
// the state and the open tick's last ID, and one compare-and-swap. All else is out of line: most programs make
// an ID rarely, so that each cache line and each function on its way is a miss.
func (g *Generator) next(ctx context.Context, wait bool) (types.ID, error) {
	for range 4 {
		grant := g.grant.Load()
		until, count := grant.tickEnd.Trust()
		if !clock.CertainlyOpen(until, count) && (until == clock.Idle || !grant.tickEnd.StillOpen(time.Since(g.clock.Start), &g.clock.Counter, count)) {
			if id := g.nextTick(grant); id > 0 {
				return id, nil
			}
			break
		}
		last := grant.state.Load()
		if last >= grant.openLimit.Load() {
			break
		}
		if grant.state.CompareAndSwap(last, last+1) {
			return types.ID(last + 1), nil
		}
		backOff()
	}
	return g.nextSlow(ctx, wait)
}

// nextTick issues the first ID of a tick, and opens it, if the clocks agree and
// nothing else is out of the ordinary: the slot then follows from the state and one
// reading of both clocks, and there is nothing to record. It returns zero where
// reserve has to find out. That a shift is masked with 63, which changes none, spares
// the processor a look whether it is 64 or more.
func (g *Generator) nextTick(grant *Grant) types.ID {
	if g.directBelow == 0 {
		return 0
	}
	last := grant.state.Load() // before the clock: see absorbStepBack
	base, now := g.clock.Base(), time.Now()
	at, wall := g.clock.At(base, now), g.clock.Wall(now)+g.clock.Skew()
	tick, lastTick := g.clock.TickAt(at.Logical), last>>(grant.lowBits&63)
	if !g.clock.Agrees(at, wall) || !g.ordinary(grant, last, lastTick, tick) {
		return 0
	}
	next, skipped := last+1, uint64(0)
	if oldest := tick - min(tick, g.lag); lastTick < oldest {
		next = oldest<<(grant.lowBits&63) | grant.node
		next |= mix(next^grant.secret) & g.startMask // as firstFree chooses for one slot
		skipped = (oldest-lastTick)<<(grant.sequenceBits&63) + next&grant.mask - last&grant.mask - 1
		g.skipped.Add(int64(skipped))
	}
	if !grant.state.CompareAndSwap(last, next) {
		g.skipped.Add(-int64(skipped))
		return 0
	}
	grant.openTick(next, at, g.clock.OpenFor(at, tick), skipped > 0)
	return types.ID(next)
}

// ordinary reports whether an ID may be issued in the tick without a closer look:
// the tick is in the window, the last ID is not ahead of it, as that of a sealed
// state always is, and did not use up its own.
func (g *Generator) ordinary(grant *Grant, last, lastTick, tick uint64) bool {
	return lastTick <= tick && tick < g.directBelow &&
		tick<<(grant.sequenceBits&63) < grant.limit.Load() && last&grant.mask != grant.mask
}

func (g *Generator) nextSlow(ctx context.Context, wait bool) (types.ID, error) {
	r, err := g.reserve(ctx, 1, wait)
	if err != nil {
		return 0, err
	}
	return r.grant.id(r.first), nil
}

// backOff lets up to 6 µs pass after another call has changed the state first. The
// cache line then stays with the other processor, which issues hundreds of IDs in
// the time in which the two would wrest fifty from each other. It counts readings
// too, because the clock may be one that does not move during the call.
func backOff() {
	start := time.Now()
	for range 120 {
		if time.Since(start) > 6*time.Microsecond {
			return
		}
	}
}

// Fill sets every element of dst to a new ID, in rising order. It reserves the
// slots for all of them in one step and waits once, for the last of them. It takes
// more than one step only if the source's window ends in between. If the source
// revokes a grant that dst has IDs of, Fill starts over; see [Grant.Revoke]. An
// empty dst takes nothing and is not an error. It returns the errors
// of [Generator.Next]; after one, discard what dst holds, whose slots are lost.
func (g *Generator) Fill(ctx context.Context, dst []types.ID) error {
	var earlier []*Grant // of the blocks that are written
	for rest := dst; len(rest) > 0; {
		r, err := g.reserve(ctx, uint64(len(rest)), true)
		if err != nil {
			g.skipped.Add(int64(len(dst) - len(rest)))
			return err
		}
		if slices.ContainsFunc(earlier, func(g *Grant) bool { return g.revoked.Load() }) {
			g.skipped.Add(int64(len(dst)-len(rest)) + int64(r.count))
			rest, earlier = dst, nil
			continue
		}
		r.grant.write(rest[:r.count], r.first)
		if rest = rest[r.count:]; len(rest) > 0 && !slices.Contains(earlier, r.grant) {
			earlier = append(earlier, r.grant)
		}
	}
	return nil
}

// write lays out contiguous slots, tick by tick.
func (g *Grant) write(dst []types.ID, first slot) {
	for len(dst) > 0 {
		inTick := min(uint64(len(dst)), g.mask+1-first&g.mask)
		writeRun(dst[:inTick], g.id(first))
		dst, first = dst[inTick:], first+inTick
	}
}

// writeRun fills the run, from id up. Eight at a time it takes two thirds of the
// time, wherever the linker places the loop.
func writeRun(run []types.ID, id types.ID) {
	for ; len(run) >= 8; run, id = run[8:], id+8 {
		eight := run[:8]
		eight[0], eight[1], eight[2], eight[3] = id, id+1, id+2, id+3
		eight[4], eight[5], eight[6], eight[7] = id+4, id+5, id+6, id+7
	}
	for i := range run {
		run[i] = id + types.ID(i)
	}
}
