package snowflake

import (
	"context"
	"runtime"
	"time"
)

const (
	// oversleep is how much later than asked a sleeper may wake.
	oversleep = 120 * time.Microsecond

	// yields bounds the yielding at a wait's end, for clocks that do not
	// move while a goroutine runs.
	yields = 2000

	// nap bounds one sleep: the wall clock may have stepped forward meanwhile.
	nap = 50 * time.Millisecond

	// poll is how often a clock that only its owner moves is looked at.
	poll = time.Millisecond
)

// sleep lets the given time pass, or some of it: first asleep, then, for the
// last moment, in which a sleeper would be late, yielding the CPU. It returns
// an error when ctx ends first.
func (k *clock) sleep(ctx context.Context, left time.Duration) error {
	switch {
	case k.scripted:
		return pause(ctx, min(left, poll))
	case left > oversleep:
		return pause(ctx, min(left-oversleep, nap))
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
