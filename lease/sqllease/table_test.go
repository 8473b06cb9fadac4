package sqllease_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// DDL returns the statement for each database, with the name of the table as it was given.
func TestDDL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dialect string
		opts    []sqllease.Option
		want    string
	}{
		{"sqlite", nil, `CREATE TABLE IF NOT EXISTS "snowflake_workers" (
  namespace VARCHAR(64) NOT NULL,
  worker_id INTEGER NOT NULL,
  bound BIGINT NOT NULL,
  owner VARCHAR(128) NOT NULL,
  PRIMARY KEY (namespace, worker_id)
);
`},
		{"mysql", []sqllease.Option{sqllease.WithTable("ids.workers")}, "CREATE TABLE IF NOT EXISTS `ids`.`workers` (" + `
  namespace VARBINARY(64) NOT NULL,
  worker_id INTEGER NOT NULL,
  bound BIGINT NOT NULL,
  owner VARBINARY(128) NOT NULL,
  PRIMARY KEY (namespace, worker_id)
) ENGINE=InnoDB;
`},
		{"postgres", []sqllease.Option{sqllease.WithTable("Order")}, `CREATE TABLE IF NOT EXISTS "Order" (
  namespace VARCHAR(64) COLLATE "C" NOT NULL,
  worker_id INTEGER NOT NULL,
  bound BIGINT NOT NULL,
  owner VARCHAR(128) COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, worker_id)
);
`},
	} {
		if got, err := sqllease.DDL(test.dialect, test.opts...); err != nil || got != test.want {
			t.Errorf("DDL(%q) = %s, %v, want %s", test.dialect, got, err, test.want)
		}
	}
	const unsupported = `sqllease: dialect "oracle" is not supported: want sqlite, mysql or postgres`
	if got, err := sqllease.DDL("oracle"); got != "" || errorText(err) != unsupported {
		t.Errorf("DDL = %q, %v, want %s", got, err, unsupported)
	}
	if got, err := sqllease.DDL("sqlite", sqllease.WithTable("")); got != "" || err == nil {
		t.Errorf("DDL without a name = %q, %v, want an error", got, err)
	}
}

// Every call of a store with an invalid option returns the errors of its options.
func TestOptions(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	table := func(name string) string {
		return fmt.Sprintf("sqllease: WithTable(%q): want a table or schema.table, each of up to 63 ASCII letters, digits, hyphens and underscores", name)
	}
	namespace := func(name string) string {
		return fmt.Sprintf("sqllease: WithNamespace(%q): want 1 to 64 characters of printable ASCII", name)
	}
	long := strings.Repeat("x", 65)
	for _, test := range []struct {
		opts []sqllease.Option
		want string
	}{
		{[]sqllease.Option{sqllease.WithNamespace("")}, namespace("")},
		{[]sqllease.Option{sqllease.WithNamespace(long)}, namespace(long)},
		{[]sqllease.Option{sqllease.WithNamespace("größe")}, namespace("größe")},
		{[]sqllease.Option{sqllease.WithNamespace("a\x00b")}, namespace("a\x00b")},
		{[]sqllease.Option{sqllease.WithTable("")}, table("")},
		{[]sqllease.Option{sqllease.WithTable("a.b.c")}, table("a.b.c")},
		{[]sqllease.Option{sqllease.WithTable("a.")}, table("a.")},
		{[]sqllease.Option{sqllease.WithTable(".a")}, table(".a")},
		{[]sqllease.Option{sqllease.WithTable(long)}, table(long)},
		{[]sqllease.Option{sqllease.WithTable(`a" b`)}, table(`a" b`)},
		{[]sqllease.Option{sqllease.WithTable("a`b")}, table("a`b")},
		{[]sqllease.Option{sqllease.WithTable("a;DROP TABLE b")}, table("a;DROP TABLE b")},
		{[]sqllease.Option{sqllease.WithTable("tablé")}, table("tablé")},
		{[]sqllease.Option{sqllease.WithTable("100%d?")}, table("100%d?")},
		{[]sqllease.Option{sqllease.WithLogger(nil)}, "sqllease: WithLogger(nil): want a logger"},
		{[]sqllease.Option{sqllease.WithPool(nil)}, "sqllease: WithPool(nil): want a pool"},
		{[]sqllease.Option{nil}, "sqllease: option 1 is nil"},
		{[]sqllease.Option{sqllease.WithTable(""), sqllease.WithNamespace("")}, table("") + "\n" + namespace("")},
	} {
		wantError(t, test.want, newStore(db, test.opts...), test.want)
	}
}

