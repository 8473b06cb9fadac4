// Package storetest contains the tests that every store with a server must pass in
// addition to the suite of package leasetest. They cover lost answers, killed and
// paused servers, wrong clocks, and clusters that fail over while generators issue IDs.
//
// # A new store
//
// Package lease/etcdlease shows the protocol, lease/redislease the settings and the
// clock. A search for "zookeeper" finds the places that name all stores:
//
//   - lease/NAMElease with its own go.mod: Load, CompareAndSwap, a namespace, and
//     Clock if the server reports its time; records in one value, as FormatRecord of
//     lease/internal/stores writes them; a setting that forgets writes is rejected,
//     or warned of.
//   - Tests against servers that they start: [All], [Torture], [WrittenTwice] and
//     [Refuses] of this package, and the wrong clocks if the store is a lease.Clock.
//     Torture loses answers and wants owners in plain text on the wire.
//   - internal/test/testserver (engines.go, a constructor, require.go) and
//     internal/test/testdb, with tests; its cluster in internal/test/testcluster, and a
//     TestCluster by [Failovers]; .ci/run and .github/workflows/ci.yml;
//     GORMFLAKE_TEST_REQUIRE in CONTRIBUTING.md; its version, and its row in
//     docs/engines.md.
//   - .ci/release (libraries), consumer_test.go, the imports of
//     internal/test/docstest/pages_test.go, the error errNoStore in lease/store.go,
//     docs/clusters.md, docs/cli.md, internal/test/docstest/evidence.md.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A Setup starts servers and opens handles for the tests of a store.
type Setup struct {
	Start func(testing.TB) *testserver.Server
	Open  func(t *testing.T, server *testserver.Server, namespace string) lease.Store
}

// All runs a subtest for each property that every store with a server must have.
func All(t *testing.T, s Setup) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Setup){
		"conforms":           conforms,
		"survives a kill":    SurvivesKill,
		"ends with context":  EndsWithContext,
		"rejects namespaces": rejectsNamespaces,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// conforms runs the suite of package leasetest.
func conforms(t *testing.T, s Setup) {
	server := s.Start(t)
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store { return s.Open(t, server, namespace) })
}

// rejectsNamespaces opens stores with names that could not be part of a key or path.
func rejectsNamespaces(t *testing.T, s Setup) {
	server := s.Start(t)
	for _, name := range []string{"", "a/b", "a}b", strings.Repeat("x", 65)} {
		Refuses(t, s.Open(t, server, name), fmt.Sprintf("WithNamespace(%q): want 1 to 64 letters", name))
	}
}

// First and Second are records to write. Second extends the window of First by a minute.
var (
	First  = lease.Record{Bound: 1_760_000_000_000, Owner: "first"}
	Second = lease.Record{Bound: 1_760_000_060_000, Owner: "second"}
)

// Write replaces a record, which must succeed.
func Write(t *testing.T, store lease.Store, worker int, from, to lease.Record) {
	t.Helper()
	if swapped, err := store.CompareAndSwap(t.Context(), worker, from, to); err != nil || !swapped {
		t.Fatalf("CompareAndSwap(%d, %v, %v) = %v, %v, want true", worker, from, to, swapped, err)
	}
}

// Holds checks that the store has exactly these records.
func Holds(t *testing.T, store lease.Store, want map[int]lease.Record) {
	t.Helper()
	if got, err := store.Load(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("Load = %v, %v, want %v", got, err, want)
	}
}

