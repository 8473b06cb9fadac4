package storetest

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
	"github.com/gormflake/gormflake/snowflake"
)

// crowd is the number of leases in the long form.
const crowd = 10_000

// crowdLayout has more workers than the crowd takes.
var crowdLayout = snowflake.Layout{
	Epoch: time.UnixMilli(1577836800000).UTC(), Tick: time.Millisecond, WorkerBits: 14, SequenceBits: 8,
}

// Crowd acquires ten thousand leases at once in the long form, as after a cold start. In the
// short form it acquires three hundred. A thousand would wait too long for a connection on a
// machine that is busy with other tests.
//
// Every lease must get its own worker without an error, and the median lease may take at most
// three calls of the store. In the long form all leases together may take as long as limit.
// The client of the store must have at most forty connections.
func Crowd(t *testing.T, store lease.Store, limit time.Duration) {
	n := crowd
	if !Long() {
		n = 300
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	leases, calls := make([]*lease.Lease, n), make([]int, n)
	began := time.Now()
	atOnce(n, n, func(i int) {
		var err error
		counted := trace.New(store, io.Discard)
		leases[i], err = lease.Acquire(ctx, counted.Store, crowdLayout, lease.WithLogger(slog.New(slog.DiscardHandler)))
		if calls[i] = counted.Stop(); err != nil {
			t.Errorf("lease %d: %v", i, err)
		}
	})
	took := time.Since(began)
	workers := map[int64]bool{}
	for _, l := range leases {
		if l != nil {
			workers[l.Stats().Worker] = true
		}
	}
	slices.Sort(calls)
	t.Logf("%d leases in %v, calls of the store: median %d, at most %d", n, took.Round(time.Millisecond), calls[n/2], calls[n-1])
	if len(workers) != n {
		t.Errorf("%d different workers, want %d", len(workers), n)
	}
	if calls[n/2] > 3 {
		t.Errorf("the median lease took %d calls of the store, want at most 3", calls[n/2])
	}
	if n == crowd && took > limit {
		t.Errorf("%d leases took %v, want at most %v", n, took, limit)
	}
	atOnce(n, 40, func(i int) { // no more than the client has connections
		if leases[i] == nil {
			return
		}
		if err := leases[i].Release(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("release: %v", err)
		}
	})
}

// atOnce calls f for all numbers below n, in parallel in the given number of
// goroutines.
func atOnce(n, goroutines int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// AmongMany compares how long it takes to extend a window in a store with many workers and in
// a store with few. In each of up to five tries it compares the median times. It passes if the
// median among many is at most one and a half times the median among few, in one try. One try
// is not enough, because a busy machine may slow the writes to one of the stores.
func AmongMany(t *testing.T, few, many lease.Store) {
	t.Helper()
	next := First
	for _, store := range []lease.Store{few, many} {
		Write(t, store, 7, lease.Record{}, next)
	}
	for range 5 {
		var amongFew, amongMany time.Duration
		amongFew, amongMany, next = extensions(t, few, many, next)
		t.Logf("an extension takes %v among few workers and %v among many", amongFew, amongMany)
		if amongMany <= amongFew*3/2 {
			return
		}
	}
	t.Error("an extension takes more than one and a half times as long among many workers")
}

// extensions raises the bound of a record in both stores many times, in turn. It returns the
// median times of a write to each store, and the record at the end.
func extensions(t *testing.T, few, many lease.Store, next lease.Record) (amongFew, amongMany time.Duration, last lease.Record) {
	t.Helper()
	const rounds = 200
	var took [2][]time.Duration // among few, and among many
	for range rounds {
		old := next
		next.Bound++
		for i, store := range []lease.Store{few, many} {
			began := time.Now()
			Write(t, store, 7, old, next)
			took[i] = append(took[i], time.Since(began))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	return took[0][rounds/2], took[1][rounds/2], next
}
