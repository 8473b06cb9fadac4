package sqllease_test

import (
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// untried is part of the errors that refuse TiDB.
const untried = "on which leases were tried with its embedded storage, and not with the one-phase and the asynchronous commit of a cluster of TiKV"

// The store refuses TiDB without AllowVolatile, and a lease on it must settle for a window.
// The store also handles the states of pooled connections (tidbDirt) and the properties of
// tables (tidbBroken, tidbGood) that TiDB has in addition to MySQL. "make tidb" also runs
// the tests of MySQL on TiDB.
func TestTiDB(t *testing.T) {
	t.Parallel()
	server := testserver.TiDB(t)
	for name, test := range map[string]func(t *testing.T, db *gorm.DB){
		"refused": refusesTiDB, "settle": wantsSettle,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, freshOn(t, server))
		})
	}
	for _, d := range tidbDirt {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			testDirt(t, freshOn(t, server), reopen, d)
		})
	}
	for _, shape := range tidbBroken {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			refusesTable(t, freshOn(t, server), shape)
		})
	}
	for name, statements := range tidbGood {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := freshOn(t, server)
			runScript(t, db, statements)
			acceptsTable(t, newStore(db))
		})
	}
}

// freshOn creates an empty database on the server and opens it.
func freshOn(t *testing.T, server *testserver.Server) *gorm.DB {
	t.Helper()
	name := "db_" + strings.ToLower(rand.Text())
	run(t, testdb.OpenURL(t, server.URL()), "CREATE DATABASE "+name)
	return testdb.OpenURL(t, strings.TrimSuffix(server.URL(), "test")+name)
}

// refusesTiDB expects that a store without AllowVolatile refuses the server.
func refusesTiDB(t *testing.T, db *gorm.DB) {
	wantError(t, "by name", sqllease.New(db), fmt.Sprintf("sqllease: the server is TiDB (%s), %s: want PostgreSQL, MySQL, MariaDB or another store, such as etcdlease%s",
		db.Dialector.(*mysql.Dialector).ServerVersion, untried, orAllow))
}

// wantsSettle expects that a lease acquires a worker only if it settles for a window or
// more before it issues IDs, and that a refused lease has written nothing.
func wantsSettle(t *testing.T, db *gorm.DB) {
	const window = 300 * time.Millisecond
	acquire := func(store lease.Store, settle time.Duration) (*lease.Lease, error) {
		return lease.Acquire(within(t, patience), store, snowflake.TwitterLayout(), lease.WithWindow(window), lease.WithSettle(settle),
			lease.WithLogger(slog.New(slog.DiscardHandler)))
	}
	store := sqllease.New(db, sqllease.AllowVolatile())
	want := "lease: acquiring a worker: sqllease: a server " + untried + ": want lease.WithSettle of a window or more"
	for _, settle := range []time.Duration{0, window - 1} {
		if _, err := acquire(store, settle); errorText(err) != want {
			t.Errorf("settling for %v: %v, want %s", settle, err, want)
		}
	}
	if got := load(t, store); len(got) != 0 {
		t.Errorf("the records are %v, want none", got)
	}
	l, err := acquire(store, window)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(within(t, patience)); err != nil {
		t.Error(err)
	}
}

// tidbDirt are states of a session on TiDB. In a state whose field logged is empty, the store
// uses the connection.
var tidbDirt = []dirt{
	{"transaction without a lock", []string{"BEGIN OPTIMISTIC", insertOrder}, openTransaction, false},
	{"transaction with a lock", []string{"BEGIN PESSIMISTIC", insertOrder}, openTransaction, false},
	{"old snapshot", []string{"REPLACE INTO mysql.tidb VALUES ('tikv_gc_safe_point', '20060102-15:04:05 +0000', '')", "SET SESSION tidb_snapshot = NOW()"}, "tidb_snapshot", false},
	{"stale reads", []string{"SET SESSION tidb_read_staleness = -5"}, "tidb_read_staleness", false},
	{"old timestamps", []string{"SET SESSION tidb_low_resolution_tso = ON"}, "tidb_low_resolution_tso", false},
	{"reads of another time", []string{"SET SESSION tidb_enable_external_ts_read = ON"}, "tidb_enable_external_ts_read", false},
	{"temporary table of the session", []string{temporary(columns(primary, binary...))}, "a temporary table", false},
	{"optimistic", []string{"SET SESSION tidb_txn_mode = 'optimistic'"}, "", false},
	{"no retries", []string{"SET SESSION tidb_txn_mode = 'optimistic', tidb_retry_limit = 0"}, "", false},
	{"in bulk", []string{"SET SESSION tidb_dml_type = 'bulk'"}, "", false},
}

