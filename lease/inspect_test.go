package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// inspect inspects the store, and fails the test on an error.
func inspect(t *testing.T, store lease.Store) *lease.Inspection {
	t.Helper()
	in, err := lease.Inspect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Inspect returns all records, whoever has written them, and writes nothing.
func TestInspect(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	if in := inspect(t, store); in.Layout != (snowflake.Layout{}) || len(in.Holders) != 0 {
		t.Errorf("an empty store is %+v", in)
	}
	bound := now() - 5
	for worker, owner := range []string{"foreign", grant + "/7/0/90000/released", grant + "/7/0/90000"} {
		store.Put(worker, lease.Record{Bound: bound, Owner: owner})
	}
	stats := acquire(t, store, lease.WithDatacenter(1), lease.WithWorker(1)).Stats()
	in := inspect(t, store)
	if !in.Layout.Equal(layout()) {
		t.Errorf("layout = %v, want %v", in.Layout, layout())
	}
	want := []lease.Holder{
		{Worker: 0, Owner: "foreign", Until: time.UnixMilli(bound)},
		{Worker: 1, Until: time.UnixMilli(bound), Window: 90 * time.Second},
		{Datacenter: 1, Owner: grant, Until: time.UnixMilli(bound), Window: 90 * time.Second},
		{Datacenter: 1, Worker: 1, Owner: holderOf(stats.Owner), Until: stats.Until, Window: time.Minute},
	}
	if !slices.Equal(in.Holders, want) {
		t.Errorf("holders = %v, want %v", in.Holders, want)
	}
	if calls := store.Records(); len(calls) != 5 {
		t.Errorf("records = %v: Inspect has written", calls)
	}
}

// grant is the part of an owner that names the holder, host/process/random. The number of
// writes, the bound that the grant has replaced, and the window in ms follow it.
const grant = "web-1/7/ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// holderOf returns the part of an owner that Holder.Owner shows, host/process/random.
func holderOf(owner string) string {
	return strings.Join(strings.SplitN(owner, "/", 4)[:3], "/")
}

// Inspect needs no layout, because it reads the layout that the lease has written.
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

// If the text of the layout's record is one that no lease writes, for example with a blank at
// its end, Inspect must return an error. If an owner is one that no lease writes, Inspect
// must show it unchanged, even if it looks almost like a token.
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
			t.Errorf("Inspect with the layout %q = %+v, %v, want an error", signature, in, err)
		}
	}
	store := leasetest.NewMemory()
	store.Put(-1, lease.Record{Owner: good})
	for worker, owner := range []string{grant + "/07/0/90000", grant + "/7/0/x", "web-1"} {
		store.Put(worker, lease.Record{Bound: 1, Owner: owner})
		if got := inspect(t, store).Holders[worker].Owner; got != owner {
			t.Errorf("holder = %q, want all of %q, which no token writes", got, owner)
		}
	}
}

// At the millisecond of its bound, a held worker becomes lapsed, and a released worker
// becomes free. A millisecond earlier, the worker is still held, or waits for its bound.
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

// A nil store is an error, not a panic, and so is an Inspection that Inspect has not
// returned.
func TestNilStore(t *testing.T) {
	t.Parallel()
	const want = "lease: store is nil"
	if _, err := lease.Acquire(t.Context(), nil, layout()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Acquire: %v, want %q", err, want)
	}
	if _, err := lease.Inspect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Inspect: %v, want %q", err, want)
	}
	none := new(lease.Inspection)
	if err := none.Evict(t.Context(), lease.Holder{Owner: "x"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Evict: %v, want %q", err, want)
	}
	if n, err := none.Raise(t.Context(), time.Now()); n != 0 || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Raise: %d, %v, want %q", n, err, want)
	}
}
