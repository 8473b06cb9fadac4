package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// now returns the moment up to which slots may be issued, and how long to wait
// for the wall clock before that. It fails where the clock policy does.
func (g *Generator) now(grant *Grant) (at clock.Moment, catchUp time.Duration, err error) {
	if g.logical {
		g.warnBeforeExpiry(uint64(grant.tickOf(grant.last())))
		return clock.Moment{Logical: math.MaxInt64}, 0, nil
	}
	at = g.observe(grant)
	g.warnBeforeExpiry(g.clock.TickAt(at.Logical))
	catchUp, err = g.applyPolicy(grant)
	return at, catchUp, err
}

// observe reads the clock, and compares it with the wall clock if that is due
// and no other call is doing it: otherwise the last comparison will do.
func (g *Generator) observe(grant *Grant) clock.Moment {
	at := g.clock.Now()
	if !g.clock.Due(at) || !g.clock.TryLock() {
		return at
	}
	g.compare(grant)
	g.clock.Unlock()
	return g.clock.Now()
}

// wall returns the wall clock's time, compared now, unless it is not believed.
func (g *Generator) wall(grant *Grant) (time.Time, error) {
	g.clock.Lock()
	defer g.clock.Unlock()
	wall := g.compare(grant)
	if err := g.checkJump(g.clock.Offset()); err != nil {
		return time.Time{}, err
	}
	return wall, nil
}

// compare returns the wall clock's time. The caller has locked the clock.
func (g *Generator) compare(grant *Grant) time.Time {
	wall, offset := g.clock.Compare()
	if offset < 0 {
		g.absorbStepBack(grant, offset)
	}
	return wall
}

// absorbStepBack moves logical time back with the wall clock where the last slot
// lies before both, so that nothing can repeat. Another call may have read the
// old time and not issued yet. It read the state before the time, so it fails if
// the state changes after the time, which burns one slot. At the window's end
// there is no slot to burn, and none for that call to take. A grant that has been
// replaced does not have the last slot.
func (g *Generator) absorbStepBack(grant *Grant, offset time.Duration) {
	last := grant.last()
	wall := g.clock.TickAt(g.clock.Now().Logical + offset)
	if grant.retired.Load() || uint64(grant.tickOf(last+1)) >= wall {
		return
	}
	g.clock.Follow(offset, func() bool {
		return last+1 >= grant.limit.Load() || g.burn(grant, last)
	})
}

// burn skips the slot after the last one, unless that has been taken.
func (g *Generator) burn(grant *Grant, last slot) bool {
	g.skipped.Add(1)
	if grant.advance(last, last+1) {
		return true
	}
	g.skipped.Add(-1)
	return false
}

// applyPolicy applies the clock policy to the last comparison: an error, how long
// to wait for the wall clock, or zero to continue.
func (g *Generator) applyPolicy(grant *Grant) (catchUp time.Duration, err error) {
	offset := g.clock.Offset()
	if err := g.checkJump(offset); err != nil {
		return 0, err
	}
	behind := -offset
	switch {
	case behind < g.layout.Tick:
		return 0, nil
	case behind > g.policy.max:
		return 0, fmt.Errorf("%w: it is %v behind, OnClockBackwards allows %v", ErrClockBackwards, behind, g.policy.max)
	case g.policy.wait:
		overtaken := uint64(grant.tickOf(grant.last()+1)) + 1
		return max(g.clock.Until(overtaken)+behind, time.Microsecond), nil
	}
	return 0, nil
}

// checkJump fails for a wall clock that was not believed when last compared.
func (g *Generator) checkJump(offset time.Duration) error {
	if offset <= g.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, g.maxJump, clock.Agreement)
}
