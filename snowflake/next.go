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

// next issues an ID without a lock in the two common cases. These are the next sequence number
// in the tick of the last ID, and the first ID of the current tick. It leaves all other cases to
// nextSlow, for example if the sequence is used up, if the window has ended, or if the clocks
// have to be compared. If wait is true, nextSlow may wait, and may ask the source for a longer
// window. If wait is false, it returns an error instead, as TryNext does.
//
// The state is the last ID. next computes an ID from it and makes this ID the new state by a
// compare-and-swap, which fails if another call has changed the state. If the generator is
// closed or its grant is revoked, the highest bit of the state is set, and the state is
// negative as an int64.
//
// next loads the state before it reads the clock. If the clock steps back in between,
// absorbStepBack changes the state, so that the compare-and-swap fails and no ID has a time from
// before the step. If the tick of the last ID may still be used, next loads the state once more
// after it has read the clock. Another call may have changed the state in the meantime, and the
// compare-and-swap would then fail. If the new last ID is of the same tick, that tick may still
// be used, so next continues from the new last ID and does not read the clock again.
//
// A program makes an ID rarely, perhaps once in a request, so that each cache line and
// each function on the way is a cache miss. Therefore next is one function, reads one
// clock, and touches two cache lines, which are the first two of the Generator. The masks of
// 63 change no shift. They save the instructions for shifts by 64 or more.
func (g *Generator) next(ctx context.Context, wait bool) (types.ID, error) {
	for range 4 { // a call that loses its slot four times goes on in nextSlow, which also checks ctx
		last := g.state.Load()

		// Read the logical time, which is base + elapsed. About once a second the last
		// comparison with the wall clock is too old to be trusted. Reconfirm then reads both
		// clocks, and returns false if they differ.
		base, elapsed := g.clock.Base(), time.Since(g.clock.Start)
		logical, ok := uint64(base+elapsed), g.clock.Trusts(elapsed)
		if !ok {
			logical, ok = g.clock.Reconfirm()
		}

		// The tick of the last ID may be used for tickSpan after its start, which is one tick, or
		// more under WithLag.
		lastTick, full := last>>(g.lowBits&63), uint64(1)<<(g.sequenceBits&63)-1
		sameTick := logical-lastTick*g.clock.Tick < g.tickSpan // the difference of unsigned numbers is huge if the tick is in the future
		if again := g.state.Load(); sameTick && again>>(g.lowBits&63) == lastTick {
			last = again
		}
		if !ok || int64(last) < 0 || last&full == full {
			break // the clocks have to be compared, the state is sealed, or the sequence is used up
		}
		next, skipped := last+1, uint64(0)
		if !sameTick { // begin the current tick, or under WithLag the oldest tick that it allows
			// Only here the end of the window counts, because a tick in which an ID was issued is
			// in the window.
			tick := logical / g.clock.Tick
			if tick < lastTick || tick >= g.fastEnd.Load() {
				break // the last ID is ahead of the clock, or the window ends
			}
			tick -= g.lag                                       // still after lastTick, because sameTick is true up to lastTick+lag
			next = last&^full + (tick-lastTick)<<(g.lowBits&63) // the first ID of the tick, with the worker of the last ID
			next += g.startOf(next)                             // the sequence number at which the tick starts

			// Count the slots between last and next as skipped, so that Stats can derive the
			// number of IDs from the state. Do so before the state moves; see updateIssued.
			skipped = (tick-lastTick)<<(g.sequenceBits&63) + next&full - last&full - 1
			g.skipped.Add(int64(skipped))
		}
		if g.state.CompareAndSwap(last, next) {
			return types.ID(next), nil
		}
		g.skipped.Add(-int64(skipped))
		backOff()
	}
	return g.nextSlow(ctx, wait)
}

// nextSlow issues an ID in the cases that next leaves to it. It can compare the clocks and fail.
// If wait is true, it can also wait for a free slot and ask the source for a longer window.
func (g *Generator) nextSlow(ctx context.Context, wait bool) (types.ID, error) {
	r, err := g.reserve(ctx, 1, wait)
	if err != nil {
		return 0, err
	}
	return r.grant.id(r.first), nil
}

// backOff waits for up to 6 µs. next calls it after a call on another processor has changed the
// state first. During the wait the cache line of the state stays with the other processor, which
// issues hundreds of IDs in this time. Without the wait the two processors together would issue
// about fifty. backOff also ends after 120 readings of the clock, because in a test the clock
// may not move during the call.
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
	var earlier []*Grant // grants of the blocks that are written to dst already
	for rest := dst; len(rest) > 0; {
		r, err := g.reserve(ctx, uint64(len(rest)), true) // wait is true
		if err != nil {
			// The blocks already written are lost, and do not count as issued.
			g.skipped.Add(int64(len(dst) - len(rest)))
			return err
		}
		if slices.ContainsFunc(earlier, func(grant *Grant) bool { return grant.revoked.Load() }) {
			// Another process may hold the worker of a block already written. Start over. The
			// slots of these blocks and of the block just reserved are lost.
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

// write sets dst to the IDs of consecutive slots from first on. The IDs are consecutive numbers
// only within a tick, because the worker is between tick and sequence. Therefore write splits
// dst at the ends of ticks.
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
