package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// checkedNow returns the moment up to which slots are due, which is the present moment of logical
// time. If a step back is not over and the policy is Wait, catchUp is the time that the call must
// first wait. In all other cases catchUp is zero. checkedNow returns an error if the wall clock is
// further behind than the policy allows, or has jumped further ahead than WithMaxJump allows.
//
// Under WithLogicalTime, where IDs do not follow the clock, checkedNow returns the largest moment,
// because every slot is due. There it returns neither a wait nor an error.
func (g *Generator) checkedNow() (at clock.Moment, catchUp time.Duration, err error) {
	if g.logical { // the last ID, and not the clock, shows how near the layout's end is
		g.warnBeforeExpiry(g.last() >> g.sequenceBits)
		return clock.Moment{Logical: math.MaxInt64}, 0, nil
	}
	at = g.observe()
	g.warnBeforeExpiry(g.clock.TickAt(at.Logical))
	catchUp, err = g.applyPolicy()
	return at, catchUp, err
}

// observe returns the present moment of logical time. If the last comparison of logical time with
// the wall clock is no longer trusted, observe compares the two first, so that logical time can
// follow the wall clock. If another call is making this comparison, observe does not wait for that
// call, and returns the moment as it was before the comparison.
func (g *Generator) observe() clock.Moment {
	at := g.clock.Now()
	if !g.clock.Due(at) || !g.clock.TryLock() {
		return at
	}
	g.compare()
	g.clock.Unlock()
	return g.clock.Now()
}

// believedWall compares the clocks and returns the wall clock's time. It returns an error if the
// wall clock has jumped ahead, and its new time is not believed yet.
func (g *Generator) believedWall() (time.Time, error) {
	g.clock.Lock()
	defer g.clock.Unlock()
	wall := g.compare()
	if err := g.checkJump(g.clock.Offset()); err != nil {
		return time.Time{}, err
	}
	return wall, nil
}

// compare compares logical time with the wall clock, and returns the wall clock's time. If calls
// may now issue IDs without a wait or an error, it marks the comparison as trusted for a second.
// During that time Next neither compares the clocks nor applies the clock policy. The caller
// holds the lock of the clock.
func (g *Generator) compare() time.Time {
	wall, offset := g.clock.Compare()
	if offset < 0 { // the wall clock is behind logical time
		offset = g.absorbStepBack(offset)
	}
	if offset <= g.maxJump && g.tolerates(-offset) {
		g.clock.Trust()
	} else {
		g.clock.Distrust()
	}
	return wall
}

// absorbStepBack moves logical time back to the wall clock, if the generator has been idle for so
// long that the next slot is before the wall clock's tick. No ID can repeat then, and the step
// back is over. offset is the wall clock minus logical time, and is negative. absorbStepBack
// returns the offset that remains, which is zero if it has moved logical time.
//
// Another call may have read the old time and not have committed yet. Its ID would be ahead
// of the new time. Such a call has loaded the state before the time, so its commit fails if
// the state changes now. Therefore absorbStepBack burns one slot, which means that it moves the
// state past the slot and issues no ID for it. At the window's end there is no slot to burn, and
// the other call has no slot to take. While a grant is being replaced, the state must not
// change, so absorbStepBack leaves the offset to a later comparison. The caller holds the
// lock of the clock.
func (g *Generator) absorbStepBack(offset time.Duration) (remaining time.Duration) {
	grant, last := g.grant.Load(), g.last()
	wallTick := g.clock.TickAt(g.clock.Now().Logical + offset)
	if grant.retired.Load() || uint64(grant.tickOf(last+1)) >= wallTick {
		return offset
	}
	g.clock.Follow(offset, func() bool {
		return last+1 >= grant.limit.Load() || g.burn(grant, last)
	})
	return g.clock.Offset()
}

// burn moves the state past the slot after last without issuing an ID, and reports whether it
// has. It fails if another call has moved the state from last.
func (g *Generator) burn(grant *Grant, last slot) bool {
	g.skipped.Add(1)
	if g.advance(grant, last, last+1) {
		return true
	}
	g.skipped.Add(-1)
	return false
}

// tolerates reports whether the clock policy lets the generator issue IDs without a wait
// while the wall clock is behind logical time by this much. Every policy tolerates less than a
// tick, because IDs may be ahead of the clock by that much. behind is negative if the wall clock
// is ahead.
func (g *Generator) tolerates(behind time.Duration) bool {
	return behind < g.layout.Tick || behind <= g.policy.max && !g.policy.wait
}

// applyPolicy decides by the last comparison of the clocks whether a call may continue. If the
// call may continue, catchUp is zero. If the call must wait for the wall clock, under the policy
// Wait, catchUp is the time to wait. applyPolicy returns an error if the wall clock is further
// behind than the clock policy allows, or further ahead than WithMaxJump allows.
func (g *Generator) applyPolicy() (catchUp time.Duration, err error) {
	offset := g.clock.Offset()
	if err := g.checkJump(offset); err != nil {
		return 0, err
	}
	behind := -offset
	switch {
	case g.tolerates(behind):
		return 0, nil
	case behind > g.policy.max:
		return 0, fmt.Errorf("%w: it is %v behind, OnClockBackwards allows %v", ErrClockBackwards, behind, g.policy.max)
	}
	// Wait until the wall clock reaches the tick at which absorbStepBack ends the step back. The
	// wait is at least a microsecond, because zero would mean to continue.
	overtaken := (g.last()+1)>>g.sequenceBits + 1 // the tick after that of the next slot
	return max(g.clock.Until(overtaken)+behind, time.Microsecond), nil
}

// checkJump returns an error if the wall clock is ahead of logical time by more than WithMaxJump
// allows. offset is the wall clock minus logical time. Once the wall clock has kept its new time
// for a minute, logical time follows the wall clock, and the offset is zero again.
func (g *Generator) checkJump(offset time.Duration) error {
	if offset <= g.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, g.maxJump, clock.Agreement)
}
