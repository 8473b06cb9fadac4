package etcdlease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A leader that is killed, cut off or frozen costs no ID its uniqueness. With a
// store that takes unanswered writes for done it does.
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
