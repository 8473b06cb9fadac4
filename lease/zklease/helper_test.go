package zklease_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/lease"
)

var (
	first  = lease.Record{Bound: 1_760_000_000_000, Owner: "first"}
	second = lease.Record{Bound: 1_760_000_060_000, Owner: "second"}
)

func connect(t *testing.T, address string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func write(t *testing.T, store lease.Store, worker int, from, to lease.Record) {
	t.Helper()
	if swapped, err := store.CompareAndSwap(t.Context(), worker, from, to); err != nil || !swapped {
		t.Fatalf("CompareAndSwap(%d, %v, %v) = %v, %v, want true", worker, from, to, swapped, err)
	}
}

func holds(t *testing.T, store lease.Store, want map[int]lease.Record) {
	t.Helper()
	if got, err := store.Load(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("Load = %v, %v, want %v", got, err, want)
	}
}

// reconnected waits until the client has found its server again.
func reconnected(t *testing.T, store lease.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := store.Load(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("not connected again: %v", err)
		}
	}
}