// tidbBroken are tables that the store refuses because of properties that only TiDB has, or
// whose types TiDB cannot change in place.
var tidbBroken = []brokenTable{
	{"global temporary", strings.Replace(columns(primary, binary...), "CREATE", "CREATE GLOBAL TEMPORARY", 1) + " ON COMMIT DELETE ROWS", "it is a global temporary table"},
	{"TTL", columns("at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, "+primary, binary...) + " TTL = at + INTERVAL 1 DAY", "its rows expire"},
	{"TTL that is off", columns("at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, "+primary, binary...) + " TTL = at + INTERVAL 1 DAY TTL_ENABLE = 'OFF'", "its rows expire"},
	{"cached", columns(primary, binary...) + ";\nALTER TABLE snowflake_workers CACHE", "it is a cached table, whose writes wait for all readers"},
	{"two keys too narrow", columns(primary, "namespace", "VARBINARY(63) NOT NULL", "worker_id", "SMALLINT NOT NULL", "owner", "VARBINARY(128)"), "namespace is varbinary(63); worker_id is smallint"},
}

// tidbGood are tables that the store accepts, by the name of the case.
var tidbGood = map[string]string{
	"nonclustered":         columns(primary+" NONCLUSTERED", binary...),
	"clustered":            columns(primary+" CLUSTERED", binary...),
	"rows over the shards": columns(primary+" NONCLUSTERED", binary...) + " SHARD_ROW_ID_BITS = 4 PRE_SPLIT_REGIONS = 2",
	"TTL in a comment":     columns(primary, binary...) + " COMMENT 'TTL = never, CACHED ON, CREATE GLOBAL TEMPORARY'",
}

// The store keeps its contract on TiDB under settings of a session that change how TiDB
// commits.
func TestTiDBConform(t *testing.T) {
	t.Parallel()
	server := testserver.TiDB(t)
	for name, params := range map[string]map[string]string{
		"default":                        {},
		"one phase, asynchronous":        {"tidb_enable_1pc": "1", "tidb_enable_async_commit": "1"},
		"optimistic":                     {"tidb_txn_mode": "'optimistic'", "tidb_enable_1pc": "1"},
		"read committed":                 {"transaction_isolation": "'READ-COMMITTED'"},
		"duplicates found at the commit": {"tidb_constraint_check_in_place_pessimistic": "0"},
		"in bulk":                        {"tidb_dml_type": "'bulk'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := freshOn(t, server)
			with := mysqlWith(func(c *mysql.Config) { c.DSNConfig.Params = params })
			leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
				return newStore(open(t, with(t, db)), sqllease.WithNamespace(namespace))
			})
		})
	}
}

// The dialect of TiDB also works on MySQL behind a proxy that makes it answer like TiDB, so
// that machines without TiDB can test the dialect.
func TestLikeTiDB(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		refusesTiDB(t, proxied(t, db, likeTiDB()))
		wantsSettle(t, proxied(t, db, likeTiDB()))
		injectAtCommit(t, func(*testing.T) *gorm.DB { return db }, likeTiDB)
		leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
			return newStore(proxied(t, db, likeTiDB()), sqllease.WithNamespace(namespace))
		})
	})
}

