package sqllease_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A powerCase is a server with settings, whose machine loses power.
type powerCase struct {
	name     string
	service  string // name of the server's program in package testserver
	settings []string
	want     storetest.Durability
	long     bool // run only in the long form
}

// powerCases lists settings that keep every write, and settings that forget and that the
// store must therefore report. synchronous_commit=off is durable, because the store's
// own statements wait for the disk.
var powerCases = []powerCase{
	{"PostgreSQL", "postgres", []string{"fsync=on"}, storetest.Durable, false},
	{"PostgreSQL, synchronous_commit=off", "postgres", []string{"fsync=on", "synchronous_commit=off"}, storetest.Durable, false},
	{"PostgreSQL, fsync=off", "postgres", nil, storetest.Warned, true},
	{"MariaDB", "mariadb", nil, storetest.Durable, false},
	{"MariaDB, log_bin, sync_binlog=1", "mariadb", []string{"log-bin=binlog", "sync-binlog=1"}, storetest.Durable, false},
	{"MariaDB, log_bin, sync_binlog=0", "mariadb", []string{"log-bin=binlog", "sync-binlog=0"}, storetest.Warned, false},
	{"MariaDB, flush 2", "mariadb", []string{"innodb-flush-log-at-trx-commit=2"}, storetest.Warned, true},
	{"MariaDB, flush 0", "mariadb", []string{"innodb-flush-log-at-trx-commit=0"}, storetest.Refused, true},
	{"MySQL", "mysql", []string{"sync-binlog=1"}, storetest.Durable, false},
	{"MySQL, sync_binlog=0", "mysql", []string{"sync-binlog=0"}, storetest.Warned, true},
	{"MySQL, skip-log-bin", "mysql", []string{"skip-log-bin"}, storetest.Durable, true},
	{"MySQL, flush 2", "mysql", []string{"skip-log-bin", "innodb-flush-log-at-trx-commit=2"}, storetest.Warned, true},
	{"Galera", "galera", nil, storetest.Durable, false},
	{"Galera, log_bin, sync_binlog=0", "galera", []string{"log-bin=binlog", "sync-binlog=0"}, storetest.Warned, true},
}

// The machine of the database loses power. Under each setting the database must keep
// every acknowledged write, or the store must have warned of the setting or refused it.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for _, c := range powerCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			skipUnlessLong(t, c.long)
			server, disk := c.start(t)
			storetest.LosesPower(t, storetest.PowerLoss{Setting: c.want, Disk: disk, Server: server, Open: dialLogging})
		})
	}
}

// start starts the server on a disk that can lose power.
func (c powerCase) start(t *testing.T) (*testserver.Server, *testserver.Disk) {
	if c.service == "galera" {
		return galeraOnDisk(t, c.settings)
	}
	return testserver.OnDisk(t, c.service, nil, c.settings...)
}

// galeraOnDisk starts a cluster of one node on a disk that can lose power. At every start
// the node forms a new cluster from its data, because no other node exists that it could
// join. Before every start, galeraOnDisk removes the file grastate.dat. After a crash, this
// file would make the node refuse to form a cluster.
func galeraOnDisk(t *testing.T, settings []string) (*testserver.Server, *testserver.Disk) {
	library := testserver.Find(t, testserver.EngineOf("galera"))
	return testserver.OnDisk(t, "mariadb", func(e *testserver.Engine) {
		original := *e
		e.Args = func(s *testserver.Server) []string {
			_ = os.Remove(filepath.Join(s.Data(), "grastate.dat"))
			return append(original.Args(s), "--wsrep-new-cluster")
		}
	}, slices.Concat(settings, []string{
		"binlog-format=ROW", "innodb-autoinc-lock-mode=2", "wsrep-on=ON", "wsrep-provider=" + library,
		"wsrep-cluster-address=gcomm://", "wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:0;gcache.size=8M",
	})...)
}

// The machine that writes SQLite's file loses power. The store must keep every
// acknowledged write even under synchronous=NORMAL, because it writes under EXTRA. Here the
// processes that hold leases run on the machine and end with it.
func TestPowerLossSQLite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		journal, level string
		want           storetest.Durability
		long           bool
	}{
		{"wal", "normal", storetest.Durable, false},
		{"wal", "full", storetest.Durable, true},
		{"wal", "off", storetest.Refused, false},
		{"delete", "normal", storetest.Durable, false},
		{"delete", "full", storetest.Durable, true},
	} {
		t.Run(c.journal+", "+c.level, func(t *testing.T) {
			t.Parallel()
			skipUnlessLong(t, c.long)
			dir := t.TempDir()
			storetest.LosesPower(t, storetest.PowerLoss{
				Setting: c.want, Disk: testserver.NewDisk(t, dir), Open: dialLogging,
				Address: "sqlite://" + filepath.Join(dir, "workers.db") +
					"?_pragma=busy_timeout(5000)&_pragma=journal_mode(" + c.journal + ")&_pragma=synchronous(" + c.level + ")",
			})
		})
	}
}

// skipUnlessLong skips a test that runs only in the long form.
func skipUnlessLong(t *testing.T, longOnly bool) {
	t.Helper()
	if longOnly && !storetest.Long() {
		t.Skip("takes half a minute: set GORMFLAKE_TEST_TORTURE=long")
	}
}

// dialLogging returns a dialer of stores that log to log, with AllowVolatile if volatile
// is true.
func dialLogging(log *slog.Logger, volatile bool) leasetest.Dialer {
	opts := []sqllease.Option{sqllease.WithLogger(log)}
	if volatile {
		opts = append(opts, sqllease.AllowVolatile())
	}
	return func(_ context.Context, url, namespace string) (lease.Store, func(), error) {
		return dialWith(url, append(opts, sqllease.WithNamespace(namespace))...)
	}
}
