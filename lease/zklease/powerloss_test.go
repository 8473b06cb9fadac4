package zklease_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

// The machine of the server loses power. With forceSync=yes, ZooKeeper must keep every
// acknowledged write. With forceSync=no it forgets writes, and the store must have warned.
// ZooKeeper does not show this setting to clients, so a store without WithForceSync always
// warns. In other tests all servers run with forceSync=no, which is faster.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for forceSync, test := range map[string]struct {
		want    storetest.Durability
		options []zklease.Option
	}{
		"yes": {storetest.Durable, []zklease.Option{zklease.WithForceSync()}},
		"no":  {storetest.Warned, nil},
	} {
		t.Run("forceSync="+forceSync, func(t *testing.T) {
			t.Parallel()
			server, disk := testserver.OnDisk(t, "zookeeper", func(e *testserver.Engine) {
				// Replace the option with which the servers of other tests run.
				args := e.Args
				e.Args = func(s *testserver.Server) []string {
					all := args(s)
					all[slices.Index(all, "-Dzookeeper.forceSync=no")] = "-Dzookeeper.forceSync=" + forceSync
					return all
				}
			})
			storetest.LosesPower(t, storetest.PowerLoss{
				Setting: test.want, Disk: disk, Server: server,
				Open: func(log *slog.Logger, _ bool) leasetest.Dialer {
					return dialWith(append(test.options, zklease.WithLogger(log))...)
				},
			})
		})
	}
}
