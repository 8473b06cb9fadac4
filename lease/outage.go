package lease

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Pauses between attempts while the store fails or no worker is free.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// An outage is a time in which no window could be had: the store failed, or no
// worker was free.
type outage struct {
	attempts int // zero: there is none
	since    time.Time
	last     error
	need     int64 // the tick that the generator was refused last, in Unix milliseconds
	lost     bool  // the worker too
	fenced   bool  // and nothing is issued, which has been logged
}

// pause is the time until the next attempt: a third of the window, or a short while after a
// failure.
func (o outage) pause(c *config) time.Duration {
	if o.attempts == 0 {
		return c.window / 3
	}
	pause := min(lastRetry, firstRetry<<min(o.attempts-1, 10))
	return pause/2 + time.Duration(c.random(int64(pause/2)))
}

// reason is why a generator is refused during the outage.
func (o outage) reason() error {
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.last)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return err
}

// fencedError is the error of a call that has nothing to issue under.
func fencedError(now int64, held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // it was revoked
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(now-end.UnixMilli())), stamp(end), why)
}
