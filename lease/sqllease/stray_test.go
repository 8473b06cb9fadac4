package sqllease_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// Another client's SET search_path stays on a connection that PgBouncer reuses, so that the
// store does not find its table there. It must not create a second table in that schema,
// which would lease every worker again.
func TestLeakedSearchPath(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	bouncer := testserver.PgBouncer(t, server, "default_pool_size = 1")
	db := behindPooler(t, bouncer, "exec")
	swap(t, newStore(db), 1, lease.Record{}, first, true)
	run(t, db, "CREATE SCHEMA b")
	run(t, db, "SET search_path = b")
	_, err := newStore(behindPooler(t, bouncer, "exec")).Load(t.Context())
	const want = `sqllease: workers would be leased from two tables: this session creates "b"."snowflake_workers", and "public"."snowflake_workers" has records: want the table with its schema, by WithTable("public.snowflake_workers")`
	if errorText(err) != want {
		t.Errorf("Load: %v\nwant %s", err, want)
	}
	if got := load(t, newStore(behindPooler(t, bouncer, "exec"), sqllease.WithTable("public.snowflake_workers")))[1]; got != first {
		t.Errorf("with the schema: %+v, want %+v", got, first)
	}
	load(t, newStore(behindPooler(t, bouncer, "exec"), sqllease.WithTable("b.snowflake_workers"))) // a table of its own, as requested
}

// Applications with a schema each, named in their DSNs, may each have a table with records.
// A table without records in another schema does not keep the store from creating its own.
func TestSchemasOfSeveralApplications(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	db := open(t, postgres.Open(server.URL()))
	for _, schema := range []string{"a", "b"} {
		run(t, db, "CREATE SCHEMA "+schema)
		store := newStore(open(t, postgres.Open(server.URL()+"&search_path="+schema)))
		swap(t, store, 1, lease.Record{}, first, true)
	}
	run(t, db, "DELETE FROM a.snowflake_workers; DELETE FROM b.snowflake_workers")
	swap(t, newStore(db), 1, lease.Record{}, first, true)
}

// On MySQL, a program that has sent USE over a pooled connection leads the store to another
// database. The store must not create a second table there. If the DSN names that
// database, the store creates the table there.
func TestChangedDatabase(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *testserver.Server{
		"mariadb": func(t testing.TB) *testserver.Server { return testserver.MariaDB(t) },
		"mysql":   func(t testing.TB) *testserver.Server { return testserver.MySQL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			openTest := func() *gorm.DB { return open(t, mysql.Open("root@tcp("+server.Address()+")/test")) }
			swap(t, newStore(openTest()), 1, lease.Record{}, first, true)
			run(t, openTest(), "CREATE DATABASE elsewhere")
			db := openTest()
			poolOf(t, db).SetMaxOpenConns(1)
			run(t, db, "USE elsewhere")
			_, err := newStore(db).Load(t.Context())
			const want = "sqllease: workers would be leased from two tables: this session creates `elsewhere`.`snowflake_workers`, and `test`.`snowflake_workers` has records"
			if !strings.HasPrefix(errorText(err), want) {
				t.Errorf("Load: %v\nwant %s", err, want)
			}
			elsewhereDB := open(t, mysql.Open("root@tcp("+server.Address()+")/elsewhere"))
			swap(t, newStore(elsewhereDB), 1, lease.Record{}, first, true) // as its DSN requests
		})
	}
}

// Somebody renames the table while a worker is held, and puts a view in its place. The
// holder can still extend its window through the view, because the table behind it still
// has its key. Check refuses the view, so that no lease acquires a worker through it.
func TestViewInPlaceOfTheTable(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *testserver.Server{
		"mariadb": func(t testing.TB) *testserver.Server { return testserver.MariaDB(t) },
		"mysql":   func(t testing.TB) *testserver.Server { return testserver.MySQL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			db := open(t, mysql.Open("root@tcp("+server.Address()+")/test"))
			store := newStore(db)
			swap(t, store, 1, lease.Record{}, first, true)
			run(t, db, "RENAME TABLE snowflake_workers TO workers")
			run(t, db, "CREATE VIEW snowflake_workers AS SELECT * FROM workers")
			swap(t, connect(t, store), 1, first, second, true)
			err := store.(lease.Checker).Check(t.Context())
			if !strings.Contains(errorText(err), "it is a view") {
				t.Errorf("Check: %v, want an error that says it is a view", err)
			}
		})
	}
}

// A session's sql_select_limit=1 must not hide columns of the table, or records, from the
// store.
func TestRowLimitOfTheSession(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *testserver.Server{
		"mariadb": func(t testing.TB) *testserver.Server { return testserver.MariaDB(t) },
		"mysql":   func(t testing.TB) *testserver.Server { return testserver.MySQL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			store := newStore(open(t, mysql.Open("root@tcp("+server.Address()+")/test?sql_select_limit=1")))
			swap(t, store, 1, lease.Record{}, first, true)
			swap(t, store, 2, lease.Record{}, second, true)
			if got := load(t, store); len(got) != 2 {
				t.Errorf("Load = %v, want two records", got)
			}
		})
	}
}

// A proxy may send reads to a replica, which lags and has read_only on. The store refuses
// to read there, and its error tells how to reach a server that does not lag.
func TestReadOnlyServerIsNamed(t *testing.T) {
	t.Parallel()
	server := testserver.MariaDB(t)
	db := open(t, mysql.Open("root@tcp("+server.Address()+")/test"))
	store := newStore(db)
	swap(t, store, 1, lease.Record{}, first, true)
	run(t, db, "SET GLOBAL read_only = ON")
	if _, err := store.Load(context.WithoutCancel(t.Context())); !strings.Contains(errorText(err), "the server is a standby, which lags: want a server that has read_only off, for reads too") {
		t.Errorf("Load: %v, want an error that names read_only", err)
	}
	run(t, db, "SET GLOBAL read_only = OFF")
	swap(t, store, 1, first, second, true)
}

// The store refuses journal modes with which a killed process ruins the file. A
// database in memory has no other mode and is accepted.
func TestJournalMode(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]bool{"OFF": true, "MEMORY": true, "WAL": false, "DELETE": false, "TRUNCATE": false, "PERSIST": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, testdb.SQLite)
			poolOf(t, db).SetMaxOpenConns(1)
			run(t, db, "PRAGMA journal_mode = "+mode)
			_, err := newStore(db).Load(t.Context())
			if want := fmt.Sprintf("sqllease: PRAGMA journal_mode is %s, which ruins the file when a process is killed while it writes: set it to WAL", mode); refused && !strings.HasPrefix(errorText(err), want) {
				t.Errorf("Load: %v, want %s", err, want)
			}
			if !refused && err != nil {
				t.Errorf("Load: %v", err)
			}
		})
	}
}
