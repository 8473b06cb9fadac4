package sqllease_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// dirt is a state in which a program returns a connection to its pool.
type dirt struct {
	name       string
	statements []string // statements that cause it; see complete and leaveDirt for their %[n]s
	logged     string   // the message that the store logs; may be empty
	fails      bool     // the store returns an error, because every connection of the pool has this state
}

// hiding and emptyHiding create a temporary table that hides the real table while the
// session lasts.
const (
	openTransaction = "a transaction" // "in progress" in MySQL, "inside" in SQLite
	insertOrder     = "INSERT INTO orders VALUES (1)"
	hiding          = "CREATE TEMPORARY TABLE snowflake_workers AS SELECT * FROM snowflake_workers"
	emptyHiding     = hiding + " WHERE 1 = 0"
)

var sqliteDirt = []dirt{
	{"transaction", []string{"BEGIN"}, openTransaction, false},
	{"transaction that has read", []string{"BEGIN", "SELECT * FROM snowflake_workers"}, openTransaction, false},
	{"transaction that has written", []string{"BEGIN", insertOrder}, openTransaction, false},
	{"transaction under EXTRA", []string{"PRAGMA synchronous = EXTRA", "BEGIN", insertOrder}, openTransaction, false},
	{"savepoint", []string{"SAVEPOINT a", insertOrder}, openTransaction, false},
	{"temporary table", []string{hiding}, "", false},
	{"empty temporary table", []string{emptyHiding}, "", false},
	{"query_only", []string{"PRAGMA query_only = ON"}, "", true},
}

