package redislease_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

func TestMain(m *testing.M) {
	logging.Disable() // every client would log every failover
	leasetest.Main(m, dial)
}

// dial opens the store in a torture process.
func dial(_ context.Context, url, namespace string) (lease.Store, func(), error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(options)
	return redislease.New(client, redislease.WithNamespace(namespace)), func() { client.Close() }, nil
}

// No ID is issued twice while processes are paused and killed, answers are lost, and the
// server is killed and started again.
func TestTorture(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		storetest.Torture(t, start(t, durable...), leasetest.TortureConfig{})
	})
}

// No ID is issued twice if eight processes share two workers, so that each worker changes its
// holder all the time.
func TestTortureFewWorkers(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, testserver.Redis(t, durable...).URL(), leasetest.TortureConfig{Workers: 2})
}
