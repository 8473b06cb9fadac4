package etcdlease_test

import (
	"maps"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/lease"
)

var (
	first  = lease.Record{Bound: 1_760_000_000_000, Owner: "first"}
	second = lease.Record{Bound: 1_760_000_060_000, Owner: "second"}
)

func connect(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

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
