package clock

import (
	"context"
	"runtime"
	"time"
)

const (
	// oversleep is how much later than asked for a sleeping goroutine may wake up.
	oversleep = 70 * time.Microsecond

	// maxYields limits how often a wait yields the CPU at its end, because the clock of a
	// synctest bubble does not move while a goroutine runs.
	maxYields = 2000

	// maxSleep limits one sleep, because the wall clock may step forward during it.
	maxSleep = 50 * time.Millisecond

	// poll is the interval at which a scripted clock is read, because a test may move it at any
	// time. It is also how late the runtime's timer may be.
	poll = time.Millisecond
)

// Sleep waits for the remaining time or less, so the caller reads the clock again afterwards. It
// returns an error if ctx ends first. Of the callers that wait at the same time, one, the leader,
// waits by the clock and then wakes the others; see wakeup.
func (c *Clock) Sleep(ctx context.Context, remaining time.Duration) error {
	done, leader := c.leadOrJoin(remaining)
	switch {
	case leader:
		defer c.broadcast()
		return c.waitAlone(ctx, remaining)
	case done == nil: // the leader would wake this caller too late
		return c.waitAlone(ctx, remaining)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leadOrJoin makes the caller the leader if there is none. Otherwise it returns done, the channel
// that the leader will close when its own wait is over. If that will be too late for the caller,
// leadOrJoin returns nil and false, and the caller waits alone. See wakeup.
func (c *Clock) leadOrJoin(remaining time.Duration) (done chan struct{}, leader bool) {
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

// waitAlone waits for the remaining time or less. It sleeps by the runtime's timer if more than
// about a millisecond remains, and otherwise by the more precise shortSleep. Both sleeps end
// too early rather than too late, so the caller then reads the clock and calls again. For the
// last 70 µs waitAlone does not sleep, because it would wake up too late, but yields the CPU
// until the time has come. maxYields limits the yields, because in a synctest bubble the time
// only moves while the goroutine sleeps.
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

// shortSleep sleeps for d, less than about a millisecond, and does not end when ctx ends. It does
// not use the runtime's sleep, which is rounded up to milliseconds in programs that use the
// network.
func (c *Clock) shortSleep(ctx context.Context, d time.Duration) error {
	before := c.elapsed()
	if nanosleep(d); c.elapsed() == before {
		return pause(ctx, d) // in a synctest bubble, where time moves only in the runtime's sleeps
	}
	return nil
}

// pause sleeps for d by the runtime's timer, or returns an error if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Done() == nil { // ctx never ends, so no timer is needed
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
