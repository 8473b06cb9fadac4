package redislease_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

const (
	mayForget = "redislease: the server may forget leases in a crash"
	evictable = `maxmemory-policy is "allkeys-lru": want "noeviction"`
	unseen    = "redislease: cannot see whether the server evicts keys"
)

func TestServerSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		settings        []string
		denied          string // to the client's user
		wantErr         string
		wantLog, notLog string
	}{
		{"safe", durable, "", "", "", "level="},
		{"evicting", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "", evictable, "", "level="},
		{"evicting without CONFIG", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "-config", evictable, "", "level="},
		{"evicting without INFO", append([]string{"--maxmemory-policy allkeys-lru"}, durable...), "-info", evictable, "", "level="},
		{"in memory", nil, "", "", mayForget, unseen},
		{"synced every second", []string{"--appendonly yes"}, "", "", "appendonly=yes appendfsync=everysec", unseen},
		{"not synced by INFO", []string{"--appendfsync always"}, "-info", "", "appendonly=no appendfsync=always", unseen},
		{"safe without INFO", durable, "-info", "", "", "level="},
		{"safe without CONFIG", durable, "-config", "", `appendonly=yes appendfsync="not shown"`, unseen},
		{"safe where CONFIG is unknown", append([]string{"--rename-command CONFIG hidden"}, durable...), "", "", `appendonly=yes appendfsync="not shown"`, unseen},
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

// The settings are checked as soon as there is a server, and again by each
// Load: after a failover it may be another.
func TestSettingsAreCheckedAgain(t *testing.T) {
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
	if _, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First); err == nil || !strings.Contains(err.Error(), evictable) {
		t.Errorf("after a check that failed: %v, want %q", err, evictable)
	}
	do(t, client, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	storetest.Write(t, store, 1, lease.Record{}, storetest.First)
	do(t, client, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	if _, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), evictable) {
		t.Errorf("after a change of the server: %v, want %q", err, evictable)
	}
}

// A client that spreads its reads over the replicas must read leases from the
// master all the same.
func TestCluster(t *testing.T) {
	t.Parallel()
	settings := append([]string{"--cluster-enabled yes", "--cluster-node-timeout 500"}, durable...)
	master, replica := testserver.Redis(t, settings...), testserver.Redis(t, settings...)
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
	if _, err := store.Load(t.Context()); err == nil || !strings.Contains(err.Error(), evictable) {
		t.Errorf("evicting master: %v, want %q", err, evictable)
	}
}

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

func hostPort(t *testing.T, server *testserver.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