// The store uses odd names of tables, such as "order" and "a-b", exactly as they are
// written, and quotes them as GORM does.
func TestTableNames(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		names := []string{"workers", "WORKERS2", "order", "a-b", "1", strings.Repeat("x", 63), schemaOf(t, db) + ".qualified"}
		for _, name := range names {
			store := newStore(db, sqllease.WithTable(name), sqllease.WithNamespace("it's 100%? `\"\\"))
			swap(t, store, 1, lease.Record{}, lease.Record{Bound: 1, Owner: name}, true)
			if got := load(t, store)[1].Owner; got != name {
				t.Errorf("table %q holds the owner %q", name, got)
			}
			var rows int64
			if err := db.Table(name).Count(&rows).Error; err != nil || rows != 1 {
				t.Errorf("GORM finds %d rows in table %q (%v), want 1", rows, name, err)
			}
		}
	})
}

// schemaOf returns the schema in which the test creates tables.
func schemaOf(t *testing.T, db *gorm.DB) string {
	t.Helper()
	query := map[string]string{
		"sqlite":   "SELECT 'main'",
		"mysql":    "SELECT DATABASE()",
		"postgres": "SELECT current_schema()",
	}[db.Dialector.Name()]
	var schema string
	if err := db.Raw(query).Scan(&schema).Error; err != nil {
		t.Fatal(err)
	}
	return schema
}

// 64 stores use a database without the table for the first time at once, like processes that
// start together. Each must be able to write, although only one of them creates the table.
func TestCreateConcurrently(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		const processes = 64
		stores := make([]lease.Store, processes)
		var pool *gorm.DB
		for i := range stores {
			if i%4 == 0 { // servers allow about a hundred connections in total
				pool = reopen(t, db)
				limitPool(t, pool, 1)
			}
			stores[i] = newStore(pool)
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, store := range stores {
			wg.Go(func() {
				<-start
				written, err := store.CompareAndSwap(within(t, patience), i, lease.Record{}, first)
				if !written || err != nil {
					t.Errorf("CompareAndSwap = %v, %v, want true", written, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if got := len(load(t, newStore(db))); got != processes {
			t.Errorf("%d records are there, want %d", got, processes)
		}
	})
}

// limitPool sets how many connections the pool may open.
func limitPool(t *testing.T, db *gorm.DB, connections int) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(connections)
}

// If the table is dropped after the first use, every call returns an error, and the store does
// not create the table again. In an empty table every worker would be free.
func TestTableDropped(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		run(t, db, "DROP TABLE snowflake_workers")
		if records, err := store.Load(within(t, patience)); err == nil {
			t.Errorf("Load = %v, want an error", records)
		}
		if written, err := store.CompareAndSwap(within(t, patience), 1, lease.Record{}, second); err == nil {
			t.Errorf("CompareAndSwap = %v, want an error", written)
		}
		if db.Migrator().HasTable("snowflake_workers") {
			t.Error("the table is there again")
		}
	})
}

// The store creates the table only after the error that the table does not exist. After any
// other error, a new table could hide the real table, which a later schema of the search
// path may contain.
func TestNotCreatedOnOtherErrors(t *testing.T) {
	t.Parallel()
	for target, failingQuery := range map[testdb.Target]string{
		testdb.SQLite:   "SELECT no_such_function()",
		testdb.MySQL:    "SELECT no_such_column",
		testdb.Postgres: "SELECT 1 / 0",
	} {
		testdb.EachOf(t, testdb.Alike(target), func(t *testing.T, db *gorm.DB) {
			store := newStore(proxied(t, db, &proxy{rewrite: func(statement string) string {
				if strings.Contains(statement, "WHERE 1 = 0") {
					return failingQuery // in place of the query that looks for the table
				}
				return statement
			}}))
			if records, err := store.Load(within(t, patience)); err == nil {
				t.Errorf("Load = %v, want an error", records)
			}
			if db.Migrator().HasTable("snowflake_workers") {
				t.Error("the table has been created")
			}
		})
	}
}

// Namespaces with similar names, such as "b", "B" and "b ", have equal records. A write in
// one namespace must not change the records of the others.
func TestNamespacesWithEqualRecords(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		names := []string{"b", "B", "b ", "a", "c", "bb"}
		for _, name := range names {
			swap(t, newStore(db, sqllease.WithNamespace(name)), 1, lease.Record{}, first, true)
		}
		swap(t, newStore(db, sqllease.WithNamespace("b")), 1, first, second, true)
		for _, name := range names[1:] {
			if got := load(t, newStore(db, sqllease.WithNamespace(name))); len(got) != 1 || got[1] != first {
				t.Errorf("namespace %q holds %v, want %+v", name, got, first)
			}
		}
		store := newStore(db)
		if got := load(t, store); len(got) != 0 {
			t.Errorf("the default namespace holds %v, want nothing", got)
		}
	})
}

