package lease

import (
	"context"
	"math"
	"time"
)

// call bounds one call of the store.
func (c *config) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(maxCall, max(c.window/3, maxCall/10)))
}

func (l *Lease) load(ctx context.Context) (map[int]Record, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	return l.store.Load(ctx)
}

func (l *Lease) swap(ctx context.Context, key int, old, next Record) (bool, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	return l.store.CompareAndSwap(ctx, key, old, next)
}

// bound is a window above from, rounded up to whole ticks, which the layout
// counts from the Unix epoch.
func (c *config) bound(from int64) int64 {
	tick := c.layout.Tick.Milliseconds()
	return ceil(from+(c.window+time.Millisecond-1).Milliseconds(), tick)
}

// ceil rounds up to a multiple of unit.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// milliseconds is the longest Duration, some 292 years, for what is longer: bounds
// and wrong clocks may be further apart.
func milliseconds(n int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-longest, min(n, longest))) * time.Millisecond
}
