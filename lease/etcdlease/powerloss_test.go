package etcdlease_test

import (
	"log/slog"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// The machine of the server loses power. etcd must keep every acknowledged write.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	server, disk := testserver.OnDisk(t, "etcd", nil)
	storetest.LosesPower(t, storetest.PowerLoss{
		Setting: storetest.Durable, Disk: disk, Server: server,
		Open: func(*slog.Logger, bool) leasetest.Dialer { return dial },
	})
}
