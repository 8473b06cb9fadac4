package load

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Latencies are those of all requests of a run, in rising order.
type Latencies []time.Duration

// Quantile is the latency that the share q of the requests, between 0 and 1,
// did not exceed.
func (l Latencies) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// Arrive sends rate requests per second for d, whatever the service does, and
// counts the time of each from the moment at which it was to be sent: one that
// waits behind a slow one has been waiting too.
func Arrive(ctx context.Context, t Target, connections, rate int, d time.Duration) (Latencies, error) {
	clients, err := t.connectAll(ctx, connections)
	if err != nil {
		return nil, err
	}
	defer closeAll(clients)
	total := int(d.Seconds() * float64(rate))
	intended := make(chan time.Time, total)
	latencies := make(Latencies, total)
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			for at := range intended {
				if err := c.ask(); err != nil {
					failure.Store(&err)
					return
				}
				latencies[next.Add(1)-1] = time.Since(at)
			}
		})
	}
	schedule(intended, total, time.Second/time.Duration(rate))
	wg.Wait()
	if err := failure.Load(); err != nil {
		return nil, *err
	}
	slices.Sort(latencies)
	return latencies, nil
}

// schedule keeps a thread to itself: the timers of the runtime are up to a
// millisecond late on a machine that idles.
func schedule(intended chan<- time.Time, total int, interval time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for i := range total {
		at := start.Add(time.Duration(i) * interval)
		for wait := time.Until(at); wait > 0; wait = time.Until(at) {
			shortSleep(wait)
		}
		intended <- at
	}
	close(intended)
}
