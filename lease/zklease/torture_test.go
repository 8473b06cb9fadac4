package zklease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

// sessionTimeout is long enough for servers on a busy machine. If a server does not
// answer, a client waits for two thirds of it.
const sessionTimeout = 4 * time.Second

func TestMain(m *testing.M) { leasetest.Main(m, dial) }

// dial opens the store in a torture process. The addresses of an ensemble are separated
// by commas.
func dial(ctx context.Context, addresses, namespace string) (lease.Store, func(), error) {
	return dialWith(zklease.WithForceSync())(ctx, addresses, namespace)
}

// dialWith returns a dialer of stores with these options.
func dialWith(opts ...zklease.Option) leasetest.Dialer {
	return func(_ context.Context, addresses, namespace string) (lease.Store, func(), error) {
		conn, _, err := zk.Connect(strings.Split(addresses, ","), sessionTimeout, zk.WithLogger(silent{}))
		if err != nil {
			return nil, nil, err
		}
		return zklease.New(conn, append(opts, zklease.WithNamespace(namespace))...), conn.Close, nil
	}
}

// No ID is issued twice while processes are paused and killed, answers are lost, and the
// server is killed and started again.
func TestTorture(t *testing.T) {
	t.Parallel()
	storetest.Torture(t, testserver.ZooKeeper(t), leasetest.TortureConfig{})
}
