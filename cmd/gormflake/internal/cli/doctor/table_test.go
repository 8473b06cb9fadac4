package doctor_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// A table of workers without its primary key is a problem, because it can have two records of
// one worker, and two processes can then hold this worker. If the table has such records, they
// are a second problem.
func TestDoctorBrokenTable(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		create, err := sqllease.DDL(db.Name())
		if err != nil {
			t.Fatal(err)
		}
		create = strings.Replace(create, ",\n  PRIMARY KEY (namespace, worker_id)", "", 1)
		clitest.Execute(t, db, create)
		subject := strings.ReplaceAll(`"snowflake_workers"`, `"`, map[string]string{"sqlite": `"`, "mysql": "`", "postgres": `"`}[db.Name()])
		d := diagnose(t, dsn)
		d.wantFinding(t, "problem", "workers", subject, "it has no unique key over namespace and worker_id alone: want UNIQUE (namespace, worker_id)", "(namespace, worker_id)")
		d.wantCounts(t, 1, 0)

		for range 2 {
			clitest.Execute(t, db, "INSERT INTO snowflake_workers VALUES ('default', 7, 1, 'a'), ('other', 9, 1, 'b')")
		}
		d = diagnose(t, dsn)
		d.wantFinding(t, "problem", "workers", subject, "each row can have a holder: worker 7 of namespace default has 2, worker 9 of namespace other has 2", "keep only the row with the highest bound")
		d.wantCounts(t, 2, 0)
	})
}

// Ten workers have two records each. doctor names only the first five workers, and the number
// of the other workers.
func TestDoctorManyDoubledWorkers(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.SQLite)
	clitest.Execute(t, clitest.Open(t, dsn), "CREATE TABLE snowflake_workers (namespace TEXT NOT NULL, worker_id INTEGER NOT NULL, bound INTEGER, owner TEXT)",
		"INSERT INTO snowflake_workers SELECT 'default', value / 2, 1, '' FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT 20) SELECT value FROM n)")
	diagnose(t, dsn).wantFinding(t, "problem", "workers", `"snowflake_workers"`, "worker 4 of namespace default has 2, and 5 more", "")
}

// doctor warns if the search_path contains two tables of workers, because programs that
// use different ones lease the same workers twice.
func TestDoctorSecondTable(t *testing.T) {
	t.Parallel()
	dsn, other := testdb.URL(t, testdb.Postgres), testdb.URL(t, testdb.Postgres)
	leaseOnce(t, clitest.Open(t, dsn), snowflake.TwitterLayout())
	diagnose(t, dsn).wantCounts(t, 0, 0)
	leaseOnce(t, clitest.Open(t, other), snowflake.TwitterLayout())
	first, second := currentSchema(t, dsn), currentSchema(t, other)
	d := diagnose(t, withParameters(t, dsn, "search_path", first+","+second))
	d.wantFinding(t, "warning", "workers", `"`+second+`"."snowflake_workers"`,
		"it is a second table of workers in this database: processes that write to the same tables must lease their workers from one table", "--skip "+second+".snowflake_workers")
	d.wantCounts(t, 0, 1)
	diagnose(t, withParameters(t, dsn, "search_path", first+","+second), "--skip", second+".snowflake_workers").wantCounts(t, 0, 0)
}

// currentSchema returns the schema in which a database of PostgreSQL creates tables.
func currentSchema(t *testing.T, dsn string) (schema string) {
	t.Helper()
	if err := clitest.Open(t, dsn).Raw("SELECT current_schema()").Scan(&schema).Error; err != nil {
		t.Fatal(err)
	}
	return schema
}

// doctor also finds tables of workers in schemas outside its search_path. It warns of such a
// table if another program may find the table by the name without a schema, and otherwise only
// mentions the table. A view does not count.
func TestDoctorTableElsewhere(t *testing.T) {
	t.Parallel()
	const second = "it is a second table of workers in this database"
	dsn := testserver.Postgres(t, "fsync=on").URL()
	db := clitest.Open(t, dsn)
	for _, schema := range []string{"app", "tenant", "views"} {
		clitest.Execute(t, db, "CREATE SCHEMA "+schema)
	}
	at := func(schema string) string { return withParameters(t, dsn, "search_path", schema) }
	leaseOnce(t, clitest.Open(t, at("app")), snowflake.TwitterLayout())
	clitest.Execute(t, db, "CREATE VIEW views.snowflake_workers AS SELECT * FROM app.snowflake_workers")
	diagnose(t, at("app")).wantCounts(t, 0, 0)

	leaseOnce(t, clitest.Open(t, at("tenant")), snowflake.TwitterLayout())
	d := diagnose(t, at("app"))
	d.wantFinding(t, "ok", "workers", "", `there are other tables of workers: "tenant"."snowflake_workers"; processes that write to the same tables`, "")
	d.wantCounts(t, 0, 0)
	diagnose(t, dsn).wantFinding(t, "ok", "workers", "", `"app"."snowflake_workers", "tenant"."snowflake_workers"`, "")

	// "$user" is in the default search_path, so that the role tenant would find the table.
	clitest.Execute(t, db, "CREATE ROLE tenant")
	diagnose(t, at("app")).wantFinding(t, "warning", "workers", `"tenant"."snowflake_workers"`, second, "")
	clitest.Execute(t, db, "DROP ROLE tenant")
	diagnose(t, at("app")).wantCounts(t, 0, 0)

	database := db.Migrator().CurrentDatabase()
	clitest.Execute(t, db, "ALTER DATABASE "+database+` SET search_path = "$user", "tenant"`)
	d = diagnose(t, at("app"))
	d.wantFinding(t, "warning", "workers", `"tenant"."snowflake_workers"`, second, "")
	d.wantCounts(t, 0, 1)
	clitest.Execute(t, db, "ALTER DATABASE "+database+" RESET search_path")
	diagnose(t, at("app")).wantCounts(t, 0, 0)

	leaseOnce(t, clitest.Open(t, at("public")), snowflake.TwitterLayout())
	diagnose(t, at("app")).wantFinding(t, "warning", "workers", `"public"."snowflake_workers"`, second, "")
	diagnose(t, at("public")).wantFinding(t, "warning", "workers", `"app"."snowflake_workers"`, second, "")
	diagnose(t, dsn, "--table", "public.snowflake_workers").wantFinding(t, "warning", "workers", `"tenant"."snowflake_workers"`, second, "")
}

// A table of workers in another database of a MySQL server is mentioned without a warning,
// because programs find it only by the name of the database.
func TestDoctorTableInAnotherDatabase(t *testing.T) {
	t.Parallel()
	for _, target := range testdb.Alike(testdb.MySQL) {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dsn, other := testdb.URL(t, target), testdb.URL(t, target)
			for _, url := range []string{dsn, other} {
				leaseOnce(t, clitest.Open(t, url), snowflake.TwitterLayout())
			}
			d := diagnose(t, dsn)
			d.wantFinding(t, "ok", "workers", "", "there are other tables of workers: ", "")
			d.wantCounts(t, 0, 0)
		})
	}
}
