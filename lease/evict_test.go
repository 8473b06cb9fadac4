package lease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// storeWithHolder returns a store in which another process holds worker 1, with a bound an
// hour ahead of the clock, and also returns the record of worker 1. A lease of the test holds
// worker 0.
func storeWithHolder(t *testing.T) (store *leasetest.Memory, held lease.Record) {
	t.Helper()
	store = leasetest.NewMemory()
	acquire(t, store, lease.WithWorker(0))
	held = lease.Record{Bound: now() + time.Hour.Milliseconds(), Owner: grant + "/3/0/90000"}
	store.Put(1, held)
	return store, held
}

// Evict releases the worker and keeps its bound, so that the next holder starts there.
func TestEvict(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	if err := inspect(t, store).Evict(t.Context(), inspect(t, store).Holders[1]); err != nil {
		t.Fatal(err)
	}
	want := lease.Record{Bound: held.Bound, Owner: grant + "/4/0/90000/released"}
	if r := store.Records()[1]; r != want {
		t.Errorf("record = %+v, want %+v", r, want)
	}
	in := inspect(t, store)
	if err := in.Evict(t.Context(), in.Holders[1]); err == nil || !strings.Contains(err.Error(), "held by nobody") {
		t.Errorf("a second time: %v", err)
	}
	next := acquire(t, store, lease.WithWorker(1), lease.WithMaxAhead(2*time.Hour)).Stats()
	if next.Until.UnixMilli() <= held.Bound {
		t.Errorf("the next window ends at %v, below the bound that it starts at", next.Until)
	}
}

// Evict and Lower get a Holder that the inspection has not returned. They must return an
// error and write nothing. Some of these holders have a datacenter and a worker that together
// lead to the key of the layout's record, which must not be changed.
func TestForgedHolder(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	until := time.UnixMilli(held.Bound)
	in := inspect(t, store)
	before := store.Records()
	for name, h := range map[string]lease.Holder{
		// These two have the key of the layout, -1, and so has "another alias".
		"the layout":       {Datacenter: -1, Worker: 1, Owner: before[-1].Owner, Until: time.UnixMilli(0)},
		"the layout's key": {Worker: -1, Owner: before[-1].Owner, Until: time.UnixMilli(0)},
		"never leased":     {Datacenter: 1, Worker: 1, Owner: grant, Until: until},
		"another owner":    {Worker: 1, Owner: "web-2", Until: until, Window: 90 * time.Second},
		"another bound":    {Worker: 1, Owner: grant, Until: until.Add(1), Window: 90 * time.Second},
		"another alias":    {Datacenter: 1, Worker: -1, Owner: grant, Until: until, Window: 90 * time.Second},
	} {
		const want = "is not a holder of this inspection"
		if err := in.Evict(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Evict of %s: %v, want %q", name, err, want)
		}
		h.Owner = ""
		if err := in.Lower(t.Context(), h, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Lower of %s: %v, want %q", name, err, want)
		}
	}
	if after := store.Records(); !maps.Equal(after, before) {
		t.Errorf("records = %v, want %v", after, before)
	}
}

// Evict fails if the record has changed since the inspection. If the holder has renewed its
// lease, it is alive. If another process has taken the worker, its holder is not the holder
// that the caller wants to evict.
func TestEvictChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		now  lease.Record
		want string
	}{
		{"renewed", lease.Record{Bound: 2_000_000, Owner: grant + "/4/0/90000"}, "it is alive, and has renewed its lease until 1970-01-01T00:33:20.000Z"},
		{"released", lease.Record{Bound: 900_000, Owner: grant + "/4/0/90000/released"}, "the record has changed since the inspection: it is now datacenter 0 worker 1 by nobody"},
		{"taken", lease.Record{Bound: 2_000_000, Owner: "b"}, "the record has changed since the inspection: it is now datacenter 0 worker 1 by b"},
	} {
		store := leasetest.NewMemory()
		acquire(t, store, lease.WithWorker(0))
		store.Put(1, lease.Record{Bound: 1_000_000, Owner: grant + "/3/0/90000"})
		in := inspect(t, store)
		store.Put(1, test.now)
		if err := in.Evict(t.Context(), in.Holders[1]); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", test.name, err, test.want)
		}
		if r := store.Records()[1]; r != test.now {
			t.Errorf("%s: record = %+v, want %+v", test.name, r, test.now)
		}
	}
}

