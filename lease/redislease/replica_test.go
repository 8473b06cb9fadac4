package redislease_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// The store refuses a replica that accepts writes, because the replica does not send them
// to its primary, so that both would lease the same workers. Without the refusal, the
// test must see IDs that are issued twice.
func TestWritableReplicaIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		master := start(t, durable...)
		replica := start(t, append(slices.Clone(durable), replicaOf(t, master), "--replica-read-only no")...)
		store := redislease.New(clientOf(t, master))
		storetest.Write(t, store, 1, lease.Record{}, storetest.First)
		isRefused(t, redislease.New(clientOf(t, replica)))

		unguarded := connect(t, replica.URL())
		unguarded.AddHook(withoutGuard{})
		eventually(t, "the replica has the record", func() bool {
			records, err := redislease.New(unguarded).Load(t.Context())
			return err == nil && records[1] == storetest.First
		})
		if n := repeated(t, redislease.New(unguarded), store); n == 0 {
			t.Error("without the guard no ID was issued twice: want some, or the test finds nothing")
		} else {
			t.Logf("without the guard %d IDs were issued twice", n)
		}
	})
}

// A primary becomes a replica while a store uses it. Every further call of the store must
// fail, so that a holder cannot extend its window there.
func TestPrimaryBecomesReplica(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		server := start(t, append(slices.Clone(durable), "--replica-read-only no")...)
		client := clientOf(t, server)
		store := redislease.New(client)
		storetest.Write(t, store, 1, lease.Record{}, storetest.First)
		replication := strings.Fields(strings.TrimPrefix(replicaOf(t, start(t, durable...)), "--"))
		do(t, client, replication[0], replication[1], replication[2]) // REPLICAOF host port
		isRefused(t, store)
	})
}

// replicaOf returns the option that makes a server a replica of master.
func replicaOf(t *testing.T, master *testserver.Server) string {
	t.Helper()
	u, err := url.Parse(master.URL())
	if err != nil {
		t.Fatal(err)
	}
	return "--replicaof " + u.Hostname() + " " + u.Port()
}

// isRefused expects that every call of the store fails because its server is a replica.
func isRefused(t *testing.T, store lease.Store) {
	t.Helper()
	const want = "the server is a replica (role:slave)"
	_, loadErr := store.Load(t.Context())
	_, nowErr := store.(lease.Clock).Now(t.Context())
	_, swapErr := store.CompareAndSwap(t.Context(), 1, storetest.First, storetest.Second)
	for call, err := range map[string]error{"Load": loadErr, "Now": nowErr, "CompareAndSwap": swapErr} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", call, err, want)
		}
	}
}

// withoutGuard is a hook that removes the refusal of replicas from the scripts.
type withoutGuard struct{ redis.Hook }

func (withoutGuard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook removes the refusal from each script of a pipeline.
func (withoutGuard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			dropGuard(cmd)
		}
		return next(ctx, cmds)
	}
}

// ProcessHook removes the refusal from a script.
func (withoutGuard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		dropGuard(cmd)
		return next(ctx, cmd)
	}
}

// dropGuard changes a script so that it looks for a role that no server has. It does nothing
// for other commands, of which some have a single word.
func dropGuard(cmd redis.Cmder) {
	if script, ok := cmd.Args()[min(1, len(cmd.Args())-1)].(string); ok && cmd.Name() == "eval" {
		cmd.Args()[1] = strings.ReplaceAll(script, "'role:slave'", "'role:none'")
	}
}

// repeated issues IDs under a lease of worker 0 on each of the stores, and returns how many
// were issued twice. The store on the replica must be the first. If the primary leased the
// worker first, it would send the record to the replica, where the worker would be held.
func repeated(t *testing.T, stores ...lease.Store) (twice int) {
	t.Helper()
	var all []*snowflake.Generator
	for _, store := range stores {
		leased, err := lease.Acquire(t.Context(), store, snowflake.JSSafeLayout(), lease.WithWorker(0))
		if err != nil {
			t.Fatal(err)
		}
		gen, err := snowflake.New(leased)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { gen.Close(context.Background()) })
		all = append(all, gen)
	}
	var wg sync.WaitGroup
	issued := make([][]types.ID, len(all))
	for i, gen := range all {
		wg.Go(func() {
			issued[i] = make([]types.ID, 100_000) // the IDs of four seconds
			if err := gen.Fill(t.Context(), issued[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[types.ID]bool{}
	for _, id := range slices.Concat(issued...) {
		if seen[id] {
			twice++
		}
		seen[id] = true
	}
	return twice
}
