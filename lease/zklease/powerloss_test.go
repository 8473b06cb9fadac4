package zklease_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// The servers of other tests do not wait for the disk.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	server, disk := testserver.OnDisk(t, "zookeeper", func(e *testserver.Engine) {
		args := e.Args
		e.Args = func(s *testserver.Server) []string {
			all := args(s)
			all[slices.Index(all, "-Dzookeeper.forceSync=no")] = "-Dzookeeper.forceSync=yes"
			return all
		}
	})
	storetest.LosesPower(t, storetest.PowerLoss{
		Setting: storetest.Durable, Disk: disk, Server: server,
		Open: func(*slog.Logger, bool) leasetest.Dialer { return dial },
	})
}
