package plugintest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// SharedGenerator returns the generator that all tests of a process share, because a process
// can have only one live generator for a fixed worker.
var SharedGenerator = sync.OnceValues(func() (*snowflake.Generator, error) {
	return snowflake.New(snowflake.Static(3, 21), snowflake.WithLayout(snowflake.TwitterLayout()))
})

// Counter is a generator with predictable IDs: 1001, 1002 and so on.
type Counter struct {
	mu    sync.Mutex
	Last  types.ID // the last ID returned
	Calls int      // number of calls of Fill
	Err   error    // error that Fill returns, if it is not nil
}

// Fill sets dst to the next IDs, or returns Err.
func (c *Counter) Fill(_ context.Context, dst []types.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Calls++
	if c.Err != nil {
		return c.Err
	}
	for i := range dst {
		c.Last = max(c.Last, 1000) + 1
		dst[i] = c.Last
	}
	return nil
}

// LayoutCounter is a [Counter] with a layout.
type LayoutCounter struct {
	Counter
	IDLayout snowflake.Layout
}

// Layout returns the layout of the IDs.
func (c *LayoutCounter) Layout() snowflake.Layout { return c.IDLayout }

// NewLayoutCounter returns a counter with Twitter's layout.
func NewLayoutCounter() *LayoutCounter {
	return &LayoutCounter{IDLayout: snowflake.TwitterLayout()}
}

// Made returns the number of IDs that a counter has returned. Its first ID was start + 1.
func Made(c *Counter, start types.ID) int {
	if c.Calls == 0 {
		return 0
	}
	return int(c.Last - start)
}

// Failing returns Left IDs and then fails. If Skip is set, it is a generator with a mistake,
// which leaves the last element of each block as it is.
type Failing struct {
	Counter
	Left int
	Skip bool
}

// Fill sets dst to the next IDs. If fewer than len(dst) are left, it returns ErrInjected, and so
// does every later call that needs an ID.
func (f *Failing) Fill(ctx context.Context, dst []types.ID) error {
	if f.Left -= len(dst); f.Left < 0 {
		return ErrInjected
	}
	if f.Skip {
		dst = dst[:len(dst)-1]
	}
	return f.Counter.Fill(ctx, dst)
}

// Block generates IDs as cheaply as possible, so that benchmarks measure only the plugin.
type Block struct{ Last atomic.Int64 }

// Fill sets dst to the next IDs.
func (b *Block) Fill(_ context.Context, dst []types.ID) error {
	end := b.Last.Add(int64(len(dst)))
	for i := range dst {
		dst[i] = types.ID(end - int64(len(dst)-i) + 1)
	}
	return nil
}
