package main

import (
	"context"
	"sync"
	"time"

	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/lease"
)

// watch measures the writes of all leases, since it was created or reset.
type watch struct {
	mu      sync.Mutex
	began   time.Time
	writes  []float64     // the time of each write in milliseconds
	waits   []float64     // the milliseconds of each use of a connection, from the request for it until it is returned
	seconds map[int64]int // the number of successful writes in each second since began
	refused int           // writes that found another record than they expected
	failed  int           // writes with an error
}

// newWatch returns a watch without writes, which begins now.
func newWatch() *watch { return &watch{began: time.Now(), seconds: map[int64]int{}} }

// since returns the milliseconds since t.
func since(t time.Time) float64 { return float64(time.Since(t)) / float64(time.Millisecond) }

// wrote counts a write that began at the given time and ends now. ok and err are the results of
// its CompareAndSwap.
func (w *watch) wrote(began time.Time, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, since(began))
	switch {
	case err != nil:
		w.failed++
	case !ok:
		w.refused++
	default:
		w.seconds[int64(time.Since(w.began)/time.Second)]++
	}
}

// waited counts a use of a connection that was requested at the given time and is returned now.
func (w *watch) waited(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, since(began))
}

// reset returns the figures of the writes since the last reset, and starts again.
func (w *watch) reset() figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := figures{Seconds: time.Since(w.began).Seconds(), Writes: len(w.writes), Refused: w.refused, Failed: w.failed}
	f.P50, f.P99, f.Max = quantiles(w.writes)
	f.TotalP50, f.TotalP99, f.TotalMax = quantiles(w.waits)
	f.PerSecond = float64(f.Writes-f.Refused-f.Failed) / f.Seconds
	for _, n := range w.seconds {
		f.Peak = max(f.Peak, n)
	}
	w.began, w.writes, w.waits, w.seconds, w.refused, w.failed = time.Now(), nil, nil, map[int64]int{}, 0, 0
	return f
}

// quantiles returns the median, the 99th percentile and the maximum, or zeros if there are
// no numbers.
func quantiles(xs []float64) (p50, p99, maximum float64) {
	if len(xs) == 0 {
		return 0, 0, 0
	}
	return stats.Quantile(xs, 0.5), stats.Quantile(xs, 0.99), stats.Quantile(xs, 1)
}

// sqlStore is a store of sqllease for a database with a clock. A lease finds out by such
// interfaces what its store can do, so watchedStore has to implement them too. A store of
// sqllease also implements Connector and Queue, which watchedStore implements by methods.
type sqlStore interface {
	lease.Store
	lease.Clock
	lease.Getter
}

// watchedStore is a store that measures its writes. All leases share its pool of connections.
type watchedStore struct {
	sqlStore
	watch *watch
}

var (
	_ lease.Connector = watchedStore{}
	_ lease.Queue     = watchedStore{}
)

// CompareAndSwap implements [lease.Store]. It writes a record, and measures the write.
func (s watchedStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	began := time.Now()
	ok, err := s.sqlStore.CompareAndSwap(ctx, worker, old, next)
	s.watch.wrote(began, ok, err)
	return ok, err
}

// Connect implements [lease.Connector]. It returns a store that uses a single connection, and
// measures the time from the request for the connection until it is returned to the pool.
func (s watchedStore) Connect(ctx context.Context) (lease.Store, func(), error) {
	began := time.Now()
	store, release, err := s.sqlStore.(lease.Connector).Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	return watchedStore{sqlStore: store.(sqlStore), watch: s.watch}, func() {
		release()
		s.watch.waited(began)
	}, nil
}

// Enter implements [lease.Queue] by the queue of the store, in which claims of workers wait for
// their turn. This wait is not measured.
func (s watchedStore) Enter(ctx context.Context) (func(), error) {
	return s.sqlStore.(lease.Queue).Enter(ctx)
}
