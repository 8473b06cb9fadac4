package clock

import "time"

// Invariant reports whether the processor's counter can be used.
func Invariant() bool { return invariant() }

// AfterCount asks a tick that is open up to a count.
func AfterCount(until, count uint64) bool {
	var e TickEnd
	e.trustedUntil.Store(until)
	return e.AfterCount(count)
}

// KeepsUp asks a usable counter that began at a count.
func KeepsUp(start, count uint64, elapsed time.Duration) bool {
	c := Counter{usable: true, start: start}
	return c.keepsUp(count, elapsed)
}

// AfterTime reads the clock, a second after the start, in a tick of which so much
// is left, and returns the trust that this earns.
func AfterTime(start, count uint64, left time.Duration) (trust uint64, open bool) {
	var e TickEnd
	e.elapsed.Store(int64(time.Second + left))
	open = e.AfterTime(time.Second, &Counter{usable: true, start: start}, count)
	return e.trustedUntil.Load(), open
}

// AfterSet opens another tick, and returns the trust that is left.
func AfterSet(trust uint64) uint64 {
	var e TickEnd
	e.trustedUntil.Store(trust)
	e.Set(0)
	return e.trustedUntil.Load()
}

// Elapsed returns the elapsed time at a logical time.
func (c *Clock) Elapsed(logical time.Duration) time.Duration {
	return logical - time.Duration(c.base.Load())
}
