package redislease_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// Parts of the store's warnings and errors about settings.
const (
	mayForget = "redislease: the server may forget leases in a crash"
	evictable = `maxmemory-policy is "allkeys-lru": want "noeviction"`
	unseen    = "redislease: cannot see whether the server evicts keys"
)

// The store refuses a server that evicts keys, and warns of a server that may forget or
// does not show its settings. It must find a setting by INFO if the server denies CONFIG to
// the user, and by CONFIG if the server denies INFO.
func TestServerSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		settings        []string // of the server
		denied          string   // denied to the client's user
		wantErr         string   // part of the error of each call, or empty if there is none
		wantLog, notLog string   // logged once by all calls, or empty; never logged
	}{
		{"safe", durable, "", "", "", "level="},
		{"evicting", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "", evictable, "", "level="},
		{"evicting without CONFIG", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "-config", evictable, "", "level="},
		{"evicting without INFO", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "-info", evictable, "", "level="},
		{"in memory", nil, "", "", mayForget, unseen},
		{"synced every second", []string{"--appendonly yes"}, "", "", "appendonly=yes appendfsync=everysec", unseen},
		{"not synced during a rewrite", append([]string{"--no-appendfsync-on-rewrite yes"}, durable...), "", "", "appendonly=yes appendfsync=always no-appendfsync-on-rewrite=yes", unseen},
		{"not synced by INFO", []string{"--appendfsync always"}, "-info", "", "appendonly=no appendfsync=always", unseen},
		{"safe without INFO", durable, "-info", "", "", "level="},
		{"safe without CONFIG", durable, "-config", "", `appendonly=yes appendfsync="not shown" no-appendfsync-on-rewrite="not shown"`, unseen},
		{"safe where CONFIG is unknown", append([]string{"--rename-command CONFIG hidden"}, durable...), "", "", `appendonly=yes appendfsync="not shown" no-appendfsync-on-rewrite="not shown"`, unseen},
		{"evicting where CONFIG is unknown", append([]string{"--rename-command CONFIG hidden", "--maxmemory-policy allkeys-lru"}, durable...), "", evictable, "", "level="},
		{"safe without both", durable, "-config -info", "", unseen, "nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t, test.settings...)
			client := clientOf(t, server)
			if test.denied != "" {
				args := []any{"ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all"}
				for denied := range strings.FieldsSeq(test.denied) {
					args = append(args, denied)
				}
				do(t, client, args...)
				client = connect(t, server.URL(), func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
			}
			log := new(journal)
			store := redislease.New(client, redislease.WithLogger(log.logger()))
			for worker := range 2 {
				_, err := store.CompareAndSwap(t.Context(), worker, lease.Record{}, storetest.First)
				_, loadErr := store.Load(t.Context())
				for _, err := range []error{err, loadErr} {
					if test.wantErr == "" && err != nil || test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
						t.Errorf("error = %v, want %q", err, test.wantErr)
					}
				}
			}
			text := log.String()
			if test.wantLog != "" && strings.Count(text, test.wantLog) != 1 || strings.Contains(text, test.notLog) {
				t.Errorf("logged %q, want once %q, and not %q", text, test.wantLog, test.notLog)
			}
		})
	}
}

// The server is down at the first call of the store, so that the store cannot read the
// server's settings. The next calls must read them, and must fail because the server evicts
// keys. Once the server does not evict keys, the same store must work.
func TestSettingsAreReadUntilTheyAreKnown(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, append([]string{"--maxmemory-policy allkeys-lru"}, durable...)...)
	client := clientOf(t, server)
	store := redislease.New(client)
	server.Kill()
	if _, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First); err == nil {
		t.Error("server is down: want an error")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First); err == nil || !strings.Contains(err.Error(), evictable) {
			t.Errorf("after a check that failed: %v, want %q", err, evictable)
		}
	}
	do(t, client, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	storetest.Holds(t, store, map[int]lease.Record{})
}

