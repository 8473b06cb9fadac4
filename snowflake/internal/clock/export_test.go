package clock

import "time"

// Elapsed returns the elapsed time at a logical time.
func (c *Clock) Elapsed(logical time.Duration) time.Duration {
	return logical - time.Duration(c.base.Load())
}
