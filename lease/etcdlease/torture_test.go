package etcdlease_test

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/etcdlease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMain(m *testing.M) { leasetest.Main(m, dial) }

// dial opens the store in a torture process. The endpoints of a cluster are separated
// by commas.
func dial(_ context.Context, endpoints, namespace string) (lease.Store, func(), error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(endpoints, ","), Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, err
	}
	return etcdlease.New(client, etcdlease.WithNamespace(namespace)), func() { client.Close() }, nil
}

// No ID is issued twice while processes are paused and killed, answers are lost, and the
// server is killed and started again.
func TestTorture(t *testing.T) {
	t.Parallel()
	storetest.Torture(t, testserver.Etcd(t), leasetest.TortureConfig{})
}
