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

	pastWindow bool // the window has ended, because first is at or above the limit of the grant
}

// isDue reports whether the slots can be committed and used at once, because there are slots and
// the tick of the last slot has begun.
func (r *reservation) isDue() bool { return r.count > 0 && r.dueTick <= r.nowTick }

// reserve takes n slots, or fewer if the window ends before the last of them. It then waits,
// without holding a lock, until the tick of the last slot begins. If wait is false and reserve
// would have to wait, reserve takes no slot and returns an error. If ctx ends during the wait, the
// slots are lost and never issued.
// If the grant is revoked during the wait, the slots are lost too, and reserve starts over. It
// also starts over if another call has taken the slots first.
func (g *Generator) reserve(ctx context.Context, n uint64, wait bool) (reservation, error) {
	for { // until the slots are taken and due, or an error
		r, err := g.nextReservation(n)
		if err == nil && !r.isDue() {
			err = g.waitOrFail(ctx, r, wait)
		}
		if err == nil && r.count > 0 && g.commit(r) { // commit fails if another call was first
			var due bool
			if due, err = g.waitUntilDue(ctx, r); due {
				return r, nil
			}
		}
		if err == nil && ctx.Err() != nil { // instead of another try
			err = waitError(ctx)
		}
		if err != nil {
			g.refusals.Add(1)
			return r, err
		}
	}
}

// nextReservation computes which slots a call can take next, up to n of them, from the current
// state and the clock. It does not change the state, so the caller takes the slots by commit.
// The count is zero if the call has to wait or fail first. The error is ErrClosed or the error
// of checkedNow.
func (g *Generator) nextReservation(n uint64) (reservation, error) {
	// The state is loaded before the clock and before the grant, because commit fails if
	// the state changes after this line. absorbStepBack changes the state when the clock has
	// stepped back, and Grant.begin changes it when the grant is replaced. So this call cannot
	// commit with a time from before the step, or under the old grant.
	state := g.state.Load()
	r := reservation{grant: g.grant.Load()}
	r.last = r.grant.slotOf(state)
	if r.grant.retired.Load() {
		if g.closing.Load() {
			return r, ErrClosed
		}
		return r, nil // with a count of zero, so that waitOrFail yields until the next grant has begun
	}
	// The limit is loaded before the clock, because absorbStepBack does not change the state if
	// the window has ended. A call that has read the time before the step back must then find
	// no slot, so it must not see a limit that the source raises afterwards.
	limit := r.grant.limit.Load()
	var err error
	if r.at, r.catchUp, err = g.checkedNow(); err != nil || r.catchUp > 0 {
		return r, err
	}
	// Under WithLogicalTime, r.at is the largest moment. nowTick is at most the layout's end, so
	// that a slot of the tick fits into 64 bits.
	r.nowTick = min(g.clock.TickAt(r.at.Logical), uint64(g.layout.endTick()))
	r.first = g.firstFree(r, n)
	r.count = min(n, limit-min(r.first, limit)) // up to the end of the window
	r.pastWindow = r.count == 0
	r.dueTick = uint64(r.grant.tickOf(r.first + max(r.count, 1) - 1)) // of first if the count is zero
	return r, nil
}

