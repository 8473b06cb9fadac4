package stores_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// Await returns the result of a call, or the cause of the context if the context ends
// before the call does, or before it begins.
func TestAwait(t *testing.T) {
	t.Parallel()
	failed, stopped := errors.New("failed"), errors.New("stopped")
	if got, err := stores.Await(t.Context(), func() (int, error) { return 7, failed }); got != 7 || !errors.Is(err, failed) {
		t.Errorf("Await = %d, %v, want what the call returned", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	hang := make(chan struct{})
	defer close(hang)
	got, err := stores.Await(ctx, func() (int, error) { cancel(stopped); <-hang; return 7, nil })
	if got != 0 || !errors.Is(err, stopped) {
		t.Errorf("Await of a call that hangs = %d, %v, want the cause of the context", got, err)
	}
	got, err = stores.Await(ctx, func() (int, error) { t.Error("called after the context had ended"); return 7, nil })
	if got != 0 || !errors.Is(err, stopped) {
		t.Errorf("Await after the context = %d, %v, want its cause", got, err)
	}
}

// CheckNamespace accepts a name only if it can be part of a Redis key in braces, an etcd key
// and a ZooKeeper path. For example, a/b would be two nodes of a path.
func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "Shop.eu-1_x", "0", strings.Repeat("x", 64)} {
		if err := stores.CheckNamespace("store", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a/b", "a}b", "-a", ".", "a b", "ä", "a\n", strings.Repeat("x", 65)} {
		err := stores.CheckNamespace("store", name)
		if err == nil || !strings.HasPrefix(err.Error(), "store: WithNamespace(") {
			t.Errorf("%q: error = %v, want one with prefix and value", name, err)
		}
	}
}

// CheckRecords returns an error for a write whose old and new records are equal, and nil for
// other writes.
func TestCheckRecords(t *testing.T) {
	t.Parallel()
	old, next := lease.Record{Bound: 10, Owner: "owner"}, lease.Record{Bound: 11, Owner: "owner"}
	if err := stores.CheckRecords("store", 3, old, next); err != nil {
		t.Errorf("two that differ: %v", err)
	}
	want := "store: write worker 3: old record 10|owner, new record 10|owner: want two that differ"
	if err := stores.CheckRecords("store", 3, old, old); err == nil || err.Error() != want {
		t.Errorf("one twice: %v, want %s", err, want)
	}
}
