package snowflake

import (
	"fmt"
	"math"
	"time"
)

// allowed is the moment up to which slots may be issued, and how long to wait
// for the wall clock before that; an error is the policy's refusal.
func (g *Generator) allowed(grant *Grant) (now moment, over time.Duration, err error) {
	if g.logical {
		g.heed(uint64(grant.tickOf(grant.last())))
		return moment{logical: math.MaxInt64}, 0, nil
	}
	now = g.observe(grant)
	g.heed(g.clock.tickAt(now.logical))
	over, err = g.verdict(grant)
	return now, over, err
}

// observe reads the clock, and compares it with the wall clock if that is
// due and no other call is at it: then what is there will do.
func (g *Generator) observe(grant *Grant) moment {
	now := g.clock.moment()
	if !g.clock.due(now.logical) || !g.clock.comparing.TryLock() {
		return now
	}
	g.compare(grant)
	g.clock.comparing.Unlock()
	return g.clock.moment()
}

// wall is the time of the wall clock, compared now, unless it is not believed.
func (g *Generator) wall(grant *Grant) (time.Time, error) {
	g.clock.comparing.Lock()
	defer g.clock.comparing.Unlock()
	wall := g.compare(grant)
	if err := g.clock.jumped(); err != nil {
		return time.Time{}, err
	}
	return wall, nil
}

// compare returns the wall clock's time. The caller holds the clock's comparing.
func (g *Generator) compare(grant *Grant) time.Time {
	wall, offset := g.clock.compare()
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
	wall := g.clock.tickAt(g.clock.now() + offset)
	if grant.retired.Load() || uint64(grant.tickOf(last+1)) >= wall {
		return
	}
	g.clock.base.Add(int64(offset))
	if last+1 < grant.limit.Load() && !g.burn(grant, last) {
		g.clock.base.Add(-int64(offset))
		return
	}
	g.clock.offset.Store(0)
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

// verdict is the policy's word on the last comparison: an error, or how long
// to wait for the wall clock, or zero to go on.
func (g *Generator) verdict(grant *Grant) (over time.Duration, err error) {
	if err := g.clock.jumped(); err != nil {
		return 0, err
	}
	behind := -time.Duration(g.clock.offset.Load())
	switch {
	case behind < g.layout.Tick:
		return 0, nil
	case behind > g.policy.max:
		return 0, fmt.Errorf("%w: it is %v behind, OnClockBackwards allows %v", ErrClockBackwards, behind, g.policy.max)
	case g.policy.wait:
		overtaken := uint64(grant.tickOf(grant.last()+1)) + 1
		return max(g.clock.until(overtaken)+behind, time.Microsecond), nil
	}
	return 0, nil
}