// Reconnected waits until the store's client has reconnected to its server.
func Reconnected(t *testing.T, store lease.Store) {
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

// SurvivesKill kills the server after some writes, starts it again, and expects the
// records.
func SurvivesKill(t *testing.T, s Setup) {
	t.Helper()
	server := s.Start(t)
	store := s.Open(t, server, "killed")
	Write(t, store, 3, lease.Record{}, First)
	Write(t, store, 3, First, Second)
	Write(t, store, -1, lease.Record{}, First)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := store.Load(ctx); err == nil {
		t.Error("Load from a server that is down: want an error")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	Reconnected(t, store)
	Holds(t, store, map[int]lease.Record{3: Second, -1: First})
}

// EndsWithContext pauses the server. All calls of a store must end with their contexts,
// also the first call, and the store must work again afterwards.
func EndsWithContext(t *testing.T, s Setup) {
	t.Helper()
	server := s.Start(t)
	store, fresh := s.Open(t, server, "paused"), s.Open(t, server, "paused-fresh")
	Write(t, store, 1, lease.Record{}, First)
	server.Pause()
	endsWithContext(t, "Load", func(ctx context.Context) error { _, err := store.Load(ctx); return err })
	endsWithContext(t, "CompareAndSwap", swap(store))
	endsWithContext(t, "first call", swap(fresh))
	server.Resume()
	if _, err := store.Load(t.Context()); err != nil {
		t.Errorf("Load after Resume: %v", err)
	}
}

// swap returns a call of CompareAndSwap.
func swap(store lease.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := store.CompareAndSwap(ctx, 1, First, Second)
		return err
	}
}

// endsWithContext expects that the call returns the cause of its context soon after the
// context has ended.
func endsWithContext(t *testing.T, name string, call func(context.Context) error) {
	t.Helper()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, stopped)
	defer cancel()
	began := time.Now()
	if err := call(ctx); !errors.Is(err, stopped) {
		t.Errorf("%s: %v, want the cause of the context", name, err)
	}
	if took := stall.Took(began); took > time.Second {
		t.Errorf("%s took %s, want 100ms", name, took)
	}
}

// loseEvery makes the torture lose the answers to one in so many writes.
const loseEvery = 4

// Torture runs the torture through a proxy that loses answers to writes, while the
// server is killed and started again.
func Torture(t *testing.T, server *testserver.Server, config leasetest.TortureConfig) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	TortureLosing(t, server, host+"/", "", config) // every owner begins with host/, so that writes contain it
}

// TortureLosing runs the torture through a proxy that loses answers to requests that contain
// mark, while the server is killed and started again. The mark is for example COMMIT if the
// request that completes a write contains no owner. Params are added to the server's URL.
func TortureLosing(t *testing.T, server *testserver.Server, mark, params string, config leasetest.TortureConfig) {
	t.Helper()
	proxy, url := server.Proxy(t)
	proxy.LoseSome(mark, loseEvery, time.Second) // the client waits for up to a second, until its connection is closed
	config.Server = server
	leasetest.Torture(t, url+params, config)
	t.Logf("%d answers to writes lost", proxy.Lost())
	if proxy.Lost() == 0 {
		t.Error("no answer was lost: want at least one")
	}
}

// Refuses checks that every call of a store with invalid arguments fails with an error
// that contains want.
func Refuses(t *testing.T, store lease.Store, want string) {
	t.Helper()
	_, loadErr := store.Load(t.Context())
	_, swapErr := store.CompareAndSwap(t.Context(), 1, lease.Record{}, First)
	for _, err := range []error{loadErr, swapErr} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

// WrittenTwice writes to a store whose client goes through a proxy that sends every request
// twice and returns the second answer. The store must return an error. It must not return
// true, because the second request has only found the record of the first, nor false,
// because the first request has written.
func WrittenTwice(t *testing.T, store lease.Store) {
	t.Helper()
	for _, write := range []struct{ from, to lease.Record }{{lease.Record{}, First}, {First, Second}} {
		swapped, err := store.CompareAndSwap(t.Context(), 1, write.from, write.to)
		if swapped || !errors.Is(err, stores.ErrPresent) {
			t.Errorf("CompareAndSwap(1, %v, %v) = %v, %v, want %v", write.from, write.to, swapped, err, stores.ErrPresent)
		}
		Holds(t, store, map[int]lease.Record{1: write.to})
	}
}
