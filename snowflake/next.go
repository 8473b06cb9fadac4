package snowflake

import (
	"context"
	"slices"
	"time"

	"github.com/gormflake/gormflake/types"
)

// Next returns a new ID, above all IDs that this generator returned before the call
// began. If the sequence of the current tick is used up, Next waits, at most until ctx
// ends. It fails at once if its deadline is too close for the wait. Next checks ctx
// only when it has to wait. If there is a free slot, a call whose ctx has ended may
// still get an ID.
//
// The error wraps [ErrClockBackwards], [ErrClockJumped], [ErrFenced], [ErrExpired],
// [ErrClosed] or the error of ctx, or it is the source's own error. All except
// ErrExpired and ErrClosed are transient.
func (g *Generator) Next(ctx context.Context) (types.ID, error) { return g.next(ctx, true) }

// TryNext is [Generator.Next] without waiting. If there is no free slot at this moment
// it returns [ErrSequenceExhausted]. It does not ask the source either. At the end of
// the window it returns [ErrFenced] until a call of Next or Fill has asked, or the
// source has extended the window on its own. If the worker was lost, only Next or Fill
// gets another worker.
func (g *Generator) TryNext() (types.ID, error) { return g.next(context.Background(), false) }

// next issues an ID on the common path: the next ID of the tick of the last ID, or the
// first ID of the current tick. It leaves all other cases to nextSlow. There wait decides
// whether the call waits, or returns an error as TryNext does.
//
// A program makes an ID rarely, perhaps once in a request, so that each cache line and
// each function on the way is a cache miss. Therefore next is one function, reads one
// clock, and touches two cache lines, which are the first two of the Generator. It
// loads these fields:
//
//   - state is the last ID, from which the next ID follows. If the generator is closed or
//     its grant revoked, the highest bit is set, and the state is negative as an int64.
//     next loads the state before the clock. If the clock steps back in between,
//     absorbStepBack changes the state, and the compare-and-swap fails. In the same tick next
//     loads the state again after the clock, because another call may have changed it in
//     between. The time is no longer needed then, because the tick stays the same.
//   - The base, the monotonic clock and its start make the logical time. Reading the clock
//     is most of the cost of a call.
//   - Trusts reports whether the last comparison with the wall clock is recent enough. About
//     once a second it is not, and Reconfirm reads both clocks.
//   - tickSpan is how long after its start a tick may be used, because of WithLag. During that
//     time the next ID is the state plus one, unless the sequence is used up.
//   - fastEnd is the first tick beyond the grant's window, or the tick from which nextSlow warns
//     that the layout expires. next loads it only for the first ID of a tick, because a tick in
//     which an ID was issued is in the window.
//   - lag and secret determine the first ID of a tick, and skipped counts the slots that
//     are left out, so that Stats can derive the number of IDs from the state.
//
// The masks of 63 change no shift. They save the instructions for shifts by 64 or more.
func (g *Generator) next(ctx context.Context, wait bool) (types.ID, error) {
	for range 4 { // a call that loses its slot four times goes on in nextSlow, which also checks ctx
		last := g.state.Load()
		base, elapsed := g.clock.Base(), time.Since(g.clock.Start)
		logical, ok := uint64(base+elapsed), g.clock.Trusts(elapsed)
		if !ok {
			logical, ok = g.clock.Reconfirm()
		}
		lastTick, full := last>>(g.lowBits&63), uint64(1)<<(g.sequenceBits&63)-1
		sameTick := logical-lastTick*g.clock.Tick < g.tickSpan // the difference of unsigned numbers is huge if the tick is in the future
		if again := g.state.Load(); sameTick && again>>(g.lowBits&63) == lastTick {
			last = again
		}
		if !ok || int64(last) < 0 || last&full == full {
			break // the clocks have to be compared, the state is sealed, or the sequence is used up
		}
		next, skipped := last+1, uint64(0)
		if !sameTick {
			tick := logical / g.clock.Tick
			if tick < lastTick || tick >= g.fastEnd.Load() {
				break // the last ID is ahead of the clock, or the window ends
			}
			tick -= g.lag                                       // still after lastTick, because a tick within the lag of it is sameTick
			next = last&^full + (tick-lastTick)<<(g.lowBits&63) // the first ID of the tick, with the worker of the last ID
			next += g.startOf(next)
			skipped = (tick-lastTick)<<(g.sequenceBits&63) + next&full - last&full - 1
			g.skipped.Add(int64(skipped)) // before the state moves; see updateIssued
		}
		if g.state.CompareAndSwap(last, next) {
			return types.ID(next), nil
		}
		g.skipped.Add(-int64(skipped))
		backOff()
	}
	return g.nextSlow(ctx, wait)
}

// nextSlow issues an ID on the path that can compare the clocks and fail. If wait is true,
// it can also wait and ask the source.
func (g *Generator) nextSlow(ctx context.Context, wait bool) (types.ID, error) {
	r, err := g.reserve(ctx, 1, wait)
	if err != nil {
		return 0, err
	}
	return r.grant.id(r.first), nil
}

// backOff waits for up to 6 µs after another call has changed the state first. The
// cache line then stays with the other processor, which issues hundreds of IDs in this
// time. Without the pause the two processors together would issue about fifty. backOff also
// ends after 120 readings of the clock, because the clock may be a test's that does not move
// during the call.
func backOff() {
	start := time.Now()
	for range 120 {
		if time.Since(start) > 6*time.Microsecond {
			return
		}
	}
}

// Fill sets every element of dst to a new ID, in rising order. It reserves the slots
// for all of them in one step and waits once, for the last slot. It takes more than one
// step only if the source's window ends in between. If the source revokes a grant whose
// IDs are already in dst, Fill starts over; see [Grant.Revoke]. An empty dst takes no
// slot and is not an error. Fill returns the errors of [Generator.Next]. After an
// error, discard the contents of dst, because their slots are lost.
func (g *Generator) Fill(ctx context.Context, dst []types.ID) error {
	var earlier []*Grant // grants of the blocks that are written
	for rest := dst; len(rest) > 0; {
		r, err := g.reserve(ctx, uint64(len(rest)), true) // true, because Fill waits
		if err != nil {
			g.skipped.Add(int64(len(dst) - len(rest))) // the blocks already written are lost
			return err
		}
		if slices.ContainsFunc(earlier, func(grant *Grant) bool { return grant.revoked.Load() }) {
			// The blocks already written and the block just reserved are lost.
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

// write sets dst to the IDs of contiguous slots from first on.
func (g *Grant) write(dst []types.ID, first slot) {
	for len(dst) > 0 {
		inTick := min(uint64(len(dst)), g.mask+1-first&g.mask) // slots up to the end of the tick
		writeRun(dst[:inTick], g.id(first))
		dst, first = dst[inTick:], first+inTick
	}
}

// writeRun sets run to consecutive IDs from id on. Writing eight at a time takes two
// thirds of the time, independent of where the linker places the loop.
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