// firstFree returns the first slot of a block of n slots. In general this is the slot after the
// last slot. In two cases firstFree instead begins a new tick, at the sequence number that startOf
// chooses. In the first case, the grant has issued no slot yet. In the second case, the slot after
// the last slot is in an older tick than WithLag allows. The second case does not occur under
// WithLogicalTime, because slots there do not become too old.
func (g *Generator) firstFree(r reservation, n uint64) slot {
	following := r.last + 1
	// oldest is the first slot of the oldest tick that WithLag allows, and not below tick zero.
	oldest := (r.nowTick - min(r.nowTick, g.lag)) << g.sequenceBits
	isFirst := following == r.grant.firstSlot // the grant has issued no slot yet
	if !isFirst && (g.logical || following >= oldest) {
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
	// The tick has mask+1 slots, so a start of at most mask+1-n leaves room for the block.
	return first + start%(r.grant.mask+2-n)
}

// startOf returns the sequence number at which to start a tick. id is the ID of the tick with
// the sequence number 0. The result is random for StartRandom and 0 for StartZero, which has
// no startBits.
//
// It is a hash of the ID, which contains the tick and the worker, and of the generator's secret.
// The hash is the finaliser of MurmurHash3, and is as even as chance. A random number generator
// would have a state that each call has to fetch and change. A multiplication alone would leave
// patterns if ticks come at even distances. The mask of 63 changes no shift, and saves the
// instructions for shifts by 64 or more.
func (g *Generator) startOf(id uint64) uint64 {
	x := id ^ g.secret
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return (x ^ x>>33) & (1<<(g.startBits&63) - 1)
}

// waitOrFail handles a reservation that cannot be committed and used at once. If the reservation
// has no slots, waitOrFail waits until the caller can make a new reservation, for example until a
// step back is over or the source has extended the window. If the reservation has slots that are
// not due yet, waitOrFail returns nil at once, because the caller first commits the slots and
// then waits for them. If wait is false, waitOrFail returns an error in all these cases, and does
// not ask the source.
func (g *Generator) waitOrFail(ctx context.Context, r reservation, wait bool) error {
	switch {
	case r.grant.retired.Load(): // another call is replacing the grant; TryNext waits too, because this needs no store
		runtime.Gosched()
		return nil
	case r.catchUp > 0 && !wait:
		return fmt.Errorf("%w: it will have caught up in %v", ErrClockBackwards, r.catchUp)
	case r.catchUp > 0:
		return g.sleep(ctx, r.catchUp)
	case r.pastWindow && !wait && !r.grant.endsWithLayout():
		return r.grant.fencedError()
	case r.pastWindow: // at the layout's end requestSlot returns an error without asking the source
		return g.requestSlot(ctx, r.grant, r.first)
	case !wait: // because the slots are not due yet
		return ErrSequenceExhausted
	}
	return g.checkDeadline(ctx, r.dueTick)
}

// checkDeadline returns an error if ctx has ended, or if its deadline is before dueTick, the tick
// for which the call would have to wait. The caller checks this before it takes a slot, because
// under overload each call that takes a slot and gives up would delay the other calls further.
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

// commit takes the slots of the reservation by moving the state to the reservation's last slot,
// and reports whether it has. It fails if the state has changed since nextReservation loaded it.
//
// Stats computes the number of issued IDs as the last slot minus the skipped slots. Therefore
// commit counts as skipped the slots between r.last and r.first. If the slots of the reservation
// are not due yet, commit counts them as skipped too, and waitUntilDue subtracts them again once
// they are due. commit counts before it moves the state, because the number of issued IDs must
// never be too high.
func (g *Generator) commit(r reservation) bool {
	uncounted := int64(r.first - r.last - 1) // the slots between last and first
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

// maxStandstill is how long the clock of [WithClock] may stand still, in the machine's time,
// while a call waits for it. After that the call fails, because a test that never moves its
// clock would hang.
const maxStandstill = 10 * time.Second

// waitUntilDue waits until the tick of the reservation's last slot begins. It then counts the
// slots as issued, and returns true. If the grant has been revoked during the wait, it returns
// false and no error. It returns an error if ctx ends during the wait, or if the clock of
// WithClock stands still for maxStandstill.
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

// sleep waits for d or less, so the caller reads the clock again. It returns an error if ctx ends
// first.
func (g *Generator) sleep(ctx context.Context, d time.Duration) error {
	if g.clock.Sleep(ctx, d) != nil {
		return waitError(ctx)
	}
	return nil
}

// waitError returns the error of a call whose context has ended while it waited for the clock.
func waitError(ctx context.Context) error {
	return fmt.Errorf("snowflake: waiting for the clock: %w", contextError(ctx))
}