// A setting of the server becomes worse while the store is in use. Check must log one
// warning. If the server now evicts keys, Check must also fail, so that no worker is claimed,
// but a holder must still be able to extend its window.
func TestChangedSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, setting, value, wantErr, wantLog string // an empty value changes no setting; an empty wantLog expects no warning
	}{
		{"evicting", "maxmemory-policy", "allkeys-lru", evictable, "redislease: maxmemory-policy is"},
		{"synced every second", "appendfsync", "everysec", "", mayForget + ".*appendfsync=everysec"},
		{"not synced during a rewrite", "no-appendfsync-on-rewrite", "yes", "", mayForget + ".*no-appendfsync-on-rewrite=yes"},
		{"not on disk", "appendonly", "no", "", mayForget + ".*appendonly=no"},
		{"harmless", "appendfilename", "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, testserver.Redis(t, durable...))
			log := new(journal)
			store := redislease.New(client, redislease.WithLogger(log.logger()))
			storetest.Holds(t, store, map[int]lease.Record{})
			storetest.Write(t, store, 1, lease.Record{}, storetest.First)
			if test.value != "" {
				do(t, client, "CONFIG", "SET", test.setting, test.value)
			}
			for range 2 {
				err := store.(lease.Checker).Check(t.Context())
				if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("Check = %v, want %q", err, test.wantErr)
				}
			}
			storetest.Write(t, store, 1, storetest.First, storetest.Second)
			if _, err := store.(lease.Clock).Now(t.Context()); err != nil {
				t.Errorf("Now: %v", err)
			}
			if got := log.matches("level=WARN"); test.wantLog != "" && (got != 1 || log.matches(test.wantLog) != 1) || test.wantLog == "" && got != 0 {
				t.Errorf("logged %q, want once %q", log, test.wantLog)
			}
		})
	}
}

// The store reads the settings once for all its calls, and again after another server has
// answered Load, Get or Now. In the test, the other server is the same server after a restart,
// which gives it another run ID.
func TestSettingsAreReadAgainFromAnotherServer(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, lease.Store) error{
		"Load": func(ctx context.Context, s lease.Store) error { _, err := s.Load(ctx); return err },
		"Get": func(ctx context.Context, s lease.Store) error {
			_, _, err := s.(lease.Getter).Get(ctx, []int{1})
			return err
		},
		"Now": func(ctx context.Context, s lease.Store) error { _, err := s.(lease.Clock).Now(ctx); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t, durable...)
			client, log := clientOf(t, server), new(journal)
			store := redislease.New(client, redislease.WithLogger(log.logger()))
			ask := func() { eventually(t, name, func() bool { return call(t.Context(), store) == nil }) }
			ask()
			const settings = 2 // CONFIG shows two kinds of settings
			eventually(t, "settings are read", func() bool { return callsOf(t, client, "config|get") == settings })
			for range 10 {
				ask()
			}
			if got := callsOf(t, client, "config|get"); got != settings {
				t.Errorf("CONFIG GET: %d times, want %d", got, settings)
			}
			server.Kill()
			server.Configure("--appendfsync everysec")
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			ask()
			eventually(t, "a warning", func() bool { return log.matches(mayForget) == 1 })
		})
	}
}

// The store reads leases from the master, even through a client of a cluster that spreads
// its reads over the replicas (RouteRandomly).
func TestCluster(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		settings := append([]string{"--cluster-enabled yes", "--cluster-node-timeout 500"}, durable...)
		master, replica := start(t, settings...), start(t, settings...)
		joinCluster(t, master, replica)
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{hostPort(t, master)}, RouteRandomly: true})
		t.Cleanup(func() { client.Close() })
		store := redislease.New(client, redislease.WithNamespace("cluster"))
		last := lease.Record{}
		for i := range 50 {
			next := lease.Record{Bound: int64(i + 1), Owner: "owner"}
			storetest.Write(t, store, 1, last, next)
			storetest.Holds(t, store, map[int]lease.Record{1: next})
			last = next
		}
		if stats := do(t, clientOf(t, replica), "INFO", "commandstats").(string); strings.Contains(stats, "cmdstat_eval") {
			t.Errorf("the replica was asked: %s", stats)
		}
		do(t, clientOf(t, master), "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		if err := store.(lease.Checker).Check(t.Context()); err == nil || !strings.Contains(err.Error(), evictable) {
			t.Errorf("evicting master: %v, want %q", err, evictable)
		}
	})
}

// joinCluster makes two servers a cluster of a master with all slots, and its replica.
func joinCluster(t *testing.T, master, replica *testserver.Server) {
	t.Helper()
	m, r := clientOf(t, master), clientOf(t, replica)
	do(t, m, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	host, port, _ := strings.Cut(hostPort(t, master), ":")
	do(t, r, "CLUSTER", "MEET", host, port)
	id := do(t, m, "CLUSTER", "MYID").(string)
	eventually(t, "the nodes know each other", func() bool {
		return r.ClusterReplicate(t.Context(), id).Err() == nil
	})
	eventually(t, "the replica is in step", func() bool {
		shards, err := m.ClusterShards(t.Context()).Result()
		return err == nil && len(shards) == 1 && len(shards[0].Nodes) == 2 &&
			strings.Contains(m.ClusterInfo(t.Context()).Val(), "cluster_state:ok") &&
			strings.Contains(r.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
}

// hostPort returns the host and port of the server.
func hostPort(t *testing.T, server *testserver.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