// The store refuses tables whose DDL has properties that only TiDB has. A proxy answers
// with such a DDL in place of MySQL's.
func TestLikeTiDBTables(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, columns(primary, binary...))
		// The statement before, unless it is empty, creates the table again. The text ddl
		// takes the place of the DDL that SHOW CREATE TABLE returns, and found is the flaw.
		for _, test := range []struct{ before, ddl, found string }{
			{"", "CREATE GLOBAL TEMPORARY TABLE", "it is a global temporary table"},
			{"", ") /*T![ttl] TTL=`at` + INTERVAL 1 DAY", "its rows expire"},
			{"", ") /* CACHED ON */", "it is a cached table, whose writes wait for all readers"},
			{temporary(columns(primary, binary...)), "CREATE TEMPORARY TABLE", "it is a temporary table"},
		} {
			like := likeTiDB()
			rewrite := like.rewrite
			like.rewrite = func(statement string) string {
				if strings.HasPrefix(statement, "SHOW CREATE TABLE") {
					return "SELECT 'snowflake_workers', '" + test.ddl + "'"
				}
				return rewrite(statement)
			}
			other := proxied(t, db, like)
			limitPool(t, other, 1)
			if test.before != "" {
				run(t, other, "DROP TABLE snowflake_workers", test.before)
			}
			if got := refusal(t, acquire(t, newStore(other, sqllease.AllowVolatile()))).Flaws; len(got) != 1 || got[0].Found != test.found {
				t.Errorf("flaws %+v, want %s", got, test.found)
			}
		}
	})
}

// If BEGIN fails, the store does not write. If an INSERT fails only at COMMIT, because
// another process has inserted the row, CompareAndSwap returns false.
func TestLikeTiDBBegin(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		like := likeTiDB()
		store := newStore(proxied(t, db, like), sqllease.AllowVolatile())
		swap(t, store, 1, lease.Record{}, first, true)
		like.rewrite = func(statement string) string {
			return likeTiDB().rewrite(strings.Replace(statement, "BEGIN P", "BEGIN NOTHING P", 1))
		}
		if ok, err := store.CompareAndSwap(within(t, patience), 1, first, third); ok || err == nil {
			t.Errorf("CompareAndSwap = %v, %v, want an error", ok, err)
		}
		like.rewrite = likeTiDB().rewrite
		like.onCommit(func(execution) (driver.Result, error) { return nil, stateError("Error 8141 (HY000): assertion failed") })
		swap(t, store, 2, lease.Record{}, first, false)
	})
}

// likeTiDB returns a proxy with which MySQL answers like TiDB.
func likeTiDB() *proxy {
	const version = "'8.0.11-TiDB-v8.4.0'"
	return &proxy{rewrite: strings.NewReplacer("VERSION()", version, "version()", version, "BEGIN PESSIMISTIC", "BEGIN",
		"@@SESSION.tidb_snapshot", "''", "@@SESSION.tidb_read_staleness", "0",
		"@@SESSION.tidb_low_resolution_tso", "0", "@@SESSION.tidb_enable_external_ts_read", "0").Replace}
}

// On TiDB the result of a write is the result of its COMMIT, for each fault of the COMMIT.
func TestTiDBCommit(t *testing.T) {
	t.Parallel()
	server := testserver.TiDB(t)
	injectAtCommit(t, func(t *testing.T) *gorm.DB { return freshOn(t, server) }, func() *proxy { return &proxy{} })
}

// injectAtCommit injects faults into the COMMIT of a write. The result of the write must be
// the result of its COMMIT. The function through returns a proxy for one write.
func injectAtCommit(t *testing.T, database func(*testing.T) *gorm.DB, through func() *proxy) {
	t.Helper()
	for _, test := range append(tidbOutcomes(), outcomes...) {
		switch test.name {
		case "another was first", "sent twice by a proxy":
			continue // not possible, because the row is locked and a second COMMIT has no effect
		}
		for name, from := range map[string]lease.Record{"update": first, "insert": {}} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				db := database(t)
				db.Exec("DELETE FROM snowflake_workers") // of the previous test
				test.inject(t, db, through(), from, (*proxy).onCommit)
			})
		}
	}
}

// tidbOutcomes returns errors of a COMMIT. After the first three, which mean that TiDB has
// rolled back, the store repeats the write. After the others the write may have happened,
// as it has here.
func tidbOutcomes() (all []outcome) {
	for _, text := range []string{
		"Error 9007 (HY000): Write conflict, txnStartTS=1, conflictStartTS=2",
		"Error 8022 (HY000): Error: KV error safe to retry",
		"Error 8002 (HY000): [1] can not retry select for update statement",
	} {
		all = append(all, outcome{text, func(execution, lease.Store) (driver.Result, error) { return nil, stateError(text) }, true, "", written})
	}
	for _, text := range []string{
		"Error 8028 (HY000): Information schema is changed during the execution of the statement",
		"Error 9002 (HY000): TiKV server timeout",
		"Error 1105 (HY000): context canceled",
	} {
		all = append(all, outcome{text, func(execute execution, _ lease.Store) (driver.Result, error) {
			return ignore(execute, stateError(text))
		}, false, "sqllease: " + text, written})
	}
	return all
}

