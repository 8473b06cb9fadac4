package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// allowed is the moment up to which slots may be issued, and how long to wait
// for the wall clock before that; an error is the policy's refusal.
func (g *Generator) allowed(grant *Grant) (now clock.Moment, over time.Duration, err error) {
	if g.logical {
		g.heed(uint64(grant.tickOf(grant.last())))
		return clock.Moment{Logical: math.MaxInt64}, 0, nil
	}
	now = g.observe(grant)
	g.heed(g.clock.TickAt(now.Logical))
	over, err = g.verdict(grant)
	return now, over, err
}

// observe reads the clock, and compares it with the wall clock if that is
// due and no other call is at it: then what is there will do.
func (g *Generator) observe(grant *Grant) clock.Moment {
	now := g.clock.Now()
	if !g.clock.Due(now) || !g.clock.TryLock() {
		return now
	}
	g.compare(grant)
	g.clock.Unlock()
	return g.clock.Now()
}

// wall is the time of the wall clock, compared now, unless it is not believed.
func (g *Generator) wall(grant *Grant) (time.Time, error) {
	g.clock.Lock()
	defer g.clock.Unlock()
	wall := g.compare(grant)
	if err := g.jumped(); err != nil {
		return time.Time{}, err
	}
	return wall, nil
}

// compare returns the wall clock's time. The caller holds the clock's comparing.
func (g *Generator) compare(grant *Grant) time.Time {
	wall, offset := g.clock.Compare()
	if offset < 0 {
		g.heal(grant, offset)
	}
	return wall
}

// heal takes a step back of the wall clock into logical time where the last
// slot lies before it, so that nothing can repeat. Another call may have read
// the old time and not issued yet. It read the state before the time, so it
// fails if the state is changed after the time, which burns one slot. At the
// window's end there is none to burn, and none for that call to take. A grant
// that has been replaced does not have the last slot.
func (g *Generator) heal(grant *Grant, offset time.Duration) {
	last := grant.last()
	wall := g.clock.TickAt(g.clock.Now().Logical + offset)
	if grant.retired.Load() || uint64(grant.tickOf(last+1)) >= wall {
		return
	}
	g.clock.Follow(offset, func() bool {
		return last+1 >= grant.limit.Load() || g.burn(grant, last)
	})
}

// burn passes over the slot after the last one, unless that has been taken.
func (g *Generator) burn(grant *Grant, last slot) bool {
	g.skipped.Add(1)
	if grant.advance(last, last+1) {
		return true
	}
	g.skipped.Add(-1)
	return false
}

// jumped is the error of a wall clock that was not believed when last compared.
func (g *Generator) jumped() error {
	offset := g.clock.Offset()
	if offset <= g.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, g.maxJump, clock.Agreement)
}

// verdict is the policy's word on the last comparison: an error, or how long
// to wait for the wall clock, or zero to go on.
func (g *Generator) verdict(grant *Grant) (over time.Duration, err error) {
	if err := g.jumped(); err != nil {
		return 0, err
	}
	behind := -g.clock.Offset()
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
