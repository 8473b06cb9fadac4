package clock

import (
	"sync/atomic"
	"time"
)

// slowest is the longest time that a count of the processor takes: the slowest
// processors make six counts in ten nanoseconds, the fastest six in one.
const slowest = 2 * time.Nanosecond

// A Counter is the processor's counter since a clock was started.
type Counter struct {
	usable bool
	start  uint64
}

// NewCounter returns the counter for a clock that was started at start. It is not
// usable in a synctest bubble, whose time has no monotonic reading and has nothing
// to do with the processor's.
func NewCounter(start time.Time) Counter {
	monotonic := start != start.Round(0)
	return Counter{usable: monotonic && invariant(), start: Count()}
}

// keepsUp reports whether counts have taken no longer than slowest so far, on
// average: an emulated processor may take longer.
func (c *Counter) keepsUp(count uint64, elapsed time.Duration) bool {
	return c.usable && int64(count-c.start) >= int64(elapsed/slowest)
}

// A TickEnd is when the open tick ends and the clocks are to be compared again.
// Its methods may be called concurrently. The zero TickEnd has passed.
type TickEnd struct {
	elapsed      atomic.Int64
	trustedUntil atomic.Uint64 // below this count the end has not come yet; or Idle, or Busy
}

// Trust that tells nothing of the end of a tick.
const (
	Idle = 0       // the tick has had one call: the next one is likely to come after its end
	Busy = 1 << 63 // it has had more, and the clock has to be read
)

// Open opens a tick for some time from the moment on, at the first call in it or
// at a later one.
func (e *TickEnd) Open(at Moment, left time.Duration, first bool) {
	e.elapsed.Store(int64(at.elapsed + left))
	trust := uint64(Busy) // what there is was earned with the old end
	if first {
		trust = Idle
	}
	e.trustedUntil.Store(trust)
}

// Trust returns the trust in the counter, and the processor's count to hold
// against it. In a tick that has had only one call both are zero, which is read
// sooner than the counter.
func (e *TickEnd) Trust() (until, count uint64) {
	if until = e.trustedUntil.Load(); until == Idle {
		return 0, 0
	}
	return until, Count()
}

// CertainlyOpen reports whether the end has certainly not come at this count: the
// count is below the trust, and not too far below. A counter that was set back
// is trusted for too long, but not for longer than the clocks may go without
// being compared.
func CertainlyOpen(until, count uint64) bool { return until-count-1 < uint64(maxPeriod/slowest) }

// StillOpen reports whether the end has not come by the clock, and if so renews
// the trust in the counter. The count was read before the elapsed time: what
// passes in between shortens the trust.
func (e *TickEnd) StillOpen(elapsed time.Duration, c *Counter, count uint64) bool {
	left := time.Duration(e.elapsed.Load()) - elapsed
	if left > 0 && c.keepsUp(count, elapsed) {
		e.trustedUntil.Store(count + uint64(left/slowest))
	}
	return left > 0
}
