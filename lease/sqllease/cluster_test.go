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

// survives injects faults of each kind, and wants no ID twice. Sound generators have
// short windows and clocks that are wrong, or the default window, which outlasts
// every fault. The control ignores what it is to compare.
func survives(t *testing.T, c storetest.ClusterConfig, faults, longOnly []testcluster.Fault) {
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

func ignoringCompare(store lease.Store) lease.Store { return ignoreCompare{store} }

// ignoreCompare replaces whatever record is there. It takes its time, so that
// members which see the same worker free all take it.
type ignoreCompare struct{ lease.Store }

func (s ignoreCompare) CompareAndSwap(ctx context.Context, worker int, _, next lease.Record) (bool, error) {
	pause(ctx, 200*time.Millisecond)
	records, err := s.Load(ctx)
	if err != nil {
		return false, err
	}
	return s.Store.CompareAndSwap(ctx, worker, records[worker], next)
}

// Three nodes behind a proxy that knows nothing of their health. Half of the
// members, by turns, have sessions that read synchronously.
func TestClusterGalera(t *testing.T) {
	t.Parallel()
	galera := testcluster.Galera(t)
	nodes := galera.Members()
	t.Run("lagging node", lagging(nodes))
	t.Run("keys of batches", batchKeys(nodes))
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, node.Address())
	}
	synchronous := everyOther("?wsrep_sync_wait=1")
	survives(t, storetest.ClusterConfig{Cluster: galera, Address: func() string {
		return nodes[0].URLThrough(testserver.NewProxy(t, addresses...)) + synchronous()
	}}, []testcluster.Fault{testcluster.Killed, testcluster.CutOff}, []testcluster.Fault{testcluster.Frozen, testcluster.AllKilled})
}

// A primary, a synchronous and an asynchronous standby. Clients know all three
// hosts, and use the one that accepts writes. Half of the members, by turns, have
// transactions that are serializable.
func TestClusterPostgres(t *testing.T) {
	t.Parallel()
	postgres := testcluster.Postgres(t)
	serializable := everyOther("&default_transaction_isolation=serializable")
	survives(t, storetest.ClusterConfig{Cluster: postgres, Manual: true, Follow: true, Address: func() string {
		return postgres.URLs()[0] + serializable()
	}}, []testcluster.Fault{testcluster.Killed, testcluster.CutOff},
		[]testcluster.Fault{testcluster.Frozen, testcluster.Demoted, testcluster.StandbyCutOff})
}

// everyOther returns the parameter in every other call.
func everyOther(parameter string) func() string {
	var calls atomic.Int64
	return func() string {
		if calls.Add(1)%2 == 0 {
			return ""
		}
		return parameter
	}
}

// A cluster that fails over to a standby which lags forgets what it has
// acknowledged, and IDs are issued twice. A settle of a window keeps them from
// it.
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