// The store does not answer a write of Evict, Lower or Raise, and the method repeats the
// write. If the method reads the record that it has just written, it must not take this for
// success, because a store may lose an unacknowledged record in a crash. It must write once
// more, with another count of writes in the owner, so that the new record differs. If no
// write is answered at all, the method must return the error of the store.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost for good") // stands for any error of the store
	changes := map[string]func(ctx context.Context, in *lease.Inspection) error{
		"Evict": func(ctx context.Context, in *lease.Inspection) error { return in.Evict(ctx, in.Holders[1]) },
		"Lower": func(ctx context.Context, in *lease.Inspection) error { return in.Lower(ctx, in.Holders[1], time.Now()) },
		"Raise": func(ctx context.Context, in *lease.Inspection) error {
			_, err := in.Raise(ctx, time.Now().Add(2*time.Hour))
			return err
		},
	}
	for _, test := range []struct {
		name   string
		faults []leasetest.Fault
		want   error
	}{
		{"answered", nil, nil},
		{"request lost", []leasetest.Fault{leasetest.LoseRequest}, nil},
		{"answer lost", []leasetest.Fault{leasetest.LoseReply}, nil},
		{"answers lost", []leasetest.Fault{leasetest.LoseReply, leasetest.LoseRequest, leasetest.LoseReply}, nil},
		// 1 is LoseRequest, and 2 is LoseReply. There are more of them than tries.
		{"all requests lost", []leasetest.Fault{1, 1, 1, 1, 1, 1, 1, 1}, lost},
		{"all answers lost", []leasetest.Fault{2, 2, 2, 2, 2, 2, 2, 2}, lost},
	} {
		for name, change := range changes {
			store, _ := storeWithHolder(t)
			if name == "Lower" {
				r := store.Records()[1]
				r.Owner += "/released"
				store.Put(1, r)
			}
			in := inspect(t, store)
			store.OnCall(func(c leasetest.Call) leasetest.Fault {
				if c.Swap && c.Old == c.New {
					t.Errorf("%s, %s: a write that changes nothing: %v", name, test.name, c)
				}
				return leasetest.None
			})
			store.Fail(test.faults...)
			err := change(context.Background(), in)
			if (err == nil) != (test.want == nil) || err != nil && !errors.Is(err, leasetest.ErrFault) {
				t.Errorf("%s, %s: %v, want %v", name, test.name, err, test.want)
			}
		}
	}
}

// Another program has written an owner that contains no count of writes, and Evict releases
// its worker. The answer to the write is lost. A second write would equal the first and prove
// nothing, so Evict must return an error.
func TestEvictForeignUnanswered(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	held.Owner = "foreign"
	store.Put(1, held)
	in := inspect(t, store)
	store.Fail(leasetest.LoseReply)
	if err := in.Evict(t.Context(), in.Holders[1]); err == nil || !strings.Contains(err.Error(), "has not acknowledged it") {
		t.Errorf("error = %v", err)
	}
}

// Raise raises the bounds that are too low, also of workers without a record, and releases
// their workers. Raise does not change a record whose bound is high enough.
func TestRaise(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	at := time.UnixMilli(held.Bound).Add(-time.Minute)
	lower := lease.Record{Bound: now() - 5, Owner: grant + "/3/5/90000/released"}
	store.Put(2, lower)
	n, err := inspect(t, store).Raise(t.Context(), at)
	if n != 3 || err != nil {
		t.Fatalf("Raise = %d, %v, want 3", n, err)
	}
	got := store.Records()
	for key, want := range map[int]lease.Record{
		1: held, // is high enough already
		2: {Bound: at.UnixMilli(), Owner: grant + "/4/5/90000/released"},
		3: {Bound: at.UnixMilli()}, // had no record
	} {
		if got[key] != want {
			t.Errorf("record %d = %+v, want %+v", key, got[key], want)
		}
	}
	if r := got[0]; r.Bound != at.UnixMilli() || !strings.HasSuffix(r.Owner, "/released") {
		t.Errorf("record of the process that runs: %+v, want a released one at %d", r, at.UnixMilli())
	}
	if _, err := lease.Acquire(t.Context(), store, layout(), lease.WithLogger(discard())); !errors.Is(err, lease.ErrNoFreeWorker) {
		t.Errorf("Acquire before the new bounds: %v, want %v", err, lease.ErrNoFreeWorker)
	}
	next := acquire(t, store, lease.WithMaxAhead(2*time.Hour)).Stats()
	if next.Until.Before(at.Add(time.Minute)) {
		t.Errorf("the next window ends at %v, want it above %v", next.Until, at)
	}
}

// All bounds are high enough already, but Raise has only read them, and an unacknowledged
// bound may vanish in a crash. So Raise must still write one record. Once the store has
// acknowledged this write, all writes before it are durable.
func TestRaiseNothing(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	for key := range 4 {
		store.Put(key, lease.Record{Bound: held.Bound, Owner: grant + "/3/0/90000"})
	}
	store.Put(2, lease.Record{Bound: held.Bound, Owner: grant + "/3/0/90000/released"})
	before := store.Calls().Swaps
	n, err := inspect(t, store).Raise(t.Context(), time.Now())
	if n != 1 || err != nil || store.Calls().Swaps != before+1 {
		t.Fatalf("Raise = %d, %v with %d writes, want one", n, err, store.Calls().Swaps-before)
	}
	want := lease.Record{Bound: held.Bound + 1, Owner: grant + "/4/0/90000/released"}
	if r := store.Records()[2]; r != want {
		t.Errorf("record = %+v, want %+v", r, want)
	}
}

