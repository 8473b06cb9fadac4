package snowflake

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// A reservation is a block of contiguous slots of one grant.
type reservation struct {
	grant   *Grant
	last    slot // the last slot of the state that the reservation follows
	first   slot
	count   uint64        // zero if the call has to wait or fail first; see waitOrFail
	at      clock.Moment  // when the reservation was made
	now     uint64        // the tick of at
	due     uint64        // the tick of the last slot
	catchUp time.Duration // time until the wall clock has caught up, if the policy waits for that

	pastWindow bool // first is not in the grant's window
}

// ready reports whether the slots can be committed and used at once.
func (r *reservation) ready() bool { return r.count > 0 && r.due <= r.now }

// reserve reserves up to n slots, or fewer if the window ends, and then waits, without
// holding a lock, until the last of them is due. If the wait is canceled the slots are
// lost and never reissued. If the grant is revoked during the wait they are lost too,
// and reserve starts over.
func (g *Generator) reserve(ctx context.Context, n uint64, wait bool) (reservation, error) {
	for {
		r, err := g.nextReservation(n)
		if err == nil && !r.ready() {
			err = g.waitOrFail(ctx, r, wait)
		}
		if err == nil && r.count > 0 && g.commit(r) {
			var due bool
			if due, err = g.waitUntilDue(ctx, r); due {
				return r, nil
			}
		}
		if err == nil && ctx.Err() != nil {
			err = waiting(ctx)
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
	state := g.state.Load() // before the clock, see absorbStepBack, and before the grant, see Grant.begin
	r := reservation{grant: g.grant.Load()}
	r.last = r.grant.slotOf(state)
	if r.grant.retired.Load() {
		if g.closing.Load() {
			return r, ErrClosed
		}
		return r, nil
	}
	limit := r.grant.limit.Load() // before the clock too
	var err error
	if r.at, r.catchUp, err = g.now(); err != nil || r.catchUp > 0 {
		return r, err
	}
	r.now = min(g.clock.TickAt(r.at.Logical), uint64(g.layout.endTick()))
	r.first = g.firstFree(r, n)
	r.count = min(n, limit-min(r.first, limit))
	r.pastWindow = r.count == 0
	r.due = uint64(r.grant.tickOf(r.first + max(r.count, 1) - 1))
	return r, nil
}

// firstFree returns the first free slot for a block of n. That is the slot after the
// last slot, or a slot in a new tick if the grant has no last slot or it is too old.
func (g *Generator) firstFree(r reservation, n uint64) slot {
	following := r.last + 1
	oldest := (r.now - min(r.now, g.lag)) << g.sequenceBits
	if following != r.grant.first && (g.logical || following >= oldest) {
		return following
	}
	if g.logical {
		oldest = 0
	}
	first := max(following, oldest)
	if n > r.grant.mask {
		return first
	}
	start := g.startOf(uint64(r.grant.id(first)))
	return first + start%(r.grant.mask+2-n) // so that the block fits into the tick
}

// startOf returns the sequence number at which to start the tick whose first ID is id.
// It hashes the ID, which contains the tick and the worker, and the secret with the
// finaliser of MurmurHash3. The result is as even as chance, and needs no memory that a
// call has to fetch or change. A multiplication alone would leave patterns if ticks
// come at even distances.
func (g *Generator) startOf(id uint64) uint64 {
	x := id ^ g.secret
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return (x ^ x>>33) & (1<<(g.startBits&63) - 1)
}

// waitOrFail waits for the condition that blocks the reservation, or returns an error
// if it cannot wait. If wait is false it never waits and does not ask the source.
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
		return r.grant.fenced()
	case r.pastWindow:
		return g.requestSlot(ctx, r.grant, r.first)
	case !wait:
		return ErrSequenceExhausted
	}
	return g.checkDeadline(ctx, r.due)
}

// checkDeadline returns an error if the deadline of ctx is before the slot is due. It
// does so before the slot is taken, because under overload each call that takes a slot
// and gives up would delay the other calls further.
func (g *Generator) checkDeadline(ctx context.Context, due uint64) error {
	if ctx.Err() != nil {
		return waiting(ctx)
	}
	left := g.clock.Until(due)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
		return fmt.Errorf("snowflake: the next free slot is %v away: %w", left, context.DeadlineExceeded)
	}
	return nil
}

// commit moves the state to the reservation's last slot, and reports whether it has. It
// fails if another call has moved the state. Slots that are skipped, or not due yet, do
// not count as issued.
func (g *Generator) commit(r reservation) bool {
	uncounted := int64(r.first - r.last - 1)
	if r.due > r.now {
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

// maxStandstill is how long the clock of [WithClock] may stand still while a call waits
// for it, so that a test that never moves its clock fails instead of hanging.
const maxStandstill = 10 * time.Second

// waitUntilDue waits for the tick of the reservation's last slot. It returns false if
// the grant has been revoked during the wait.
func (g *Generator) waitUntilDue(ctx context.Context, r reservation) (due bool, err error) {
	if r.ready() {
		return true, nil
	}
	g.waits.Add(1)
	for moved := time.Now(); r.due > r.now; {
		if err := g.sleep(ctx, g.clock.Until(r.due)); err != nil {
			return false, err
		}
		last := r.at
		r.at = g.observe()
		r.now = g.clock.TickAt(r.at.Logical)
		if r.at != last {
			moved = time.Now()
		} else if g.clock.Scripted && time.Since(moved) > maxStandstill {
			return false, fmt.Errorf("snowflake: the clock of WithClock has stood still at %v for %v while a call waits for the tick of %v: move it on, or give each generator of a test a worker of its own, because the next one of a worker starts after the last tick of the one before",
				g.layout.timeOf(int64(r.now)), maxStandstill, g.layout.timeOf(int64(r.due)))
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
		return waiting(ctx)
	}
	return nil
}

// waiting returns the error of a call whose context has ended.
func waiting(ctx context.Context) error {
	return fmt.Errorf("snowflake: waiting for the clock: %w", reason(ctx))
}
