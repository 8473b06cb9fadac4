package doctor_test

import (
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// --try inserts keys into copies of the tables, so that the tables stay empty. The last
// statements would fail if a lock were left.
func TestDoctorTry(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		diagnose(t, url, "--try").wantCounts(t, 0, 0)
		clitest.Execute(t, db, "CREATE TABLE orders (id "+snowflakeKey[db.Name()]+" PRIMARY KEY)")
		diagnose(t, url).wantFinding(t, "ok", "keys", "", "no key was tried in 1 moved table: --try does that", "")
		d := diagnose(t, url, "--try")
		d.wantCounts(t, 0, 0)
		d.wantFinding(t, "ok", "keys", "", "1 moved table and what is connected with them take keys of today", "")
		clitest.Execute(t, db, "INSERT INTO orders VALUES (1)", "DROP TABLE orders")
	})
}

// --try reports a constraint that rejects today's keys, and a view that cannot be read with
// them. zeroblob(id) fails because no blob can be that long.
func TestDoctorTryRejected(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	db := clitest.Open(t, url)
	clitest.Execute(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY, CONSTRAINT small CHECK (id < 1000000))",
		"CREATE TABLE lines (id BIGINT PRIMARY KEY)", "CREATE VIEW words AS SELECT length(zeroblob(id)) FROM lines")
	diagnose(t, url).wantCounts(t, 0, 0)
	d := diagnose(t, url, "--try")
	d.wantCounts(t, 2, 0)
	d.wantFinding(t, "problem", "keys", "orders", "CHECK constraint failed: small", "change what rejects the key")
	d.wantFinding(t, "problem", "keys", "lines", "view words: it cannot be read with key", "change the view")
	diagnose(t, url, "--try", "--skip", "orders", "--skip", "lines").wantCounts(t, 0, 0)
}

// doctor reports key 0, because a generator never issues it.
func TestDoctorKeyZero(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		clitest.Execute(t, db, "CREATE TABLE orders (id "+snowflakeKey[db.Name()]+" PRIMARY KEY)", "INSERT INTO orders VALUES (0)")
		d := diagnose(t, url)
		d.wantCounts(t, 1, 0)
		d.wantFinding(t, "problem", "keys", "orders", "its smallest id, 0, is not positive", "--skip orders")
	})
}
