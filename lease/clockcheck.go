package lease

import (
	"fmt"
	"time"
)

// maxJump bounds a step forward of the wall clock: longer than a suspended
// machine sleeps. One wrong reading could otherwise push a bound decades ahead,
// which nothing can take back.
const maxJump = 30 * 24 * time.Hour

// clockCheck compares the wall clock with the monotonic one.
type clockCheck struct {
	wall int64 // in Unix milliseconds, at the last reading that passed
	at   time.Time
}

// read returns now unless it is too far ahead of the last reading.
func (c *clockCheck) read(now int64) (int64, error) {
	at := time.Now()
	ahead := milliseconds(now - c.wall - at.Sub(c.at).Milliseconds())
	if !c.at.IsZero() && ahead > maxJump {
		return 0, fmt.Errorf("the clock is %v ahead of where it was a moment ago, at most %v is believed: correct it, or start anew if it is right", ahead, maxJump)
	}
	c.wall, c.at = now, at
	return now, nil
}
