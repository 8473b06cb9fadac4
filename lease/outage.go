package lease

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Limits of the pause between attempts during an outage. After the first failure the pause
// is at most firstRetry. The limit doubles with each failure, up to lastRetry.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// An outage is a time in which the lease could not get a window, because the store
// failed or no worker was free.
type outage struct {
	attempts int       // failed attempts; zero if there is no outage
	since    time.Time // the first failure
	lastErr  error     // of the last attempt
	need     int64     // the last tick that the generator has asked for in vain, in Unix milliseconds
	lost     bool      // the worker is lost, and the lease has no other worker
	fenced   bool      // the window has ended, so that no ID is issued; this has been logged
}

// pause returns the time until the background's next attempt. Without an outage that is a
// third of the window. During an outage it is a random time, so that the processes do not
// call the store all at once. The time grows with each failure, up to lastRetry.
func (o outage) pause(c *config) time.Duration {
	if o.attempts == 0 {
		return c.window / 3
	}
	pause := min(lastRetry, firstRetry<<min(o.attempts-1, 10)) // a larger shift could overflow
	return pause/2 + time.Duration(c.random(int64(pause/2)))
}

// reason returns the error to give to a generator during the outage.
func (o outage) reason() error {
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.lastErr)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return err
}

// fencedError returns the error of a call that gets no grant because the window of the
// grant held has ended. why is the reason why there is no other window.
func fencedError(now int64, held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // a revoked grant ends where it stopped, not at its bound
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(now-end.UnixMilli())), stamp(end), why)
}
