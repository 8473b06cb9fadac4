package zklease_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

func TestConform(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
		return zklease.New(connect(t, server.URL()), zklease.WithNamespace(namespace))
	})
}

func TestSurvivesKill(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	store := zklease.New(connect(t, server.URL()))
	write(t, store, 3, lease.Record{}, first)
	write(t, store, 3, first, second)
	write(t, store, -1, lease.Record{}, first)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := store.Load(ctx); err == nil {
		t.Error("Load from a server that is down: want an error")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	reconnected(t, store)
	holds(t, store, map[int]lease.Record{3: second, -1: first})
}

func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	proxy := testserver.NewProxy(t, server.URL())
	conn := connect(t, server.URL())
	direct, store := zklease.New(conn), zklease.New(connect(t, proxy.Address()))
	write(t, store, 1, lease.Record{}, first)
	proxy.CutAfter(2) // the replies to sync and get
	if swapped, err := store.CompareAndSwap(t.Context(), 1, first, second); err == nil {
		t.Errorf("CompareAndSwap without a reply = %v, want an error", swapped)
	}
	holds(t, direct, map[int]lease.Record{1: second})
	reconnected(t, store)
	if _, stat, err := conn.Get("/gormflake/default/1"); err != nil || stat.Version != 1 {
		t.Errorf("node = %v, %v, want one that was set once", stat, err)
	}
}

// What is there already has been written, whoever asks again.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	store := zklease.New(connect(t, testserver.ZooKeeper(t).URL()))
	for range 2 {
		write(t, store, 1, lease.Record{}, first)
	}
	for range 2 {
		write(t, store, 1, first, second)
	}
}

// Who comes too late is told so, and not by an error.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	const writers, rounds = 4, 50
	var stores []lease.Store
	for range writers {
		stores = append(stores, zklease.New(connect(t, server.URL())))
	}
	reconnected(t, stores[0])
	for worker := range rounds {
		created := race(t, stores, worker, lease.Record{})
		race(t, stores, worker, created)
	}
}

// race lets all stores replace one record, and returns what the only one to
// succeed has written.
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

func TestContextEndsWhileServerIsPaused(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	store := zklease.New(connect(t, server.URL()))
	write(t, store, 1, lease.Record{}, first)
	server.Pause()
	stopped := errors.New("stopped")
	calls := map[string]func(context.Context) error{
		"Load": func(ctx context.Context) error { _, err := store.Load(ctx); return err },
		"CompareAndSwap": func(ctx context.Context) error {
			_, err := store.CompareAndSwap(ctx, 1, first, second)
			return err
		},
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, stopped)
		defer cancel()
		began := time.Now()
		if err := call(ctx); !errors.Is(err, stopped) {
			t.Errorf("%s: %v, want the cause of the context", name, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s took %s, want 100ms", name, took)
		}
	}
	server.Resume()
	// The write had not been sent when its context ended.
	holds(t, store, map[int]lease.Record{1: first})
}

func TestACL(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	conn := connect(t, server.URL())
	if err := conn.AddAuth("digest", []byte("app:secret")); err != nil {
		t.Fatal(err)
	}
	acl := zklease.WithACL(zk.DigestACL(zk.PermAll, "app", "secret"))
	store := zklease.New(conn, acl)
	write(t, store, 1, lease.Record{}, first)
	holds(t, store, map[int]lease.Record{1: first})
	stranger := zklease.New(connect(t, server.URL()), acl)
	if records, err := stranger.Load(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("Load without the password = %v, %v, want %v", records, err, zk.ErrNoAuth)
	}
	for worker := range 2 {
		swapped, err := stranger.CompareAndSwap(t.Context(), worker, lease.Record{}, second)
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("CompareAndSwap(%d) without the password = %v, %v, want %v", worker, swapped, err, zk.ErrNoAuth)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	conn := connect(t, "127.0.0.1:1")
	tests := []struct {
		name  string
		store lease.Store
		want  string
	}{
		{"nil connection", zklease.New(nil), "zklease: connection is nil"},
		{"nil option", zklease.New(conn, nil), "zklease: option 1 of New is nil"},
		{"no ACL", zklease.New(conn, zklease.WithACL(nil)), "zklease: WithACL without an entry"},
		{"empty namespace", zklease.New(conn, zklease.WithNamespace("")), `zklease: WithNamespace(""): want 1 to 64 letters`},
		{"slash in namespace", zklease.New(conn, zklease.WithNamespace("a/b")), `zklease: WithNamespace("a/b"): want 1 to 64 letters`},
		{"long namespace", zklease.New(conn, zklease.WithNamespace(strings.Repeat("x", 65))), "want 1 to 64 letters"},
		{"two mistakes", zklease.New(nil, nil), "option 1 of New is nil\nzklease: connection is nil"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.store.Load(t.Context())
			_, casErr := test.store.CompareAndSwap(t.Context(), 1, lease.Record{}, first)
			for _, err := range []error{err, casErr} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error = %v, want %q", err, test.want)
				}
			}
		})
	}
}

func TestForeignNode(t *testing.T) {
	t.Parallel()
	conn := connect(t, testserver.ZooKeeper(t).URL())
	for name, data := range map[string]string{"one": "1|x", "2": "x"} {
		store := zklease.New(conn, zklease.WithNamespace(name))
		write(t, store, 1, lease.Record{}, first)
		if _, err := conn.Create("/gormflake/"+name+"/"+name, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		if records, err := store.Load(t.Context()); err == nil {
			t.Errorf("node %q with data %q: Load = %v, want an error", name, data, records)
		}
	}
}

// A node that went with its session would take the bound with it.
func TestNodesArePersistent(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	conn := connect(t, server.URL())
	write(t, zklease.New(conn), 1, lease.Record{}, first)
	conn.Close()
	holds(t, zklease.New(connect(t, server.URL())), map[int]lease.Record{1: first})
}
