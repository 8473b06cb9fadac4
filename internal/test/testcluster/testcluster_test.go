package testcluster_test

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// electingKinds are the kinds of clusters that elect their leaders themselves.
var electingKinds = []struct {
	name  string
	start func(t testing.TB, settings ...string) *testcluster.Cluster
}{
	{"etcd", testcluster.Etcd},
	{"zookeeper", testcluster.ZooKeeper},
	{"redis sentinel", testcluster.RedisSentinel},
	{"redis cluster", testcluster.RedisCluster},
}

// TestFailover checks that another member leads after the leader is cut off, and that the
// old leader follows after Heal. A leader that is cut off is harder to replace than a
// killed leader, because its connections stay open. Tests of leases kill leaders.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, kind := range electingKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			cluster := kind.start(t)
			must(t, cluster.Break(testcluster.CutOff))
			must(t, cluster.Failover())
			must(t, cluster.Heal())
		})
	}
}

// TestNoSuchFault checks that a fault that a kind of cluster does not support is an
// error, and that the cluster continues.
func TestNoSuchFault(t *testing.T) {
	t.Parallel()
	cluster := testcluster.RedisSentinel(t)
	if err := cluster.Break(testcluster.AllKilled); err == nil {
		t.Error("Break has done what Redis cannot: want an error")
	}
	must(t, cluster.Heal())
	must(t, cluster.Whole())
}

// openKept opens a database with an empty table.
func openKept(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := open(t, url)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE kept (value VARCHAR(9))"); err != nil {
		t.Fatal(err)
	}
	return db
}

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	return testdb.OpenURL(t, url).ConnPool.(*sql.DB)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
