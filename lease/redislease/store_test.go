package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// The store passes the tests that every store with a server must pass.
func TestStore(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		storetest.All(t, storetest.Setup{
			Start: func(t testing.TB) *testserver.Server { return start(t, durable...) },
			Open: func(t *testing.T, server *testserver.Server, namespace string) lease.Store {
				return redislease.New(clientOf(t, server), redislease.WithNamespace(namespace))
			},
		})
	})
}

// If the reply to a write is lost, the store returns an error, and the script is sent once.
// By default the client would send the script again.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		server := start(t, durable...)
		direct := clientOf(t, server)
		proxy := testserver.NewProxy(t, strings.TrimPrefix(server.URL(), "redis://"))
		store := redislease.New(connect(t, "redis://"+proxy.Address()))
		storetest.Holds(t, store, map[int]lease.Record{})
		do(t, direct, "CONFIG", "RESETSTAT")
		proxy.CutAfter(0) // at the next reply
		swapped, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First)
		if err == nil {
			t.Errorf("CompareAndSwap without a reply = %v, want an error", swapped)
		}
		stats := do(t, direct, "INFO", "commandstats")
		if !strings.Contains(fmt.Sprint(stats), "cmdstat_eval:calls=1,") {
			t.Errorf("the script was not sent exactly once: %s", stats)
		}
		storetest.Holds(t, store, map[int]lease.Record{1: storetest.First})
	})
}

// A proxy may repeat a request that has been carried out. The store must then return an
// error, neither true nor false.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		client := clientOf(t, start(t, durable...))
		storetest.Holds(t, redislease.New(client), map[int]lease.Record{}) // so that the server's settings are read
		client.AddHook(twice{})
		storetest.WrittenTwice(t, redislease.New(client))
	})
}

// twice is a hook that carries every command out twice, and keeps the second reply.
type twice struct{ redis.Hook }

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook carries the pipeline out twice.
func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return errors.Join(next(ctx, cmds), next(ctx, cmds))
	}
}

// ProcessHook carries the command out twice.
func (twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return errors.Join(next(ctx, cmd), next(ctx, cmd))
	}
}

// A read by a replica would lack the last writes of its primary. The script by which the
// store reads also contains a command that writes, so that a replica must refuse it.
func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		master := start(t, durable...)
		storetest.Write(t, redislease.New(clientOf(t, master)), 1, lease.Record{}, storetest.First)
		u, err := url.Parse(master.URL())
		if err != nil {
			t.Fatal(err)
		}
		replica := start(t, append(durable, "--replicaof "+u.Hostname()+" "+u.Port())...)
		store := redislease.New(connect(t, replica.URL(), func(o *redis.Options) { o.MaxRetries = -1 }))
		if records, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("Load from a replica = %v, %v, want READONLY", records, err)
		}
		if now, err := store.(lease.Clock).Now(t.Context()); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("Now from a replica = %v, %v, want READONLY", now, err)
		}
	})
}

// The server refuses a write because it has too few replicas or no memory left. The write
// has not happened, because the script stops at its first command that writes.
func TestRefusedWritesAreNotApplied(t *testing.T) {
	t.Parallel()
	// The value of the setting refuses writes, and harmless allows them again.
	tests := []struct{ name, setting, value, harmless, want string }{
		{"too few replicas", "min-replicas-to-write", "1", "0", "NOREPLICAS"},
		{"out of memory", "maxmemory", "1", "0", "OOM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, testserver.Redis(t, durable...))
			store := redislease.New(client)
			storetest.Write(t, store, 1, lease.Record{}, storetest.First)
			do(t, client, "CONFIG", "SET", test.setting, test.value)
			swapped, err := store.CompareAndSwap(t.Context(), 1, storetest.First, storetest.Second)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("CompareAndSwap = %v, %v, want %s", swapped, err, test.want)
			}
			do(t, client, "CONFIG", "SET", test.setting, test.harmless)
			storetest.Holds(t, store, map[int]lease.Record{1: storetest.First})
		})
	}
}

