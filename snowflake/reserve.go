package snowflake

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// A reservation is a block of contiguous slots of one grant that a call is about to take
// by commit.
type reservation struct {
	grant   *Grant
	last    slot          // the last slot when the state was loaded; commit fails if the state has changed since
	first   slot          // the first slot of the block
	count   uint64        // zero if the call has to wait or fail first; see waitOrFail
	at      clock.Moment  // the time up to which slots are due
	nowTick uint64        // the tick of at
	dueTick uint64        // the tick of the last slot of the block; until it begins, the call waits
	catchUp time.Duration // how long to wait first, until a step back is over, under the policy Wait

	pastWindow bool // first is at or above the limit of the grant's window
}

// isDue reports whether the slots can be committed and used at once.
func (r *reservation) isDue() bool { return r.count > 0 && r.dueTick <= r.nowTick }

// reserve takes up to n slots, or fewer if the window ends, and then waits, without
// holding a lock, until the tick of the last slot begins. If wait is false, it returns an
// error instead of waiting. If the wait is canceled, the slots are lost and never reissued.
// If the grant is revoked during the wait, they are lost too, and reserve starts over. It
// also starts over if another call has taken the slots first.
func (g *Generator) reserve(ctx context.Context, n uint64, wait bool) (reservation, error) {
	for {
		r, err := g.nextReservation(n)
		if err == nil && !r.isDue() {
			err = g.waitOrFail(ctx, r, wait)
		}
		if err == nil && r.count > 0 && g.commit(r) {
			var due bool
			if due, err = g.waitUntilDue(ctx, r); due {
				return r, nil
			}
		}
		if err == nil && ctx.Err() != nil {
			err = waitError(ctx)
		}
		if err != nil {
			g.refusals.Add(1)
			return r, err
		}
	}
}

// nextReservation returns a reservation of up to n slots from the current state and the
// clock. It does not change the state.
func (g *Generator) nextReservation(n uint64) (reservation, error) {
	// The state is loaded before the clock and before the grant, because commit fails if
	// the state changes after this line. So it fails if this call then uses a time from
	// before a step back, because absorbStepBack changes the state, and if the grant is
	// replaced, because Grant.begin does.
	state := g.state.Load()
	r := reservation{grant: g.grant.Load()}
	r.last = r.grant.slotOf(state)
	if r.grant.retired.Load() {
		if g.closing.Load() {
			return r, ErrClosed
		}
		return r, nil // with a count of zero, so that waitOrFail yields until the next grant has begun
	}
	// The limit is loaded before the clock, because absorbStepBack burns no slot at the
	// window's end. A call that has read the old time must not see a limit that the
	// source raises after that.
	limit := r.grant.limit.Load()
	var err error
	if r.at, r.catchUp, err = g.checkedNow(); err != nil || r.catchUp > 0 {
		return r, err
	}
	r.nowTick = min(g.clock.TickAt(r.at.Logical), uint64(g.layout.endTick())) // so that its slots fit into a word
	r.first = g.firstFree(r, n)
	r.count = min(n, limit-min(r.first, limit))
	r.pastWindow = r.count == 0
	r.dueTick = uint64(r.grant.tickOf(r.first + max(r.count, 1) - 1))
	return r, nil
}

// firstFree returns the first slot of a block of n. That is the slot after the last slot.
// If the grant has no last slot yet, or the slot after it is older than WithLag allows, it
// is a slot in a new tick, at the sequence number that startOf chooses.
func (g *Generator) firstFree(r reservation, n uint64) slot {
	following := r.last + 1
	oldest := (r.nowTick - min(r.nowTick, g.lag)) << g.sequenceBits // not below tick zero
	if following != r.grant.firstSlot && (g.logical || following >= oldest) {
		return following
	}
	if g.logical {
		oldest = 0 // because logical time does not follow the clock
	}
	first := max(following, oldest)
	if n > r.grant.mask {
		return first // because the block needs at least a whole tick
	}
	start := g.startOf(uint64(r.grant.id(first)))
	return first + start%(r.grant.mask+2-n) // so that the block fits into the tick
}

// startOf returns the sequence number at which to start the tick whose first ID is id. It
// hashes the ID, which contains the tick and the worker, and the secret with the finaliser
// of MurmurHash3. The result is as even as chance. A random number generator would have a
// state that each call has to fetch and change. A multiplication alone would leave patterns
// if ticks come at even distances. The mask of 63 changes no shift, and saves the
// instructions for shifts by 64 or more.
func (g *Generator) startOf(id uint64) uint64 {
	x := id ^ g.secret
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return (x ^ x>>33) & (1<<(g.startBits&63) - 1)
}

