package plugintest

import (
	"context"
	"sync"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A process may use a worker only once, so all tests share one generator.
var sharedGenerator = sync.OnceValues(func() (*snowflake.Generator, error) {
	return snowflake.New(snowflake.Static(3, 21))
})

// Counter is a generator with predictable IDs: 1001, 1002 and so on.
type Counter struct {
	mu    sync.Mutex
	Last  types.ID // the last ID returned
	Calls int      // of Fill
	Err   error    // that Fill returns, if it is not nil
}

// Fill implements gormflake.Generator.
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
	layout snowflake.Layout
}

// Layout returns the layout of the IDs.
func (c *LayoutCounter) Layout() snowflake.Layout { return c.layout }

// NewLayoutCounter returns a counter with Twitter's layout.
func NewLayoutCounter() *LayoutCounter {
	return &LayoutCounter{layout: snowflake.TwitterLayout()}
}

// made returns how many IDs a generator that began after start has returned.
func made(c *Counter, start types.ID) int {
	if c.Calls == 0 {
		return 0
	}
	return int(c.Last - start)
}

// failing returns left IDs and then fails. With skip it does not set the last
// element of each call.
type failing struct {
	Counter
	left int
	skip bool
}

func (f *failing) Fill(ctx context.Context, dst []types.ID) error {
	if f.left -= len(dst); f.left < 0 {
		return ErrInjected
	}
	if f.skip {
		dst = dst[:len(dst)-1]
	}
	return f.Counter.Fill(ctx, dst)
}
