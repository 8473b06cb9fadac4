package lease

import (
	"context"
	"math"
	"time"
)

// milliseconds is n milliseconds, or the longest Duration if they are more than that,
// some 292 years: bounds and wrong clocks may be further apart.
func milliseconds(n int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-longest, min(n, longest))) * time.Millisecond
}

// ceil rounds up to a multiple of unit.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// stamp is a time as errors show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
