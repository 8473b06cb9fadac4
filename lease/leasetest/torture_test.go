package leasetest_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMain(m *testing.M) {
	storetest.RaiseParallel()
	leasetest.Main(m, dialRemote)
}

func TestTorture(t *testing.T) {
	t.Parallel()
	remote := serve(t)
	leasetest.Torture(t, remote.address, leasetest.TortureConfig{Server: remote, Duration: 4 * time.Second})
}

// quick is a torture in which a broken store shows within seconds.
func quick() leasetest.TortureConfig {
	return leasetest.TortureConfig{
		Processes: 4, Workers: 2, Window: 300 * time.Millisecond, Skew: time.Second,
		Duration: 3 * time.Second, IDs: 2000, Pauses: 2,
	}
}

// A torture that finds nothing may be blind: processes that do not see each other's
// records issue IDs twice.
func TestTortureFindsDuplicates(t *testing.T) {
	t.Parallel()
	f := leasetest.Findings(t, serve(t).address+apart, quick())
	t.Log(f)
	if c := f.Counts(); c.Duplicates == 0 || c.Shared == 0 {
		t.Errorf("%d IDs issued twice, %d ticks of a worker under two grants, want some of each", c.Duplicates, c.Shared)
	}
}