// A node of a cluster does not have the slot of the store's key, because it has no slots. It
// refuses a script without running it. CompareAndSwap must return the node's error.
func TestNodeRefusesOtherSlots(t *testing.T) {
	t.Parallel()
	node := testserver.Redis(t, append([]string{"--cluster-enabled yes"}, durable...)...)
	client := connect(t, node.URL(), func(o *redis.Options) { o.MaxRetries = -1 })
	swapped, err := redislease.New(client).CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First)
	if err == nil || !strings.Contains(err.Error(), "CLUSTERDOWN") {
		t.Errorf("CompareAndSwap on a node without slots = %v, %v, want CLUSTERDOWN", swapped, err)
	}
}

// New returns no error. If its arguments are invalid, every call of the store must return all
// errors about them.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { client.Close() })
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { ring.Close() })
	tests := []struct {
		name  string
		store lease.Store
		want  string
	}{
		{"nil client", redislease.New(nil), "redislease: client is nil"},
		{"nil pointer", redislease.New((*redis.Client)(nil)), "redislease: client is nil"},
		{"ring", redislease.New(ring), "redislease: a redis.Ring forgets"},
		{"nil option", redislease.New(client, nil), "redislease: option 1 is nil"},
		{"nil logger", redislease.New(client, redislease.WithLogger(nil)), "redislease: WithLogger(nil): want a logger"},
		{"two mistakes", redislease.New(nil, nil), "option 1 is nil\nredislease: client is nil"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			storetest.Refuses(t, test.store, test.want)
			if err := test.store.(lease.Checker).Check(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Check = %v, want %q", err, test.want)
			}
		})
	}
}

// Another program has written a field whose name is no worker, or whose value is no record,
// into the hash of a namespace. Load must return an error.
func TestForeignField(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, durable...))
	for field, value := range map[string]string{"one": "1|x", "2": "x"} {
		do(t, client, "HSET", "gormflake:{"+field+"}", field, value)
		records, err := redislease.New(client, redislease.WithNamespace(field)).Load(t.Context())
		if err == nil {
			t.Errorf("field %q with value %q: Load = %v, want an error", field, value, records)
		}
	}
}

// The key has no time to live, because with the key all bounds would vanish.
func TestNeverExpires(t *testing.T) {
	t.Parallel()
	client := clientOf(t, testserver.Redis(t, durable...))
	storetest.Write(t, redislease.New(client), 1, lease.Record{}, storetest.First)
	if ttl := do(t, client, "TTL", "gormflake:{default}"); ttl != int64(-1) {
		t.Errorf("time to live = %v, want none, which is -1", ttl)
	}
}

// Now returns the time of the server that keeps the records, in microseconds.
func TestNow(t *testing.T) {
	t.Parallel()
	clock := redislease.New(clientOf(t, testserver.Redis(t, durable...))).(lease.Clock)
	before := time.Now().Truncate(time.Microsecond)
	got, err := clock.Now(t.Context())
	if after := time.Now(); err != nil || got.Before(before) || got.After(after) {
		t.Errorf("Now = %v, %v, want a time between %v and %v", got, err, before, after)
	}
}

// Now returns an error for a missing client, a user without the right, and a server that is
// down.
func TestNowFails(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, durable...)
	store := redislease.New(clientOf(t, server))
	if _, err := redislease.New(nil).(lease.Clock).Now(t.Context()); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Errorf("Now without a client: %v", err)
	}
	do(t, clientOf(t, server), "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-time")
	app := connect(t, server.URL(), func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
	if got, err := redislease.New(app).(lease.Clock).Now(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": want a user who is allowed EVAL, HGET, HSET, HDEL, HGETALL, TIME and INFO on the key gormflake:{default}") {
		t.Errorf("Now without TIME = %v, %v, want an error with the fix", got, err)
	}
	server.Kill()
	if got, err := store.(lease.Clock).Now(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "redislease: read: ") {
		t.Errorf("Now while the server is down = %v, %v, want an error", got, err)
	}
}
