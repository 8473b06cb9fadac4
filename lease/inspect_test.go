package lease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

func inspect(t *testing.T, store lease.Store) *lease.Inspection {
	t.Helper()
	in, err := lease.Inspect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestInspect(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	if in := inspect(t, store); in.Layout != (snowflake.Layout{}) || len(in.Holders) != 0 {
		t.Errorf("an empty store is %+v", in)
	}
	bound := now() - 5
	for worker, owner := range []string{"dead", "", "also dead"} {
		store.Put(worker, lease.Record{Bound: bound, Owner: owner})
	}
	stats := acquire(t, store, lease.WithDatacenter(1), lease.WithWorker(1)).Stats()
	in := inspect(t, store)
	if !in.Layout.Equal(layout()) {
		t.Errorf("layout = %v, want %v", in.Layout, layout())
	}
	want := []lease.Holder{
		{Worker: 0, Owner: "dead", Until: time.UnixMilli(bound)},
		{Worker: 1, Until: time.UnixMilli(bound)},
		{Datacenter: 1, Owner: "also dead", Until: time.UnixMilli(bound)},
		{Datacenter: 1, Worker: 1, Owner: stats.Owner, Until: stats.Until},
	}
	if !slices.Equal(in.Holders, want) {
		t.Errorf("holders = %v, want %v", in.Holders, want)
	}
	if calls := store.Records(); len(calls) != 5 {
		t.Errorf("records = %v: Inspect has written", calls)
	}
}

func TestInspectLayouts(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]snowflake.Layout{
		"twitter": snowflake.TwitterLayout(), "js-safe": snowflake.JSSafeLayout(), "few workers": layout(),
	} {
		store := leasetest.NewMemory()
		held, err := lease.Acquire(t.Context(), store, l, lease.WithLogger(discard()))
		if err != nil {
			t.Fatal(err)
		}
		if got := inspect(t, store).Layout; !got.Equal(l) {
			t.Errorf("%s: layout = %v, want %v", name, got, l)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestInspectForeignRecords(t *testing.T) {
	t.Parallel()
	const good = "epoch=2010-11-04T01:42:54.657Z tick=1ms datacenter=5 worker=5 sequence=12 total=63"
	for _, signature := range []string{
		"", "x", good + " ", good + " more=1", strings.Replace(good, "tick=1ms", "tick=1000us", 1),
		strings.Replace(good, "sequence=12", "sequence=312", 1), strings.Replace(good, "total=63", "total=12", 1),
	} {
		store := leasetest.NewMemory()
		store.Put(-1, lease.Record{Owner: signature})
		store.Put(3, lease.Record{Bound: 1})
		if in, err := lease.Inspect(t.Context(), store); err == nil || !strings.Contains(err.Error(), "want one as") {
			t.Errorf("Inspect beside the layout %q = %+v, %v, want an error", signature, in, err)
		}
	}
	store := leasetest.NewMemory()
	store.Put(-1, lease.Record{Owner: good})
	inspect(t, store)
}

func TestHolderState(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_000_000)
	for _, test := range []struct {
		owner string
		until int64
		want  string
	}{
		{"a", 1_000_001, "held"},
		{"a", 1_000_000, "lapsed"},
		{"", 1_000_001, "waiting"},
		{"", 1_000_000, "free"},
	} {
		h := lease.Holder{Owner: test.owner, Until: time.UnixMilli(test.until)}
		if got := h.State(at).String(); got != test.want {
			t.Errorf("owner %q until %d is %s, want %s", test.owner, test.until, got, test.want)
		}
	}
	if got := lease.HolderState(9).String(); got != "HolderState(9)" {
		t.Error(got)
	}
}

// The bound stays, and whoever takes the worker next starts there.
func TestNilStore(t *testing.T) {
	t.Parallel()
	const want = "lease: store is nil"
	if _, err := lease.Acquire(t.Context(), nil, layout()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Acquire: %v, want %q", err, want)
	}
	if _, err := lease.Inspect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Inspect: %v, want %q", err, want)
	}
	if err := new(lease.Inspection).Evict(t.Context(), lease.Holder{Owner: "x"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Evict: %v, want %q", err, want)
	}
}

func TestEvict(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	acquire(t, store, lease.WithWorker(0))
	dead := lease.Record{Bound: now() + time.Hour.Milliseconds(), Owner: "dead"}
	store.Put(1, dead)
	if err := inspect(t, store).Evict(t.Context(), inspect(t, store).Holders[1]); err != nil {
		t.Fatal(err)
	}
	if r := store.Records()[1]; r != (lease.Record{Bound: dead.Bound}) {
		t.Errorf("record = %+v, want the bound %d and no owner", r, dead.Bound)
	}
	if err := inspect(t, store).Evict(t.Context(), inspect(t, store).Holders[1]); err == nil || !strings.Contains(err.Error(), "held by nobody") {
		t.Errorf("a second time: %v", err)
	}
	next := acquire(t, store, lease.WithWorker(1), lease.WithMaxAhead(2*time.Hour)).Stats()
	if next.Until.UnixMilli() <= dead.Bound {
		t.Errorf("the next window ends at %v, below the bound that it starts at", next.Until)
	}
}

// A holder that lives finishes its window, and goes on under another worker.
func TestEvictAlive(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	l := acquire(t, store, lease.WithWindow(50*time.Millisecond))
	gen := generate(t, l)
	first, worker := next(t, gen)
	evicted := false
	for !evicted { // unless it extends its window between the two steps
		in := inspect(t, store)
		evicted = in.Evict(t.Context(), in.Holders[0]) == nil
	}
	bound := store.Records()[worker].Bound
	for {
		id, now := next(t, gen)
		if id <= first {
			t.Fatalf("ID %v after %v", id, first)
		}
		if now != worker {
			break
		}
		if at := gen.Layout().Time(id).UnixMilli(); at >= bound {
			t.Fatalf("issued at %d under the worker that was taken away at %d", at, bound)
		}
	}
	if l.Stats().Losses != 1 {
		t.Errorf("stats = %+v, want one loss", l.Stats())
	}
}

func TestEvictChanged(t *testing.T) {
	t.Parallel()
	held := lease.Record{Bound: 1_000_000, Owner: "a"}
	for _, test := range []struct {
		name string
		now  lease.Record
		want string
	}{
		{"extended", lease.Record{Bound: 2_000_000, Owner: "a"}, "it is alive"},
		{"given back", lease.Record{Bound: 900_000}, "no longer holds its worker: datacenter 0 worker 1 by nobody"},
		{"taken", lease.Record{Bound: 2_000_000, Owner: "b"}, "no longer holds its worker: datacenter 0 worker 1 by b"},
	} {
		store := leasetest.NewMemory()
		acquire(t, store, lease.WithWorker(0))
		store.Put(1, held)
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

func TestEvictUnanswered(t *testing.T) {
	t.Parallel()
	for fault, want := range map[leasetest.Fault]error{leasetest.LoseReply: nil, leasetest.LoseRequest: leasetest.ErrFault} {
		store := leasetest.NewMemory()
		acquire(t, store, lease.WithWorker(0))
		store.Put(1, lease.Record{Bound: now(), Owner: "a"})
		in := inspect(t, store)
		store.OnCall(func(c leasetest.Call) leasetest.Fault {
			if c.Swap && c.Worker == 1 {
				return fault
			}
			return leasetest.None
		})
		if err := in.Evict(context.Background(), in.Holders[1]); !errors.Is(err, want) {
			t.Errorf("%v: error = %v, want %v", fault, err, want)
		}
	}
}
