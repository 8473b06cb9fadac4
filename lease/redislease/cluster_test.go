package redislease_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// Redis acknowledges writes that its replicas may never get, so that a failover forgets them.
// Leases that settle for a window must issue no ID twice. As a control, the test also runs
// leases that do not settle. In the long form these must issue IDs twice.
func TestClusterSentinel(t *testing.T) {
	t.Parallel()
	lossyFailovers(t, testcluster.RedisSentinel(t, durable...), openFailover)
}

// The failovers of TestClusterSentinel, on Valkey. Valkey also has WAITAOF, by which the
// store waits until a write is on the disk. After the failovers, the store must still send
// WAITAOF once for a write, to the master that the sentinels name.
func TestClusterSentinelValkey(t *testing.T) {
	t.Parallel()
	cluster := testcluster.ValkeySentinel(t, durable...)
	client := openFailover(cluster.URLs())
	t.Cleanup(func() { client.Close() })
	lossyFailovers(t, cluster, openFailover)
	store := redislease.New(client)
	storetest.Reconnected(t, store)
	before := callsOf(t, client, "waitaof")
	storetest.Write(t, store, 1, lease.Record{}, storetest.First)
	if got := callsOf(t, client, "waitaof"); got != before+1 {
		t.Errorf("WAITAOF: %d times for a write, want 1", got-before)
	}
}

// openFailover opens a client that asks the sentinels for the master.
func openFailover(addresses []string) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: testcluster.SentinelMaster, SentinelAddrs: addresses})
}

// A failover of a Redis cluster forgets acknowledged writes, too. Leases that settle for a
// window must issue no ID twice. As a control, the test also runs leases that do not settle.
// In the long form these must issue IDs twice.
func TestClusterRedis(t *testing.T) {
	t.Parallel()
	lossyFailovers(t, testcluster.RedisCluster(t, durable...), func(addresses []string) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	})
}

// lossyFailovers injects failovers after which a master lacks acknowledged writes.
// After the last fault this is certain. The window is longer than a failover, so that
// holders continue to issue under writes that the new master lacks.
func lossyFailovers(t *testing.T, cluster *testcluster.Cluster, open func(addresses []string) redis.UniversalClient) {
	t.Helper()
	config := storetest.ClusterConfig{
		Cluster: cluster,
		Dial:    dialer(open),
		Faults:  []testcluster.Fault{testcluster.CutOff, storetest.Lost},
		Window:  3500 * time.Millisecond,
		Settles: true,
	}
	if storetest.Long() {
		config.Faults = append([]testcluster.Fault{testcluster.Killed}, config.Faults...)
		config.Window, config.Repeat = 4*time.Second, 7
	}
	storetest.Failovers(t, config)
}

// dialer opens stores over clients of several addresses.
func dialer(open func(addresses []string) redis.UniversalClient) func(context.Context, string, string) (lease.Store, func(), error) {
	return func(_ context.Context, addresses, namespace string) (lease.Store, func(), error) {
		client := open(strings.Split(addresses, ","))
		log := slog.New(slog.DiscardHandler)
		return redislease.New(client, redislease.WithNamespace(namespace), redislease.WithLogger(log)), func() { client.Close() }, nil
	}
}
