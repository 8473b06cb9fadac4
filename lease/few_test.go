package lease_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// wideLayout returns a layout with 1024 workers, so that a claim reads only a sample of 32.
func wideLayout() snowflake.Layout {
	return snowflake.Layout{
		Epoch: time.UnixMilli(631152000000).UTC(), Tick: time.Millisecond, WorkerBits: 10, SequenceBits: 12,
	}
}

// A reader is a Getter that records how much a claim reads.
type reader struct {
	lease.Store
	mu    sync.Mutex
	loads int   // calls of Load, which reads all records
	gets  []int // the number of keys of each call of Get
}

func (r *reader) Load(ctx context.Context) (map[int]lease.Record, error) {
	r.mu.Lock()
	r.loads++
	r.mu.Unlock()
	return r.Store.Load(ctx)
}

func (r *reader) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	r.mu.Lock()
	r.gets = append(r.gets, len(keys))
	r.mu.Unlock()
	return leasetest.WithGet(r.Store).(lease.Getter).Get(ctx, keys)
}

// acquireWide leases a worker of wideLayout, and releases it at the end of the test.
func acquireWide(t *testing.T, store lease.Store, opts ...lease.Option) (*lease.Lease, error) {
	t.Helper()
	l, err := lease.Acquire(t.Context(), store, wideLayout(), append(opts, lease.WithLogger(discard()))...)
	if l != nil {
		t.Cleanup(func() { _ = l.Release(context.Background()) })
	}
	return l, err
}

// One of 1024 workers is in use. A claim must not read all records. It reads a sample of the
// workers together with the layout, and after its write it reads the layout once more.
func TestClaimReadsAFewWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		first, err := acquireWide(t, memory) // writes the layout
		if err != nil {
			t.Fatal(err)
		}
		store := &reader{Store: memory}
		second, err := acquireWide(t, store)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := first.Stats(), second.Stats(); a.Worker == b.Worker {
			t.Errorf("both hold worker %d", a.Worker)
		}
		// The first Get has a sample of 32 draws, in which a worker may occur twice, and the
		// layout. The second Get has the layout only.
		if store.loads != 0 || len(store.gets) != 2 || store.gets[0] > 33 || store.gets[0] < 16 || store.gets[1] != 1 {
			t.Errorf("%d loads, gets of %v: want none, and gets of some 33 and 1", store.loads, store.gets)
		}
	})
}

// All workers except worker 777 are in use, so a claim's sample is likely to contain no free
// worker. The claim must then read all records and find worker 777. When this worker is in
// use too, the error of the next claim must name all 1,024 holders, not only the holders in
// its sample.
func TestClaimReadsAllWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		for worker := range 1024 {
			memory.Put(worker, lease.Record{Bound: time.Now().Add(time.Hour).UnixMilli(), Owner: "other"})
		}
		memory.Put(777, lease.Record{Bound: time.Now().UnixMilli(), Owner: "other"})
		store := &reader{Store: memory}
		l, err := acquireWide(t, store)
		if err != nil {
			t.Fatal(err)
		}
		if l.Stats().Worker != 777 {
			t.Errorf("worker %d, want 777", l.Stats().Worker)
		}
		var none *lease.NoFreeWorkerError
		if _, err = acquireWide(t, store); !errors.As(err, &none) || len(none.Holders) != 1024 {
			t.Errorf("error = %v, want one that names 1024 holders", err)
		}
	})
}

// The answer to a claim's write is lost. The claim then reads a new sample of the workers, in
// which its worker is probably missing. It must read the record of this worker too, and find
// its own write. Otherwise it would lease a second worker.
func TestClaimOfAFewFindsItsOwnWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		if _, err := acquireWide(t, memory); err != nil {
			t.Fatal(err)
		}
		memory.Fail(leasetest.LoseReply)
		l, err := acquireWide(t, &reader{Store: memory})
		if err != nil {
			t.Fatal(err)
		}
		var workers []int
		for worker := range memory.Records() {
			workers = append(workers, worker)
		}
		if len(workers) != 3 || !slices.Contains(workers, int(l.Stats().Worker)) {
			t.Errorf("records of %v, want the layout's and two, with worker %d", workers, l.Stats().Worker)
		}
	})
}

// The store forgets the bound up to which the lease has issued IDs, and shows the worker as
// free since an hour ago. The lease takes the worker again. It must not issue below the
// forgotten bound, even if it has read the worker's record in a sample. The test repeats this
// forty times, because chance decides whether a sample contains the worker.
func TestClaimOfAFewStartsAtTheLostBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		store := leasetest.WithGet(memory)
		for worker := range 1023 { // all except one are held, and a claim finds that one by chance or reads all
			memory.Put(worker, lease.Record{Bound: time.Now().Add(time.Hour).UnixMilli(), Owner: "other"})
		}
		l, err := acquireWide(t, store, lease.WithWorkers(983, 1023)) // 41 workers, more than a sample
		if err != nil {
			t.Fatal(err)
		}
		gen := generate(t, l)
		for range 40 {
			_, _ = gen.Next(t.Context())
			until := l.Stats().Until
			// The store forgets the window, and shows the worker as released an hour ago.
			memory.Put(1023, lease.Record{Bound: time.Now().Add(-time.Hour).UnixMilli(), Owner: "other/1/token/1/0/60000/released"})
			for l.Stats().Until.Equal(until) { // until the lease has noticed
				time.Sleep(time.Second)
			}
			if id, _ := next(t, gen); wideLayout().Time(id).Before(until) {
				t.Errorf("ID of %v, want none before %v", wideLayout().Time(id), until)
			}
		}
	})
}

// A turnsStore is a Queue that lets one claim in at a time.
type turnsStore struct {
	lease.Store
	gate chan struct{} // full while a claim has its turn
}

func (s turnsStore) Enter(ctx context.Context) (func(), error) {
	select {
	case s.gate <- struct{}{}:
		return func() { <-s.gate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Three claims wait for their turn for ten minutes, much longer than a call of the store may
// take. They must not fail, because only their contexts limit this wait. A lease that is held
// at this time must be extended without waiting for a turn.
func TestClaimsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		store := turnsStore{memory, make(chan struct{}, 1)}
		held, err := acquireWide(t, store)
		if err != nil {
			t.Fatal(err)
		}
		leave, err := store.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := acquireWide(t, store)
				errs <- err
			}()
		}
		time.Sleep(10 * time.Minute)
		if s := held.Stats(); s.Failures > 0 || !s.Until.After(time.Now()) {
			t.Errorf("stats %+v of a lease during the claims' wait", s)
		}
		leave()
		for range 3 {
			if err := <-errs; err != nil {
				t.Errorf("error = %v", err)
			}
		}
	})
}
