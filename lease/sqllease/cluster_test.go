package sqllease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// survivesFaults injects faults of each kind into a cluster, and expects that no ID is issued
// twice. Some generators have short windows and wrong clocks, and others the default window,
// which is longer than every fault. As a control, it also runs generators whose stores ignore
// the comparison in CompareAndSwap. In the long form these must issue IDs twice, which shows
// that the test can find a mistake. longOnly are faults for the long form only.
func survivesFaults(t *testing.T, c storetest.ClusterConfig, faults, longOnly []testcluster.Fault) {
	t.Helper()
	c.Dial, c.Control, c.Repeat = dial, ignoringCompare, 7
	c.Window, c.Holders, c.Default = 1500*time.Millisecond, 8, true
	c.Clocks = []time.Duration{0, time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second}
	c.Faults = faults
	if storetest.Long() {
		c.Faults = append(c.Faults, longOnly...)
	}
	storetest.Failovers(t, c)
	if storetest.Long() {
		storetest.TortureCluster(t, c)
	}
}

// ignoringCompare returns a store whose CompareAndSwap does not compare, as a control that the
// tests find IDs that are issued twice.
func ignoringCompare(store lease.Store) lease.Store { return ignoreCompare{store} }

// ignoreCompare is a store that replaces the record, whatever the record is. It waits before
// each write, so that several members that see the same free worker all take this worker.
type ignoreCompare struct{ lease.Store }

func (s ignoreCompare) CompareAndSwap(ctx context.Context, worker int, _, next lease.Record) (bool, error) {
	pause(ctx, 200*time.Millisecond)
	records, err := s.Load(ctx)
	if err != nil {
		return false, err
	}
	return s.Store.CompareAndSwap(ctx, worker, records[worker], next)
}

// No ID is issued twice while nodes of a Galera cluster die or are cut off. The cluster
// has three nodes behind a proxy that does not check their health. The sessions of half of the
// members already have wsrep_sync_wait=1, with which reads wait for the cluster, because the
// store must work in sessions with this setting and without it.
func TestClusterGalera(t *testing.T) {
	t.Parallel()
	galera := testcluster.Galera(t)
	nodes := galera.Members()
	t.Run("lagging node", laggingNode(nodes))
	t.Run("keys of batches", batchKeys(nodes))
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, node.Address())
	}
	synchronous := everyOther("?wsrep_sync_wait=1")
	survivesFaults(t, storetest.ClusterConfig{Cluster: galera, Address: func() string {
		return nodes[0].URLThrough(testserver.NewProxy(t, addresses...)) + synchronous()
	}}, []testcluster.Fault{testcluster.Killed, testcluster.CutOff}, []testcluster.Fault{testcluster.Frozen, testcluster.AllKilled})
}

// No ID is issued twice while the primary of a PostgreSQL cluster dies or is cut off. The
// cluster has a primary, a synchronous and an asynchronous standby. Clients know all three
// hosts, and use the host that accepts writes. Half of the members have serializable
// transactions.
func TestClusterPostgres(t *testing.T) {
	t.Parallel()
	postgres := testcluster.Postgres(t)
	serializable := everyOther("&default_transaction_isolation=serializable")
	survivesFaults(t, storetest.ClusterConfig{Cluster: postgres, Manual: true, Follow: true, Address: func() string {
		return postgres.URLs()[0] + serializable()
	}}, []testcluster.Fault{testcluster.Killed, testcluster.CutOff}, // and in the long form also:
		[]testcluster.Fault{testcluster.Frozen, testcluster.Demoted, testcluster.StandbyCutOff})
}

// everyOther returns a function that returns the parameter at its first, third and fifth call
// and so on, and "" at the calls between them.
func everyOther(parameter string) func() string {
	var calls atomic.Int64
	return func() string {
		if calls.Add(1)%2 == 0 {
			return ""
		}
		return parameter
	}
}

// A PostgreSQL cluster fails over to a standby that lacks acknowledged writes. Leases that
// settle for a window must issue no ID twice. As a control, the test also runs leases that do
// not settle. In the long form these must issue IDs twice.
func TestClusterPostgresThatForgets(t *testing.T) {
	t.Parallel()
	storetest.Failovers(t, storetest.ClusterConfig{
		Cluster: testcluster.Postgres(t),
		Dial:    dial,
		Faults:  []testcluster.Fault{storetest.Lost},
		Repeat:  7,
		Window:  2 * time.Second,
		Settles: true,
	})
}
