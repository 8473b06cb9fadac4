package clock

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// oversleep is how much later than asked a sleeper may wake.
	oversleep = 70 * time.Microsecond

	// maxYields bounds the yielding at a wait's end, for clocks that do not
	// move while a goroutine runs.
	maxYields = 2000

	// maxSleep bounds one sleep: the wall clock may step forward during it.
	maxSleep = 50 * time.Millisecond

	// poll is how often a scripted clock is read.
	poll = time.Millisecond
)

// A wakeup wakes all who wait for a tick. One of them, the leader, sleeps and
// reads the clock, and the others sleep until it broadcasts: if each of them read
// the clock, they would cost as much CPU as spinning does.
type wakeup struct {
	mu   sync.Mutex
	done chan struct{} // closed by the leader; nil while there is none
	due  time.Duration // when the leader will broadcast, in elapsed time
}

// Sleep lets the given time pass, or some of it. It returns an error when ctx
// ends first.
func (c *Clock) Sleep(ctx context.Context, left time.Duration) error {
	done, leader := c.lead(left)
	switch {
	case leader:
		defer c.broadcast()
		return c.waitUntil(ctx, left)
	case done == nil:
		return c.waitUntil(ctx, left)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lead makes the caller the leader, or returns the leader's channel, or neither
// if the leader will be late for the caller.
func (c *Clock) lead(left time.Duration) (done chan struct{}, leader bool) {
	due := c.elapsed() + left
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

func (c *Clock) broadcast() {
	c.wakeup.mu.Lock()
	defer c.wakeup.mu.Unlock()
	close(c.wakeup.done)
	c.wakeup.done = nil
}

// waitUntil first sleeps, then yields the CPU for the last moment, in which a
// sleeper would be late.
func (c *Clock) waitUntil(ctx context.Context, left time.Duration) error {
	switch {
	case c.Scripted:
		return pause(ctx, min(left, poll))
	case left > poll+oversleep:
		return pause(ctx, min(left-poll, maxSleep))
	case left > oversleep:
		return c.shortSleep(ctx, left-oversleep)
	}
	end := time.Now().Add(left)
	for range maxYields {
		runtime.Gosched()
		if time.Until(end) <= 0 {
			return nil
		}
	}
	return pause(ctx, time.Until(end))
}

// shortSleep sleeps for less than about a millisecond. The runtime's own sleep is
// rounded up to milliseconds in programs that use the network.
func (c *Clock) shortSleep(ctx context.Context, d time.Duration) error {
	before := c.elapsed()
	if nanosleep(d); c.elapsed() == before {
		return pause(ctx, d) // in a synctest bubble time moves only in the bubble's own sleeps
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	if ctx.Done() == nil {
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
