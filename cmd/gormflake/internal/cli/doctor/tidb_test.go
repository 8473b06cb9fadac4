package doctor_test

import (
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/snowflake"
)

// On TiDB, doctor ignores the settings of InnoDB, which have no effect there, and sequences,
// which cannot be selected from. It reports a table of workers whose rows expire (TTL), and
// goes on with the checks that it makes on MySQL. "make tidb" runs the other tests on TiDB.
func TestDoctorTiDB(t *testing.T) {
	t.Parallel()
	dsn := testserver.TiDB(t).URL()
	db := clitest.Open(t, dsn)
	createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
	leaseOnce(t, db, snowflake.TwitterLayout())
	clitest.Execute(t, db, "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "CREATE SEQUENCE numbers")
	d := diagnose(t, dsn)
	d.wantFinding(t, "ok", "settings", "", "the server is TiDB, whose settings do not show what it forgets", "")
	d.wantFinding(t, "ok", "workers", "", "1024 of 1024 are free", "")
	d.wantFinding(t, "ok", "keys", "", "1 of them with Snowflake IDs", "")
	d.wantCounts(t, 0, 0)

	diagnose(t, withParameters(t, dsn, "autocommit", "0")).wantFinding(t, "problem", "settings", "autocommit", "it is 0", "remove it from the DSN")

	clitest.Execute(t, db, "ALTER TABLE snowflake_workers ADD COLUMN at TIMESTAMP DEFAULT CURRENT_TIMESTAMP", "ALTER TABLE snowflake_workers TTL = at + INTERVAL 1 DAY",
		"CREATE TABLE audits (order_id INT)")
	d = diagnose(t, dsn)
	d.wantFinding(t, "problem", "workers", "`snowflake_workers`", "its rows expire", "ALTER TABLE `snowflake_workers` REMOVE TTL")
	d.wantFinding(t, "problem", "columns", "audits.order_id", "too narrow for a Snowflake ID", "")
	d.wantCounts(t, 2, 0)
}
