package zklease_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// The servers of other tests do not wait for the disk, and ZooKeeper shows to nobody
// whether it does.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for forceSync, want := range map[string]storetest.Durability{"yes": storetest.Durable, "no": storetest.Documented} {
		t.Run("forceSync="+forceSync, func(t *testing.T) {
			t.Parallel()
			server, disk := testserver.OnDisk(t, "zookeeper", func(e *testserver.Engine) {
				args := e.Args
				e.Args = func(s *testserver.Server) []string {
					all := args(s)
					all[slices.Index(all, "-Dzookeeper.forceSync=no")] = "-Dzookeeper.forceSync=" + forceSync
					return all
				}
			})
			storetest.LosesPower(t, storetest.PowerLoss{
				Setting: want, Disk: disk, Server: server,
				Open: func(*slog.Logger, bool) leasetest.Dialer { return dial },
			})
		})
	}
}
