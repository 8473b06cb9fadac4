package clock

import "time"

// Invariant reports whether the processor's counter can be used.
func Invariant() bool { return invariant() }

// KeepsUp asks a usable counter that began at a count.
func KeepsUp(start, count uint64, elapsed time.Duration) bool {
	c := Counter{usable: true, start: start}
	return c.keepsUp(count, elapsed)
}

// StillOpen reads the clock, a second after the start, in a tick of which so much is
// left, and returns the trust that this earns.
func StillOpen(start, count uint64, left time.Duration) (trust uint64, open bool) {
	var e TickEnd
	e.elapsed.Store(int64(time.Second + left))
	open = e.StillOpen(time.Second, &Counter{usable: true, start: start}, count)
	return e.trustedUntil.Load(), open
}

// Reopened opens a tick in which there is trust, and returns what is left of it.
func Reopened(trust uint64, first bool) (until, count uint64) {
	var e TickEnd
	e.trustedUntil.Store(trust)
	e.Open(Moment{}, time.Millisecond, first)
	return e.Trust()
}

// Elapsed returns the elapsed time at a logical time.
func (c *Clock) Elapsed(logical time.Duration) time.Duration {
	return logical - time.Duration(c.base.Load())
}
