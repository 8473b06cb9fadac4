package zklease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// If the leader is killed, cut off or frozen, no ID is issued twice. As a control, the test
// also runs generators whose stores treat unanswered writes as acknowledged. In the long form
// these must issue IDs twice. In the short form, Failovers does not cut the leader off,
// because an election may then take half a minute.
func TestCluster(t *testing.T) {
	t.Parallel()
	config := storetest.ClusterConfig{
		Cluster: testcluster.ZooKeeper(t),
		Dial:    dial,
		Faults:  []testcluster.Fault{testcluster.Killed},
		Control: storetest.TrustUnanswered,
		Repeat:  10,
	}
	if storetest.Long() {
		config.Faults = append(config.Faults, testcluster.CutOff)
	}
	storetest.CutOffIsMute(t, config.Cluster, dial)
	storetest.Failovers(t, config)
	config.Faults = []testcluster.Fault{testcluster.Killed, testcluster.CutOff, testcluster.Frozen}
	storetest.TortureCluster(t, config)
}