// An account that may not create the table gets an error that says how to create it. Once
// somebody else has created it, the same store can use it.
func TestWithoutCreateRight(t *testing.T) {
	t.Parallel()
	// The test starts servers, because on shared servers it may not create users.
	tests := map[string]struct {
		server func(testing.TB, ...string) *testserver.Server
		// restricted opens the database under an account without the right, the grantee.
		restricted func(*testing.T, *gorm.DB) (limited *gorm.DB, grantee string)
	}{
		"mariadb":  {testserver.MariaDB, mysqlUser},
		"mysql":    {testserver.MySQL, mysqlUser},
		"postgres": {testserver.Postgres, postgresRole},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := test.server(t).URL()
			if name != "postgres" { // on PostgreSQL every user may do everything in the database test
				run(t, testdb.OpenURL(t, url), "CREATE DATABASE shop")
				url = strings.Replace(url, "/test", "/shop", 1)
			}
			db := testdb.OpenURL(t, url)
			limited, grantee := test.restricted(t, db)
			store := newStore(limited)
			_, err := store.Load(within(t, patience))
			hint := fmt.Sprintf("allow it, or have the table created by the statement that sqllease.DDL(%q) returns", db.Dialector.Name())
			if err == nil || !strings.Contains(err.Error(), "snowflake_workers") || !strings.Contains(err.Error(), hint) {
				t.Errorf("without the table, Load: %v, want an error that says %s", err, hint)
			}
			run(t, db, ddlOf(t, db), "GRANT SELECT, INSERT, UPDATE ON snowflake_workers TO "+grantee)
			swap(t, store, 1, lease.Record{}, first, true) // the same store
			swap(t, store, 1, first, second, true)
			if got := load(t, newStore(limited))[1]; got != second {
				t.Errorf("the record is %+v, want %+v", got, second)
			}
		})
	}
}

// mysqlUser creates a user without rights on the table of workers, and opens the database
// as this user.
func mysqlUser(t *testing.T, db *gorm.DB) (limited *gorm.DB, grantee string) {
	t.Helper()
	name, password := "gormflake_"+strings.ToLower(rand.Text()[:16]), rand.Text()
	grantee = name + "@'%'"
	run(t, db, "CREATE USER "+grantee+" IDENTIFIED BY '"+password+"'",
		"CREATE TABLE orders (id BIGINT PRIMARY KEY)",
		"GRANT SELECT ON orders TO "+grantee) // otherwise the user cannot connect to the database
	t.Cleanup(func() { run(t, db, "DROP USER "+grantee) })
	return open(t, mysqlWith(func(c *mysql.Config) {
		c.DSNConfig.User, c.DSNConfig.Passwd = name, password
	})(t, db)), grantee
}

// postgresRole creates a role without rights on the table of workers, and opens the
// database under this role.
func postgresRole(t *testing.T, db *gorm.DB) (limited *gorm.DB, grantee string) {
	t.Helper()
	name := "gormflake_" + strings.ToLower(rand.Text())
	run(t, db, "CREATE ROLE "+name, "GRANT USAGE ON SCHEMA "+schemaOf(t, db)+" TO "+name)
	t.Cleanup(func() { run(t, db, "DROP OWNED BY "+name, "DROP ROLE "+name) })
	return open(t, postgresWith("role="+name)(t, db)), name
}
