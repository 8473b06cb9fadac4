package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Saturate asks on all connections at once for about d, each as soon as it has
// its last answer, and returns the requests per second.
func Saturate(ctx context.Context, t Target, connections int, d time.Duration) (perSecond float64, err error) {
	clients, err := t.connectAll(ctx, connections)
	if err != nil {
		return 0, err
	}
	defer closeAll(clients)
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	for _, c := range clients {
		wg.Go(func() {
			for time.Since(start) < d && failure.Load() == nil {
				if err := c.ask(); err != nil {
					failure.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}

func (t Target) connectAll(ctx context.Context, n int) ([]*client, error) {
	var clients []*client
	for range n {
		c, err := t.connect(ctx)
		if err != nil {
			closeAll(clients)
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(clients []*client) {
	for _, c := range clients {
		_ = c.conn.Close()
	}
}
