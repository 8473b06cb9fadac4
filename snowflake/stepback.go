package snowflake

import (
	"fmt"
	"math"
	"time"
)

// now is the tick up to which slots may be issued, and how long to wait for
// the wall clock before that; an error is the policy's refusal.
func (g *Generator) now(grant *Grant) (tick uint64, over time.Duration, err error) {
	if g.logical {
		return math.MaxUint64 >> g.sequenceBits, 0, nil
	}
	tick = g.observe(grant)
	if tick >= g.warnAt {
		g.warn()
	}
	over, err = g.verdict(grant)
	return tick, over, err
}

// observe reads the logical tick, and compares it with the wall clock if that
// has not been done in this tick.
func (g *Generator) observe(grant *Grant) uint64 {
	tick := g.clock.tickAt(g.clock.now())
	if !g.clock.due(tick) {
		return tick
	}
	if base, offset := g.clock.compare(); offset < 0 {
		g.heal(grant, base, offset)
	}
	return g.clock.tickAt(g.clock.now())
}

// heal takes a step back of the wall clock into logical time where the last
// slot lies before it, so that nothing can repeat. Another call may have read
// the old time and not issued yet. It read the state before the time, so it
// fails if the state is changed after the time, which burns one slot.
func (g *Generator) heal(grant *Grant, base int64, offset time.Duration) {
	last := grant.state.Load()
	wall := g.clock.tickAt(g.clock.now() + offset)
	if last == sealed || uint64(grant.tickOf(last+1)) >= wall || last+1 >= grant.limit.Load() {
		return
	}
	if !g.clock.base.CompareAndSwap(base, base+int64(offset)) {
		return
	}
	if !grant.state.CompareAndSwap(last, last+1) {
		g.clock.base.Add(-int64(offset))
		return
	}
	g.skipped.Add(1)
	g.clock.offset.Store(0)
}

// verdict is the policy's word on the last comparison: an error, or how long
// to wait for the wall clock, or zero to go on.
func (g *Generator) verdict(grant *Grant) (over time.Duration, err error) {
	offset := time.Duration(g.clock.offset.Load())
	behind := -offset
	switch {
	case offset > g.maxJump:
		return 0, fmt.Errorf("snowflake: the clock jumped %v ahead, more than WithMaxJump(%v): set it right, or allow the jump", offset, g.maxJump)
	case behind < g.layout.Tick:
		return 0, nil
	case behind > g.policy.max:
		return 0, fmt.Errorf("%w: it is %v behind, OnClockBackwards allows %v", ErrClockBackwards, behind, g.policy.max)
	case g.policy.wait:
		overtaken := uint64(grant.tickOf(grant.state.Load()+1)) + 1
		return max(g.clock.until(overtaken)+behind, time.Microsecond), nil
	}
	return 0, nil
}
