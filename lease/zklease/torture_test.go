package zklease_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

func TestMain(m *testing.M) { leasetest.Main(m, dial) }

// dial opens the store in a torture process.
func dial(_ context.Context, address, namespace string) (lease.Store, func(), error) {
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return nil, nil, err
	}
	return zklease.New(conn, zklease.WithNamespace(namespace)), conn.Close, nil
}

func TestTorture(t *testing.T) {
	t.Parallel()
	storetest.Torture(t, testserver.ZooKeeper(t), leasetest.TortureConfig{})
}