// waitOrFail handles a reservation that cannot be committed and used at once. It waits for
// the condition that blocks the reservation, or returns an error if it cannot wait. If the
// slots are in the window and only not due yet, it returns nil, so that the call commits
// them and then waits. If wait is false, it returns an error instead of waiting, and does
// not ask the source.
func (g *Generator) waitOrFail(ctx context.Context, r reservation, wait bool) error {
	switch {
	case r.grant.retired.Load(): // another grant is being installed
		runtime.Gosched()
		return nil
	case r.catchUp > 0 && !wait:
		return fmt.Errorf("%w: it will have caught up in %v", ErrClockBackwards, r.catchUp)
	case r.catchUp > 0:
		return g.sleep(ctx, r.catchUp)
	case r.pastWindow && !wait && !r.grant.expires():
		return r.grant.fencedError()
	case r.pastWindow: // at the layout's end requestSlot does not ask the source either
		return g.requestSlot(ctx, r.grant, r.first)
	case !wait: // because the slots are not due yet
		return ErrSequenceExhausted
	}
	return g.checkDeadline(ctx, r.dueTick)
}

// checkDeadline returns an error if the deadline of ctx is before the slot is due. It
// does so before the slot is taken, because under overload each call that takes a slot
// and gives up would delay the other calls further.
func (g *Generator) checkDeadline(ctx context.Context, dueTick uint64) error {
	if ctx.Err() != nil {
		return waitError(ctx)
	}
	untilDue := g.clock.Until(dueTick)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < untilDue {
		return fmt.Errorf("snowflake: the next free slot is %v away: %w", untilDue, context.DeadlineExceeded)
	}
	return nil
}

// commit takes the slots of the reservation by moving the state to its last slot, and
// reports whether it has. It fails if the state has changed since it was loaded.
//
// Slots that are left out, or not due yet, do not count as issued. commit counts them as
// skipped before it moves the state, because Stats, which subtracts them from the state,
// must never be too high.
func (g *Generator) commit(r reservation) bool {
	uncounted := int64(r.first - r.last - 1)
	if r.dueTick > r.nowTick {
		uncounted += int64(r.count)
	}
	if uncounted > 0 {
		g.skipped.Add(uncounted)
	}
	if g.advance(r.grant, r.last, r.first+r.count-1) {
		return true
	}
	if uncounted > 0 {
		g.skipped.Add(-uncounted)
	}
	return false
}

// maxStandstill is how long the clock of [WithClock] may stand still while a call waits for
// it. After that the call fails, because a test that never moves its clock would hang.
const maxStandstill = 10 * time.Second

// waitUntilDue waits until the tick of the reservation's last slot begins. The slots then
// count as issued. It returns false if the grant has been revoked during the wait.
func (g *Generator) waitUntilDue(ctx context.Context, r reservation) (due bool, err error) {
	if r.isDue() {
		return true, nil
	}
	g.waits.Add(1)
	for moved := time.Now(); r.dueTick > r.nowTick; { // moved is when the clock was last seen to move
		if err := g.sleep(ctx, g.clock.Until(r.dueTick)); err != nil {
			return false, err
		}
		last := r.at
		r.at = g.observe()
		r.nowTick = g.clock.TickAt(r.at.Logical)
		if r.at != last {
			moved = time.Now()
		} else if g.clock.Scripted && time.Since(moved) > maxStandstill {
			return false, fmt.Errorf("snowflake: the clock of WithClock has stood still at %v for %v while a call waits for the tick of %v: move it on, or give each generator of a test a worker of its own, because the next one of a worker starts after the last tick of the one before",
				g.layout.timeOf(int64(r.nowTick)), maxStandstill, g.layout.timeOf(int64(r.dueTick)))
		}
		if r.grant.revoked.Load() {
			return false, nil
		}
	}
	g.skipped.Add(-int64(r.count))
	return true, nil
}

// sleep waits for d or less, or until ctx ends, which is an error.
func (g *Generator) sleep(ctx context.Context, d time.Duration) error {
	if g.clock.Sleep(ctx, d) != nil {
		return waitError(ctx)
	}
	return nil
}

// waitError returns the error of a call whose context has ended.
func waitError(ctx context.Context) error {
	return fmt.Errorf("snowflake: waiting for the clock: %w", contextError(ctx))
}
