package clock

import (
	"context"
	"runtime"
	"time"
)

const (
	// oversleep is how much too late a sleeper may wake up.
	oversleep = 70 * time.Microsecond

	// maxYields limits the yielding at the end of a wait, for clocks that do not move
	// while a goroutine runs.
	maxYields = 2000

	// maxSleep limits one sleep, because the wall clock may step forward during it.
	maxSleep = 50 * time.Millisecond

	// poll is how often a scripted clock is read.
	poll = time.Millisecond
)

// Sleep waits for the remaining time or less. It returns an error if ctx ends first.
func (c *Clock) Sleep(ctx context.Context, remaining time.Duration) error {
	done, leader := c.lead(remaining)
	switch {
	case leader:
		defer c.broadcast()
		return c.waitAlone(ctx, remaining)
	case done == nil: // the leader would be too late
		return c.waitAlone(ctx, remaining)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lead makes the caller the leader of the callers that wait for a tick, or returns done, the
// channel that the leader will close. If the leader will be too late for the caller, lead
// returns neither, and the caller waits alone. See wakeup.
func (c *Clock) lead(remaining time.Duration) (done chan struct{}, leader bool) {
	due := c.elapsed() + remaining
	c.wakeup.mu.Lock()
	defer c.wakeup.mu.Unlock()
	switch {
	case c.wakeup.done == nil:
		c.wakeup.done, c.wakeup.due = make(chan struct{}), due
		return nil, true
	case c.wakeup.due <= due+oversleep:
		return c.wakeup.done, false
	}
	return nil, false
}

// broadcast ends the caller's time as the leader, and wakes the callers that wait for it.
func (c *Clock) broadcast() {
	c.wakeup.mu.Lock()
	defer c.wakeup.mu.Unlock()
	close(c.wakeup.done)
	c.wakeup.done = nil
}

// waitAlone waits for the remaining time or less. It sleeps in steps, and yields the CPU for
// the last moment, because a sleeper would wake up too late. maxYields limits that, because
// in a synctest bubble the time only moves while the goroutine sleeps.
func (c *Clock) waitAlone(ctx context.Context, remaining time.Duration) error {
	switch {
	case c.Scripted: // a test may move the clock at any time
		return pause(ctx, min(remaining, poll))
	case remaining > poll+oversleep: // the runtime's timer may be a millisecond late
		return pause(ctx, min(remaining-poll, maxSleep))
	case remaining > oversleep:
		return c.shortSleep(ctx, remaining-oversleep)
	}
	end := time.Now().Add(remaining)
	for range maxYields {
		runtime.Gosched()
		if time.Until(end) <= 0 {
			return nil
		}
	}
	return pause(ctx, time.Until(end))
}

// shortSleep sleeps for less than about a millisecond. It does not use the runtime's
// sleep, which is rounded up to milliseconds in programs that use the network.
func (c *Clock) shortSleep(ctx context.Context, d time.Duration) error {
	before := c.elapsed()
	if nanosleep(d); c.elapsed() == before {
		return pause(ctx, d) // in a synctest bubble time moves only in the bubble's own sleeps
	}
	return nil
}

// pause sleeps for d by the runtime's timer, or returns an error if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Done() == nil { // no need for a timer of our own
		time.Sleep(d)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
