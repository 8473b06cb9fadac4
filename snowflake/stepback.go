package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// now returns the moment up to which slots may be issued, and how long to wait for the
// wall clock before that. It returns an error if the clock policy or the limit for
// jumps requires it.
func (g *Generator) now() (at clock.Moment, catchUp time.Duration, err error) {
	if g.logical {
		g.warnBeforeExpiry(g.last() >> g.sequenceBits)
		return clock.Moment{Logical: math.MaxInt64}, 0, nil
	}
	at = g.observe()
	g.warnBeforeExpiry(g.clock.TickAt(at.Logical))
	catchUp, err = g.applyPolicy()
	return at, catchUp, err
}

// observe reads the clock. If the last comparison with the wall clock is no longer
// trusted, it compares the clocks first, unless another call is doing that.
func (g *Generator) observe() clock.Moment {
	at := g.clock.Now()
	if !g.clock.Due(at) || !g.clock.TryLock() {
		return at
	}
	g.compare()
	g.clock.Unlock()
	return g.clock.Now()
}

// wall compares the clocks and returns the wall clock's time, or an error if the time
// is not believed.
func (g *Generator) wall() (time.Time, error) {
	g.clock.Lock()
	defer g.clock.Unlock()
	wall := g.compare()
	if err := g.checkJump(g.clock.Offset()); err != nil {
		return time.Time{}, err
	}
	return wall, nil
}

// compare compares the clocks, and returns the wall clock's time. If the clock policy
// lets IDs be issued, it marks the comparison as trusted for a while. During that time
// Next does not apply the policy again. The caller holds the lock of the clock.
func (g *Generator) compare() time.Time {
	wall, offset := g.clock.Compare()
	if offset < 0 {
		offset = g.absorbStepBack(offset)
	}
	if offset <= g.maxJump && g.ignores(-offset) {
		g.clock.Trust()
	} else {
		g.clock.Distrust()
	}
	return wall
}

// absorbStepBack moves logical time back with the wall clock if the last slot is before
// both times, so that no ID can repeat. It returns the remaining offset.
//
// Another call may have read the old time and not have committed yet. It read the state
// before the time, so its commit fails if the state changes now. Therefore
// absorbStepBack burns one slot. At the window's end there is no slot to burn, but that
// call cannot take one either. While a grant is being replaced it leaves the offset,
// because there is no slot to burn. The caller holds the lock of the clock.
func (g *Generator) absorbStepBack(offset time.Duration) (left time.Duration) {
	grant, last := g.grant.Load(), g.last()
	wall := g.clock.TickAt(g.clock.Now().Logical + offset)
	if grant.retired.Load() || uint64(grant.tickOf(last+1)) >= wall {
		return offset
	}
	g.clock.Follow(offset, func() bool {
		return last+1 >= grant.limit.Load() || g.burn(grant, last)
	})
	return g.clock.Offset()
}

// burn skips the slot after last, unless another call has taken it, and reports whether
// it has.
func (g *Generator) burn(grant *Grant, last slot) bool {
	g.skipped.Add(1)
	if g.advance(grant, last, last+1) {
		return true
	}
	g.skipped.Add(-1)
	return false
}

// ignores reports whether the generator issues IDs without a wait while the wall clock
// is behind by this much.
func (g *Generator) ignores(behind time.Duration) bool {
	return behind < g.layout.Tick || behind <= g.policy.max && !g.policy.wait
}

// applyPolicy applies the clock policy to the last comparison. It returns an error, or
// how long to wait for the wall clock, or zero to continue.
func (g *Generator) applyPolicy() (catchUp time.Duration, err error) {
	offset := g.clock.Offset()
	if err := g.checkJump(offset); err != nil {
		return 0, err
	}
	behind := -offset
	switch {
	case g.ignores(behind):
		return 0, nil
	case behind > g.policy.max:
		return 0, fmt.Errorf("%w: it is %v behind, OnClockBackwards allows %v", ErrClockBackwards, behind, g.policy.max)
	}
	overtaken := (g.last()+1)>>g.sequenceBits + 1
	return max(g.clock.Until(overtaken)+behind, time.Microsecond), nil
}

// checkJump returns an error if the wall clock is further ahead of logical time than
// WithMaxJump allows. Logical time follows a clock that is believed, so that no offset is
// left then.
func (g *Generator) checkJump(offset time.Duration) error {
	if offset <= g.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, g.maxJump, clock.Agreement)
}