// Raise returns an error and writes nothing if the time is outside the layout, or if the
// store has no layout or too many workers.
func TestRaiseRefuses(t *testing.T) {
	t.Parallel()
	wideLayout := layout()
	wideLayout.WorkerBits, wideLayout.SequenceBits = 16, 0
	full := leasetest.NewMemory()
	if _, err := lease.Acquire(t.Context(), full, wideLayout, lease.WithLogger(discard())); err != nil {
		t.Fatal(err)
	}
	store, _ := storeWithHolder(t)
	for _, test := range []struct {
		name  string
		store *leasetest.Memory
		to    time.Time
		want  string
	}{
		{"no layout", leasetest.NewMemory(), time.Now(), "lease: Raise: the store has no layout"},
		{"131,072 workers", full, time.Now(), "lease: Raise: the layout has 131072 workers: want at most 65536"},
		{"before the epoch", store, time.Unix(0, 0), "lease: Raise: time 1970-01-01T00:00:00.000Z out of range [1990-01-01T00:00:00.000Z, "},
		{"past the layout", store, time.Now().AddDate(20_000, 0, 0), "out of range"},
	} {
		before := test.store.Records()
		if n, err := inspect(t, test.store).Raise(t.Context(), test.to); n != 0 || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d, %v, want %q", test.name, n, err, test.want)
		}
		if after := test.store.Records(); !maps.Equal(after, before) {
			t.Errorf("%s: records = %v, want %v", test.name, after, before)
		}
	}
}

// Raise rounds the time up to a whole tick, because IDs of the tick that contains the
// time may exist.
func TestRaiseRoundsUp(t *testing.T) {
	t.Parallel()
	slow := layout()
	slow.Tick = 10 * time.Millisecond
	store := leasetest.NewMemory()
	l, err := lease.Acquire(t.Context(), store, slow, lease.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Release(context.Background()) })
	at := time.Now().Add(time.Hour).Truncate(10 * time.Millisecond)
	if _, err := inspect(t, store).Raise(t.Context(), at.Add(1)); err != nil {
		t.Fatal(err)
	}
	if got, want := store.Records()[0].Bound, at.UnixMilli()+10; got != want {
		t.Errorf("bound = %d, want %d", got, want)
	}
}

// Lower sets the bound of a worker without holder back to a time. It returns an error if
// the worker is held, if the bound would not fall, or if the record has changed.
func TestLower(t *testing.T) {
	t.Parallel()
	store, held := storeWithHolder(t)
	to := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	in := inspect(t, store)
	if err := in.Lower(t.Context(), in.Holders[1], to); err == nil || !strings.Contains(err.Error(), "want a worker that nobody holds") {
		t.Errorf("of a worker that is held: %v", err)
	}
	if err := in.Evict(t.Context(), in.Holders[1]); err != nil {
		t.Fatal(err)
	}
	in = inspect(t, store)
	if err := in.Lower(t.Context(), in.Holders[1], time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("to a time before the epoch: %v", err)
	}
	for _, until := range []time.Time{time.UnixMilli(held.Bound), time.UnixMilli(held.Bound + 1), time.UnixMilli(held.Bound).Add(-1)} {
		if err := in.Lower(t.Context(), in.Holders[1], until); err == nil || !strings.Contains(err.Error(), "nothing to lower") {
			t.Errorf("to %v: %v", until, err)
		}
	}
	if err := in.Lower(t.Context(), in.Holders[1], to); err != nil {
		t.Fatal(err)
	}
	want := lease.Record{Bound: to.UnixMilli(), Owner: grant + "/5/0/90000/released"}
	if r := store.Records()[1]; r != want {
		t.Errorf("record = %+v, want %+v", r, want)
	}
	if err := in.Lower(t.Context(), in.Holders[1], to.Add(-time.Second)); err == nil || !strings.Contains(err.Error(), "the record has changed since the inspection") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := lease.Acquire(t.Context(), store, layout(), lease.WithWorker(1), lease.WithDatacenter(0)); !errors.Is(err, lease.ErrNoFreeWorker) {
		t.Errorf("Acquire before the new bound: %v", err)
	}
	if err := inspect(t, leasetest.NewMemory()).Lower(t.Context(), lease.Holder{}, to); err == nil {
		t.Error("an empty store: no error")
	}
}

// Raise has read a bound that is high enough but was never acknowledged. The store crashes
// during the next write, and loses this bound. Raise must find the lower bound and raise it.
func TestRaiseAfterACrash(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	acquire(t, store, lease.WithWorker(0))
	old := store.Records()[0]
	store.Fail(leasetest.LoseReply)
	high := lease.Record{Bound: old.Bound + 3_600_000, Owner: old.Owner}
	if _, err := store.CompareAndSwap(t.Context(), 0, old, high); err == nil {
		t.Fatal("the write was answered")
	}
	in := inspect(t, store)
	store.OnCall(func(c leasetest.Call) leasetest.Fault {
		if c.Swap {
			store.Crash()
		}
		return leasetest.None
	})
	to := time.UnixMilli(old.Bound + 1_800_000)
	if _, err := in.Raise(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	for worker, r := range store.Records() {
		if worker >= 0 && r.Bound < to.UnixMilli() {
			t.Errorf("worker %d has the bound %d, want %d or more", worker, r.Bound, to.UnixMilli())
		}
	}
}
