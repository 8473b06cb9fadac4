package zklease_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

// The store passes the tests that every store with a server must pass.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.All(t, storetest.Setup{
		Start: func(t testing.TB) *testserver.Server { return testserver.ZooKeeper(t) },
		Open: func(t *testing.T, server *testserver.Server, namespace string) lease.Store {
			return zklease.New(connect(t, server.URL()), zklease.WithNamespace(namespace))
		},
	})
}

// If the reply to a write is lost, the store returns an error, although the write has
// happened. The client must not send the write again.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	proxy := testserver.NewProxy(t, server.URL())
	conn := connect(t, server.URL())
	direct, store := zklease.New(conn), zklease.New(connect(t, proxy.Address()))
	storetest.Write(t, store, 1, lease.Record{}, storetest.First)
	proxy.CutAfter(2) // the replies to sync and get
	if swapped, err := store.CompareAndSwap(t.Context(), 1, storetest.First, storetest.Second); err == nil {
		t.Errorf("CompareAndSwap without a reply = %v, want an error", swapped)
	}
	storetest.Holds(t, direct, map[int]lease.Record{1: storetest.Second})
	storetest.Reconnected(t, store)
	if _, stat, err := conn.Get("/gormflake/default/1"); err != nil || stat.Version != 1 {
		t.Errorf("node = %v, %v, want one that was set once", stat, err)
	}
}

// If several writers replace one record at once, CompareAndSwap returns true to one writer.
// It must return false to the writers that are too late, and not an error.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	const writers, rounds = 4, 50
	var stores []lease.Store
	for range writers {
		stores = append(stores, zklease.New(connect(t, server.URL())))
	}
	storetest.Reconnected(t, stores[0])
	for worker := range rounds {
		created := race(t, stores, worker, lease.Record{})
		race(t, stores, worker, created)
	}
}

// race lets all stores replace one record. It returns the record of the winner, which
// must be the only one.
func race(t *testing.T, stores []lease.Store, worker int, from lease.Record) lease.Record {
	t.Helper()
	winners := make(chan lease.Record, len(stores))
	var wg sync.WaitGroup
	for i, store := range stores {
		wg.Go(func() {
			to := lease.Record{Bound: from.Bound + 1, Owner: strconv.Itoa(i)}
			swapped, err := store.CompareAndSwap(t.Context(), worker, from, to)
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
			if swapped {
				winners <- to
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Fatalf("%d writers have replaced %v of worker %d, want 1", len(winners), from, worker)
	}
	return <-winners
}

// The server is paused while CompareAndSwap waits for its first reply, until the context ends.
// The store must not send the write after that, when the server continues.
func TestContextEndsBeforeTheWrite(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	store := zklease.New(connect(t, server.URL()))
	storetest.Write(t, store, 1, lease.Record{}, storetest.First)
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if swapped, err := store.CompareAndSwap(ctx, 1, storetest.First, storetest.Second); err == nil {
		t.Errorf("CompareAndSwap on a server that is paused = %v, want an error", swapped)
	}
	server.Resume()
	storetest.Reconnected(t, store)
	storetest.Holds(t, store, map[int]lease.Record{1: storetest.First})
}

// The store creates nodes with the given ACL, so that a client without the password can
// neither read nor write them.
func TestACL(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	conn := connect(t, server.URL())
	if err := conn.AddAuth("digest", []byte("app:secret")); err != nil {
		t.Fatal(err)
	}
	acl := zklease.WithACL(zk.DigestACL(zk.PermAll, "app", "secret"))
	store := zklease.New(conn, acl)
	storetest.Write(t, store, 1, lease.Record{}, storetest.First)
	storetest.Holds(t, store, map[int]lease.Record{1: storetest.First})
	stranger := zklease.New(connect(t, server.URL()), acl)
	if records, err := stranger.Load(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("Load without the password = %v, %v, want %v", records, err, zk.ErrNoAuth)
	}
	for worker := range 2 {
		swapped, err := stranger.CompareAndSwap(t.Context(), worker, lease.Record{}, storetest.Second)
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("CompareAndSwap(%d) without the password = %v, %v, want %v", worker, swapped, err, zk.ErrNoAuth)
		}
	}
}

// New returns no error. If its arguments are invalid, every call of the store returns all
// errors about them, without sending a request.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	conn := connect(t, "127.0.0.1:1")
	tests := []struct {
		name  string
		store lease.Store
		want  string
	}{
		{"nil connection", zklease.New(nil), "zklease: connection is nil"},
		{"nil option", zklease.New(conn, nil), "zklease: option 1 is nil"},
		{"no ACL", zklease.New(conn, zklease.WithACL(nil)), "zklease: WithACL without an entry"},
		{"no logger", zklease.New(conn, zklease.WithLogger(nil)), "zklease: WithLogger(nil): want a logger"},
		{"two mistakes", zklease.New(nil, nil), "option 1 is nil\nzklease: connection is nil"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			storetest.Refuses(t, test.store, test.want)
		})
	}
}

// Another program has created a node whose name is no worker, or whose data is no record.
// Load must return an error.
func TestForeignNode(t *testing.T) {
	t.Parallel()
	conn := connect(t, testserver.ZooKeeper(t).URL())
	for name, data := range map[string]string{"one": "1|x", "2": "x"} {
		store := zklease.New(conn, zklease.WithNamespace(name))
		storetest.Write(t, store, 1, lease.Record{}, storetest.First)
		if _, err := conn.Create("/gormflake/"+name+"/"+name, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		if records, err := store.Load(t.Context()); err == nil {
			t.Errorf("node %q with data %q: Load = %v, want an error", name, data, records)
		}
	}
}

// A node must stay when the session that has created it ends, because the worker's bound would
// vanish with the node.
func TestNodesArePersistent(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	conn := connect(t, server.URL())
	storetest.Write(t, zklease.New(conn), 1, lease.Record{}, storetest.First)
	conn.Close()
	storetest.Holds(t, zklease.New(connect(t, server.URL())), map[int]lease.Record{1: storetest.First})
}
