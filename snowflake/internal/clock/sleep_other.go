//go:build !linux

package clock

import "time"

// nanosleep sleeps for d by the runtime's timer, which may be about a millisecond late.
func nanosleep(d time.Duration) { time.Sleep(d) }
