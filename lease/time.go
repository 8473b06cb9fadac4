package lease

import (
	"context"
	"math"
	"time"
)

// milliseconds returns n milliseconds as a Duration, limited to its range of some 292
// years, because bounds and wrong clocks may be further apart than that.
func milliseconds(n int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-longest, min(n, longest))) * time.Millisecond
}

// ceil rounds n up to a multiple of unit, for example 21 to 30 if unit is 10.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// stamp formats a time for errors and logs, for example 2025-10-09T08:53:20.123Z.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// sleep waits for d and returns nil, or returns the cause of ctx if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
