package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// now returns the moment up to which slots may be issued, and how long to wait
// for the wall clock before that. It fails where the clock policy does.
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

// observe reads the clock. It compares it with the wall clock if the last comparison is
// no longer trusted, unless another call is doing that.
func (g *Generator) observe() clock.Moment {
	at := g.clock.Now()
	if !g.clock.Due(at) || !g.clock.TryLock() {
		return at
	}
	g.compare()
	g.clock.Unlock()
	return g.clock.Now()
}

// wall returns the wall clock's time, compared now, unless it is not believed.
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
// lets IDs be issued, it has the comparison trusted for a while, in which calls of Next
// do not apply the policy again. The caller has locked the clock.
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

// absorbStepBack moves logical time back with the wall clock where the last slot
// lies before both, so that nothing can repeat, and returns the offset that is left.
// Another call may have read the old time and not issued yet. It read the state before
// the time, so it fails if the state changes after the time, which burns one slot. At
// the window's end there is no slot to burn, and none for that call to take. While a
// grant is being replaced there is no slot to burn either. The caller has locked the
// clock.
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

// burn skips the slot after the last one, unless that has been taken.
func (g *Generator) burn(grant *Grant, last slot) bool {
	g.skipped.Add(1)
	if g.advance(grant, last, last+1) {
		return true
	}
	g.skipped.Add(-1)
	return false
}

// ignores reports whether IDs are issued, without a wait, while the wall clock is behind
// by so much.
func (g *Generator) ignores(behind time.Duration) bool {
	return behind < g.layout.Tick || behind <= g.policy.max && !g.policy.wait
}

// applyPolicy applies the clock policy to the last comparison: an error, how long
// to wait for the wall clock, or zero to continue.
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

// checkJump fails for a wall clock that was not believed when last compared.
func (g *Generator) checkJump(offset time.Duration) error {
	if offset <= g.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, g.maxJump, clock.Agreement)
}
