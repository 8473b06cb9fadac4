package workers

import (
	"context"
	"time"
)

// A waiter waits for a duration, or until ctx ends, whose cause it then returns.
type waiter func(ctx context.Context, d time.Duration) error

func waiterOf(wait func(context.Context, time.Duration) error) waiter {
	if wait != nil {
		return wait
	}
	return pause
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
