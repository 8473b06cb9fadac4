package zklease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A leader that is killed, cut off or frozen costs no ID its uniqueness. With a
// store that takes unanswered writes for done it does. Generators meet a leader that
// is cut off in the long form only: an election may then take half a minute.
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