// On TiDB no acknowledged write is lost when the server is killed, all calls end with
// their contexts while it is paused, and no ID is issued twice behind a proxy that
// repeats writes.
func TestTiDBServer(t *testing.T) {
	t.Parallel()
	server := testserver.TiDB(t)
	setup := storetest.Setup{
		Start: func(testing.TB) *testserver.Server { return server },
		Open: func(t *testing.T, server *testserver.Server, namespace string) lease.Store {
			return newStore(freshOn(t, server), sqllease.WithNamespace(namespace))
		},
	}
	storetest.SurvivesKill(t, setup)
	storetest.EndsWithContext(t, setup)
	storetest.Repeated(t, server, dial)
}

// onePhase makes TiDB commit in one phase or asynchronously. The tests use it because a
// statement outside a transaction then lets two processes change one value.
const onePhase = "?tidb_enable_1pc=1&tidb_enable_async_commit=1"

// No ID is issued twice on TiDB, among a million IDs in total, while processes are paused and
// killed. In two of the three runs the server is killed too, and answers to commits are lost.
// In the third run, eight processes share one worker.
func TestTortureTiDB(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{"two phases": "", "one phase, asynchronous": onePhase} {
		t.Run(name, func(t *testing.T) {
			storetest.TortureLosing(t, testserver.TiDB(t), "COMMIT", params, leasetest.TortureConfig{IDs: 350_000, Outages: 5, Pauses: 20})
		})
	}
	t.Run("one worker", func(t *testing.T) {
		leasetest.Torture(t, testserver.TiDB(t).URL()+onePhase, oneWorkerConfig(350_000))
	})
}

// oneWorkerConfig configures eight processes that claim one worker all the time.
func oneWorkerConfig(ids int) leasetest.TortureConfig {
	return leasetest.TortureConfig{Workers: 1, Window: 100 * time.Millisecond, Skew: -1, IDs: ids}
}

// breakVariable makes the processes of a torture send neither BEGIN nor COMMIT.
// tortureVariable gives the child that runs the torture the URL of the server.
const (
	breakVariable   = "SQLLEASE_TEST_AUTOCOMMIT"
	tortureVariable = "SQLLEASE_TEST_TORTURE"
)

// The torture of TestTortureTiDB must be able to fail. Here its processes send neither BEGIN
// nor COMMIT, so that each statement is a transaction of its own. The torture must report
// that IDs were issued twice in at least one of up to five runs.
func TestTortureTiDBFindsAutocommit(t *testing.T) {
	t.Parallel()
	server := testserver.TiDB(t)
	for range 5 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTortureTiDBChild$", "-test.count=1", "-test.v")
		child.Env = append(os.Environ(), breakVariable+"=1", tortureVariable+"="+server.URL()+onePhase)
		output, err := child.CombinedOutput()
		t.Logf("%s", output)
		if err != nil && strings.Contains(string(output), "IDs issued twice") {
			return
		}
	}
	t.Error("no ID was issued twice, want some, or the torture finds nothing")
}

// TestTortureTiDBChild runs in the child process that TestTortureTiDBFindsAutocommit starts.
// Eight processes issue IDs under one worker, and the test fails if an ID is issued twice.
func TestTortureTiDBChild(t *testing.T) {
	url := os.Getenv(tortureVariable)
	if url == "" {
		t.Skip("started by TestTortureTiDBFindsAutocommit")
	}
	leasetest.Torture(t, url, oneWorkerConfig(20_000))
}

// poolFor opens a pool. If breakVariable is set, each of its statements commits on its
// own.
func poolFor(connector driver.Connector) *sql.DB {
	if os.Getenv(breakVariable) == "" {
		return sql.OpenDB(connector)
	}
	return sql.OpenDB(&proxy{Connector: connector, rewrite: func(statement string) string {
		if statement == "BEGIN PESSIMISTIC" || statement == "COMMIT" {
			return "DO 0"
		}
		return statement
	}})
}
