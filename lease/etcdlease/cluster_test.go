package etcdlease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// If the leader is killed, cut off or frozen, no ID is issued twice. As a control, the test
// also runs generators whose stores treat unanswered writes as acknowledged. In the long form
// these must issue IDs twice.
func TestCluster(t *testing.T) {
	t.Parallel()
	config := storetest.ClusterConfig{
		Cluster: testcluster.Etcd(t),
		Dial:    dial,
		Faults:  []testcluster.Fault{testcluster.Killed, testcluster.CutOff},
		Control: storetest.TrustUnanswered,
		Repeat:  10,
	}
	storetest.CutOffIsMute(t, config.Cluster, dial)
	storetest.Failovers(t, config)
	config.Faults = append(config.Faults, testcluster.Frozen)
	storetest.TortureCluster(t, config)
}
