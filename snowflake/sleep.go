package snowflake

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// oversleep is how much later than asked a sleeper may wake.
	oversleep = 70 * time.Microsecond

	// yields bounds the yielding at a wait's end, for clocks that do not
	// move while a goroutine runs.
	yields = 2000

	// nap bounds one sleep: the wall clock may have stepped forward meanwhile.
	nap = 50 * time.Millisecond

	// poll is how often a clock that only its owner moves is looked at.
	poll = time.Millisecond
)

// An alarm wakes all who wait for a tick: one of them, the sentry, sleeps and
// watches the clock, the others sleep until it tells them. Each of them
// watching would cost as much CPU as spinning does.
type alarm struct {
	mu   sync.Mutex
	rung chan struct{} // closed by the sentry; nil while there is none
	due  time.Duration // when the sentry will ring, in elapsed time
}

// sleep lets the given time pass, or some of it. It returns an error when ctx
// ends first.
func (k *clock) sleep(ctx context.Context, left time.Duration) error {
	rung, sentry := k.standSentry(left)
	switch {
	case sentry:
		defer k.ring()
		return k.watch(ctx, left)
	case rung == nil:
		return k.watch(ctx, left)
	}
	select {
	case <-rung:
		return nil
	case <-ctx.Done():
		return waiting(ctx)
	}
}

// standSentry makes the caller the sentry, or returns the sentry's channel, or
// neither if the sentry will be late for the caller.
func (k *clock) standSentry(left time.Duration) (rung chan struct{}, sentry bool) {
	due := k.elapsed() + left
	k.alarm.mu.Lock()
	defer k.alarm.mu.Unlock()
	switch {
	case k.alarm.rung == nil:
		k.alarm.rung, k.alarm.due = make(chan struct{}), due
		return nil, true
	case k.alarm.due <= due+oversleep:
		return k.alarm.rung, false
	}
	return nil, false
}

func (k *clock) ring() {
	k.alarm.mu.Lock()
	defer k.alarm.mu.Unlock()
	close(k.alarm.rung)
	k.alarm.rung = nil
}

// watch is first asleep, then, for the last moment, in which a sleeper would
// be late, yields the CPU.
func (k *clock) watch(ctx context.Context, left time.Duration) error {
	switch {
	case k.scripted:
		return pause(ctx, min(left, poll))
	case left > poll+oversleep:
		return pause(ctx, min(left-poll, nap))
	case left > oversleep:
		return k.doze(ctx, left-oversleep)
	}
	end := time.Now().Add(left)
	for range yields {
		runtime.Gosched()
		if time.Until(end) <= 0 {
			return nil
		}
	}
	return pause(ctx, time.Until(end))
}

// doze sleeps for less than a millisecond or so. The runtime's own sleep is
// rounded up to milliseconds in programs that use the network.
func (k *clock) doze(ctx context.Context, d time.Duration) error {
	before := k.elapsed()
	if shortSleep(d); k.elapsed() == before {
		return pause(ctx, d) // the time of a test's bubble moves in its own sleeps only
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
		return waiting(ctx)
	}
}
