package snowflake

import (
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/tsc"
)

// slowest is how long a count of the processor takes at most: the slowest ones
// make six counts in ten nanoseconds, the fastest six in one.
const slowest = 2 * time.Nanosecond

// A counter stands in for the clock, whose reading is most of what an ID costs.
// A reading of the clock tells how much is left of the open tick; as many counts
// as fit into that at their slowest may go by before the next one. Where counts
// are faster, that merely comes earlier than it had to.
type counter struct {
	usable bool
	start  uint64 // count when the generator's clock was started
}

// newCounter is not usable in a synctest bubble, whose time has no monotonic
// reading and has nothing to do with the processor's.
func newCounter(start time.Time) counter {
	monotonic := start != start.Round(0)
	return counter{usable: monotonic && tsc.Invariant(), start: tsc.Read()}
}

// keepsUp reports whether counts have taken no longer than slowest so far, on
// average: those of an emulated processor may take longer.
func (c *counter) keepsUp(count uint64, elapsed time.Duration) bool {
	return c.usable && int64(count-c.start) >= int64(elapsed/slowest)
}

// trusts reports whether the tick is open for certain at this count: below
// trust, and not too far below. A counter that was set back is trusted for too
// long, but not for longer than the clocks may go without being compared.
func (g *Grant) trusts(count uint64) bool {
	return g.trust.Load()-count-1 < uint64(maxPeriod/slowest)
}

// inTick reports whether the tick is open by the clock. The count was read before
// it: what goes by in between shortens the trust.
func (g *Grant) inTick(c *counter, count uint64, elapsed time.Duration) bool {
	left := time.Duration(g.closes.Load()) - elapsed
	if left <= 0 {
		return false
	}
	if c.keepsUp(count, elapsed) {
		g.trust.Store(count + uint64(left/slowest))
	}
	return true
}