var mysqlDirt = []dirt{
	{"transaction", []string{"BEGIN"}, openTransaction, false},
	{"transaction that has read", []string{"BEGIN", "SELECT * FROM snowflake_workers"}, openTransaction, false},
	{"transaction that has written", []string{"BEGIN", insertOrder}, openTransaction, false},
	{"transaction of two phases", []string{"XA START '%[3]s'", insertOrder}, openTransaction, false},
	{"autocommit", []string{"SET autocommit = 0"}, "autocommit=0", false},
	{"autocommit, has written", []string{"SET autocommit = 0", insertOrder}, "autocommit=0", false},
	{"read uncommitted", []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"}, "", false},
	{"serializable", []string{"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"}, "", false},
	{"read only", []string{"SET SESSION TRANSACTION READ ONLY"}, "1792", false},
	{"sql_mode", []string{"SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'"}, "", false},
	{"time_zone", []string{"SET time_zone = '+09:00'"}, "", false},
	{"another database", []string{"USE information_schema"}, "", false},
	{"temporary table", []string{hiding}, "a temporary table", false},
	{"empty temporary table", []string{emptyHiding}, "a temporary table", false},
	{"another table locked", []string{"LOCK TABLES orders WRITE"}, "1100", false},
	{"the table locked for reading", []string{"LOCK TABLES snowflake_workers READ"}, "1099", false},
	{"no binary log", []string{"SET sql_log_bin = 0"}, "sql_log_bin=0", false},
	{"sql_select_limit", []string{"SET sql_select_limit = 1"}, "", false},
}

var postgresDirt = []dirt{
	{"transaction", []string{"BEGIN"}, "", false}, // pgx closes the connection
	{"transaction that has read", []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM snowflake_workers"}, "", false},
	{"transaction that has written", []string{"BEGIN", insertOrder}, "", false},
	{"failed transaction", []string{"BEGIN", insertOrder, "SELECT 1 / 0"}, "", false},
	{"locked table", []string{"BEGIN", "LOCK TABLE snowflake_workers IN SHARE MODE"}, "", false},
	{"serializable", []string{"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE"}, "", false},
	{"read only", []string{"SET default_transaction_read_only = on"}, "read-only transaction", false},
	{"time zone", []string{"SET TIME ZONE 'Asia/Tokyo'"}, "", false},
	{"search_path", []string{"SET search_path = pg_catalog"}, "", false},
	{"another table in the search_path", []string{
		"CREATE SCHEMA IF NOT EXISTS %[1]s_2", "SET search_path = %[1]s_2, %[1]s", "CREATE TABLE snowflake_workers AS SELECT * FROM %[1]s.snowflake_workers",
	}, "", false},
	{"temporary table", []string{hiding}, "", false},
	{"empty temporary table", []string{emptyHiding}, "", false},
	{"role", []string{"SET ROLE %[2]s"}, "permission denied", false},
	{"synchronous_commit", []string{"SET synchronous_commit = off"}, "", false},
	{"no triggers", []string{"SET session_replication_role = replica"}, "", false},
}

// A program returns a connection to the pool in an unusual state, for example with an open
// transaction. The store must not write or read inside a transaction of the program, nor
// commit it. It must write the record in spite of the state, over a new connection if the
// state requires that. It may fail only if every connection of the pool has the state.
func TestDirt(t *testing.T) {
	t.Parallel()
	for target, dirts := range map[testdb.Target][]dirt{
		testdb.SQLite: sqliteDirt, testdb.SQLiteMattn: sqliteDirt, testdb.MySQL: mysqlDirt, testdb.Postgres: postgresDirt,
	} {
		for _, d := range dirts {
			for _, target := range testdb.Alike(target) {
				t.Run(string(target)+" "+d.name, func(t *testing.T) {
					t.Parallel()
					testDirt(t, testdb.Open(t, target), reopen, d)
				})
			}
		}
	}
}

// A program returns a connection with an open transaction to the pool. pgx closes such a
// connection. Other drivers, and pgx before 5.9, pass it on to the store. The store must then
// find the transaction itself, because a write inside it would be lost when the transaction
// is rolled back.
func TestDirtUnderOtherDrivers(t *testing.T) {
	t.Parallel()
	for _, d := range postgresDirt {
		if d.statements[0][:5] != "BEGIN" {
			continue
		}
		if d.logged = openTransaction; d.name == "failed transaction" {
			d.logged = "25P02"
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			// A connection of the proxy has no ResetSession, by which pgx looks for a
			// transaction.
			withoutReset := func(t *testing.T, db *gorm.DB) *gorm.DB { return proxied(t, db, &proxy{}) }
			testDirt(t, testdb.Open(t, testdb.Postgres), withoutReset, d)
		})
	}
}

// testDirt leaves the only connection of a pool in the state d three times. After the first
// time it writes as a lease that extends its window, after the second time by
// CompareAndSwap alone, and after the third time by Load and CompareAndSwap. It checks the
// results and the records. The store must log d.logged exactly once, or nothing if d.logged is
// empty. The function open opens the pool.
func testDirt(t *testing.T, db *gorm.DB, open func(*testing.T, *gorm.DB) *gorm.DB, d dirt) {
	run(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	storeDB := open(t, db)
	limitPool(t, storeDB, 1)
	var log syncBuffer
	store := newStore(storeDB, sqllease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	swap(t, store, 1, lease.Record{}, first, true)
	swap(t, store, 2, lease.Record{}, first, true)
	before := log.String() // warnings about the server's settings
	at := lease.Record{Bound: 1000, Owner: "first"}
	statements := d.complete(t, db)
	for _, write := range []func(next lease.Record) error{
		func(next lease.Record) error { return extendAsLease(t, store, at, next) },
		func(next lease.Record) error {
			return swapError(store.CompareAndSwap(within(t, patience), 1, at, next))
		},
		func(next lease.Record) error {
			if got := load(t, store); len(got) != 2 {
				t.Errorf("Load = %v, want two records", got)
			}
			return swapError(store.CompareAndSwap(within(t, patience), 1, at, next))
		},
	} {
		leaveDirt(t, storeDB, statements)
		next := lease.Record{Bound: at.Bound + 1, Owner: "next"}
		if err := write(next); (err != nil) != d.fails {
			t.Errorf("the write: %v, want an error: %v", err, d.fails)
		} else if err == nil {
			at = next
		}
		wantUntouched(t, db, map[int]lease.Record{1: at, 2: first})
	}
	logged := strings.TrimPrefix(log.String(), before)
	if d.logged == "" && logged != "" || d.logged != "" && (strings.Count(logged, "\n") != 1 || !strings.Contains(logged, d.logged)) {
		t.Errorf("logged %q, want one warning %q", logged, d.logged)
	}
	poolOf(t, storeDB).Close()
	wantUntouched(t, db, map[int]lease.Record{1: at, 2: first})
}

// complete inserts the schema, and a role without rights, into the statements.
func (d dirt) complete(t *testing.T, db *gorm.DB) []string {
	t.Helper()
	text := strings.Join(d.statements, ";")
	if strings.Contains(text, "%[2]s") {
		role := "gormflake_" + strings.ToLower(rand.Text())
		run(t, db, "CREATE ROLE "+role, "GRANT "+role+" TO CURRENT_USER")
		t.Cleanup(func() { run(t, db, "DROP ROLE "+role) })
		text = strings.ReplaceAll(text, "%[2]s", role)
	}
	return strings.Split(strings.ReplaceAll(text, "%[1]s", schemaOf(t, db)), ";")
}

// leaveDirt runs the statements over a connection of the pool, and returns the connection
// to it.
func leaveDirt(t *testing.T, db *gorm.DB, statements []string) {
	t.Helper()
	conn, err := poolOf(t, db).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range statements {
		statement = strings.ReplaceAll(statement, "%[3]s", rand.Text())
		err := conn.PingContext(t.Context())
		if err == nil {
			_, err = conn.ExecContext(t.Context(), statement)
		}
		switch {
		case err == nil || strings.Contains(statement, "1 / 0") || strings.Contains(err.Error(), "already exists"):
		case strings.Contains(statement, "sql_log_bin"), strings.Contains(statement, "replication_role"): // some users may not
			t.Skip(err)
		default:
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if strings.Contains(strings.Join(statements, " "), "sql_log_bin") && !hasBinaryLog(t, conn) {
		t.Skip("the server has no binary log")
	}
}

// hasBinaryLog reports whether the server has a binary log.
func hasBinaryLog(t *testing.T, conn *sql.Conn) (on bool) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), "SELECT @@log_bin").Scan(&on); err != nil {
		t.Fatal(err)
	}
	return on
}

// extendAsLease writes like a lease that extends its window: it connects, reads the time
// and writes. After an error it tries once more, as the lease does.
func extendAsLease(t *testing.T, store lease.Store, from, to lease.Record) (err error) {
	t.Helper()
	for range 2 {
		var connected lease.Store
		var release func()
		if connected, release, err = store.(lease.Connector).Connect(within(t, patience)); err != nil {
			continue
		}
		if now, ok := connected.(lease.Clock); ok {
			if at, err := now.Now(within(t, patience)); err != nil || time.Since(at).Abs() > time.Minute {
				t.Errorf("Now = %v, %v", at, err)
			}
		}
		err = swapError(connected.CompareAndSwap(within(t, patience), 1, from, to))
		release()
		if err == nil {
			return nil
		}
	}
	return err
}

// swapError returns err or, if ok is false, an error. No other process writes in these tests,
// so a CompareAndSwap that returns false is a fault.
func swapError(ok bool, err error) error {
	if err == nil && !ok {
		err = context.Canceled // any error serves
	}
	return err
}

// wantUntouched expects these records. It also expects that no order of the program's open
// transaction is in the database, because the store must not commit this transaction.
func wantUntouched(t *testing.T, db *gorm.DB, want map[int]lease.Record) {
	t.Helper()
	got := load(t, newStore(db))
	if len(got) != len(want) || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the records are %v, want %v", got, want)
	}
	var orders int64
	if err := db.Table("orders").Count(&orders).Error; err != nil || orders != 0 {
		t.Errorf("%d orders were committed, %v, want none", orders, err)
	}
}

// Behind PgBouncer, the settings of a program stay on the server's connection, which the next
// client uses. The store must write in spite of these settings. In a state that it logs, it
// may fail instead, without changing a record. In statement mode the states with an open
// transaction are not possible.
func TestDirtBehindPgBouncer(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	for _, mode := range []string{"transaction", "statement"} {
		for _, d := range postgresDirt {
			if mode == "statement" && strings.HasPrefix(d.statements[0], "BEGIN") || strings.Contains(d.statements[0], "SCHEMA") {
				continue
			}
			t.Run(mode+" "+d.name, func(t *testing.T) {
				t.Parallel()
				name := "db_" + strings.ToLower(rand.Text())
				run(t, open(t, postgres.Open(server.URL())), "CREATE DATABASE "+name)
				bouncer := testserver.PgBouncer(t, server, "default_pool_size = 1", "pool_mode = "+mode)
				at := func(s *testserver.Server) string { return strings.Replace(s.URL(), "/postgres?", "/"+name+"?", 1) }
				testDirtBehind(t, open(t, postgres.Open(at(server))), at(bouncer), d)
			})
		}
	}
}

// testDirtBehind leaves a connection behind PgBouncer in the state d, and writes as a lease
// that extends its window. The write may fail only if the store logs this state.
func testDirtBehind(t *testing.T, db *gorm.DB, url string, d dirt) {
	run(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	storeDB := open(t, postgres.Open(url+"&default_query_exec_mode=exec"))
	limitPool(t, storeDB, 2)
	store := newStore(storeDB, sqllease.WithLogger(slog.New(slog.DiscardHandler)))
	swap(t, store, 1, lease.Record{}, first, true)
	swap(t, store, 2, lease.Record{}, first, true)
	leaveDirt(t, storeDB, d.complete(t, db))
	at := first
	if err := extendAsLease(t, store, at, second); err == nil {
		at = second
	} else if d.logged == "" {
		t.Errorf("the write: %v", err)
	}
	wantUntouched(t, db, map[int]lease.Record{1: at, 2: first})
}
