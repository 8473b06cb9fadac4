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
	need     int64     // the last tick that the generator has asked for in vain, in Unix milliseconds; 0 if none
	lost     bool      // the worker is lost, and the lease has no other worker
	fenced   bool      // the window has ended, so that no ID is issued; this has been logged
}

// pause returns the time until the next attempt of renewLoop. Without an outage that is a
// third of the window. During an outage it is a random time between half a limit and the
// limit, so that the processes do not call the store all at once. The limit is firstRetry
// after the first failure, and doubles with each failure, up to lastRetry.
func (o outage) pause(c *config) time.Duration {
	if o.attempts == 0 {
		return c.window / 3
	}
	limit := min(lastRetry, firstRetry<<min(o.attempts-1, 10)) // a larger shift could overflow
	return limit/2 + time.Duration(c.random(int64(limit/2)))
}

// reason returns the error that a generator gets during the outage. It wraps the error of the
// last attempt, and [ErrLost] if the worker is lost.
func (o outage) reason() error {
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.lastErr)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return err
}

// fencedError returns the error of a call that gets no grant. why is the reason why the lease
// has no window for the call. held is the grant under which the generator has issued, and
// whose window has ended, or nil if the generator has no grant yet. If held is not nil, the
// error names the worker, the end of its window, and how long ago that was at now. now is in
// Unix milliseconds.
func fencedError(now int64, held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // the grant was revoked: Until is then its start, so report where it stopped
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(now-end.UnixMilli())), stamp(end), why)
}
