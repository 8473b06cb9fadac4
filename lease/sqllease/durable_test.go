package sqllease_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// The store writes under synchronous=EXTRA, whatever level the connection has, and then
// restores the level. With AllowVolatile it writes under the level of the connection. A
// trigger records the level during the write. EXTRA is 3, FULL 2, NORMAL 1, OFF 0.
func TestSQLiteWritesDurably(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		level  int // of the connection
		opts   []sqllease.Option
		during int // the level during the store's writes
	}{
		{"NORMAL", 1, nil, 3},
		{"FULL", 2, nil, 3},
		{"EXTRA", 3, nil, 3},
		{"schema named", 1, []sqllease.Option{sqllease.WithTable("main.snowflake_workers")}, 3},
		{"OFF, volatile", 0, []sqllease.Option{sqllease.AllowVolatile()}, 0},
		{"NORMAL, volatile", 1, []sqllease.Option{sqllease.AllowVolatile()}, 1},
	} {
		for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn} {
			t.Run(string(target)+" "+test.name, func(t *testing.T) {
				t.Parallel()
				db := withSynchronous(t, testdb.Open(t, target), test.level)
				run(t, db, ddlOf(t, db), "CREATE TABLE writes (bound BIGINT, level INTEGER)",
					"CREATE TRIGGER inserted AFTER INSERT ON snowflake_workers BEGIN INSERT INTO writes SELECT NEW.bound, synchronous FROM pragma_synchronous; END",
					"CREATE TRIGGER updated AFTER UPDATE ON snowflake_workers BEGIN INSERT INTO writes SELECT NEW.bound, synchronous FROM pragma_synchronous; END")
				store := newStore(db, test.opts...)
				swap(t, store, 1, lease.Record{}, first, true)
				swap(t, store, 1, lease.Record{}, second, false)
				swap(t, store, 1, first, second, true)
				wantLevels(t, db, map[int64]int{first.Bound: test.during, second.Bound: test.during})
				wantLevel(t, db, test.level)
			})
		}
	}
}

// withSynchronous opens the same file again, over one connection with this level.
func withSynchronous(t *testing.T, db *gorm.DB, level int) *gorm.DB {
	t.Helper()
	storeDB := reopen(t, db)
	poolOf(t, storeDB).SetMaxOpenConns(1)
	run(t, storeDB, "PRAGMA synchronous = "+strconv.Itoa(level))
	return storeDB
}

// wantLevels expects that the trigger has recorded one write for each bound in want, under the
// level in want.
func wantLevels(t *testing.T, db *gorm.DB, want map[int64]int) {
	t.Helper()
	var writes []struct {
		Bound int64
		Level int
	}
	if err := db.Table("writes").Find(&writes).Error; err != nil {
		t.Fatal(err)
	}
	if len(writes) != len(want) {
		t.Errorf("%d writes, want %d", len(writes), len(want))
	}
	for _, w := range writes {
		if w.Level != want[w.Bound] {
			t.Errorf("bound %d was written under level %d, want %d", w.Bound, w.Level, want[w.Bound])
		}
	}
}

// wantLevel expects the connection to have this level now.
func wantLevel(t *testing.T, db *gorm.DB, want int) {
	t.Helper()
	var got int
	if err := db.Raw("PRAGMA synchronous").Scan(&got).Error; err != nil || got != want {
		t.Errorf("the connection is left with level %d, %v, want %d", got, err, want)
	}
}

// A write fails, because its context ends while another transaction has the writer lock. The
// store raises synchronous for its writes, and must restore the level of the connection after
// this failure, too.
func TestSQLiteSettingIsRestored(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			storeDB := withSynchronous(t, busyTimeout(t, db, "0"), 1)
			store := newStore(storeDB)
			swap(t, store, 1, lease.Record{}, first, true)
			tx := db.Begin()
			run(t, tx, "CREATE TABLE orders (id INTEGER)")
			wantLateSwap(t, store, writerLock)
			tx.Rollback()
			wantLevel(t, storeDB, 1)
			swap(t, store, 1, first, second, true)
			wantLevel(t, storeDB, 1)
		})
	}
}

// The context ends during the write. Some drivers refuse to execute a statement whose context
// has ended, as the proxy does here. So the store must restore the setting of the connection
// under another context. Otherwise it would have to close the connection.
func TestSQLiteSettingIsRestoredAfterTheContextEnds(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	p := &proxy{refuse: func(ctx context.Context, _ string) error { return ctx.Err() }}
	storeDB := proxied(t, sqliteNormal(t, db), p)
	poolOf(t, storeDB).SetMaxOpenConns(1)
	store := newStore(storeDB)
	swap(t, store, 1, lease.Record{}, first, true)
	ctx, cancel := context.WithCancel(t.Context())
	p.onWrite(func(execution) (driver.Result, error) {
		cancel()
		return nil, ctx.Err()
	})
	if written, err := store.CompareAndSwap(ctx, 1, first, second); written || !errors.Is(err, context.Canceled) {
		t.Errorf("CompareAndSwap = %v, %v, want %v", written, err, context.Canceled)
	}
	if open := poolOf(t, storeDB).Stats().OpenConnections; open != 1 {
		t.Errorf("%d connections are open, want the one that was", open)
	}
	wantLevel(t, storeDB, 1)
}

// In an attached file, SQLite has a synchronous setting of its own. The store changes the
// setting of the file that contains the table.
func TestSQLiteAttachedDatabase(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := withSynchronous(t, testdb.Open(t, target), 1)
			run(t, db, "ATTACH '"+t.TempDir()+"/other.db' AS other", "PRAGMA other.synchronous = 1")
			store := newStore(db, sqllease.WithTable("other.snowflake_workers"))
			load(t, store)
			run(t, db, "CREATE TABLE other.writes (bound BIGINT, level INTEGER)",
				"CREATE TRIGGER other.inserted AFTER INSERT ON snowflake_workers BEGIN INSERT INTO writes SELECT NEW.bound, synchronous FROM pragma_synchronous WHERE schema = 'other'; END")
			swap(t, newStore(db, sqllease.WithTable("other.snowflake_workers")), 1, lease.Record{}, first, true)
			wantLevels(t, db, map[int64]int{first.Bound: 3})
			var got int
			if err := db.Raw("PRAGMA other.synchronous").Scan(&got).Error; err != nil || got != 1 {
				t.Errorf("the database is left with level %d, %v, want 1", got, err)
			}
		})
	}
}

// The statement that restores the level of synchronous fails. The store must close the
// connection, so that the program does not get a connection with another level.
func TestSQLiteSettingCannotBeRestored(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	// The proxy refuses the statement that restores NORMAL.
	p := &proxy{refuse: func(_ context.Context, statement string) error {
		if strings.HasSuffix(statement, `"main".synchronous = 1`) {
			return errors.New("no")
		}
		return nil
	}}
	storeDB := proxied(t, sqliteNormal(t, db), p)
	poolOf(t, storeDB).SetMaxOpenConns(1)
	store := newStore(storeDB)
	for _, step := range [][2]lease.Record{{{}, first}, {first, second}} {
		swap(t, store, 1, step[0], step[1], true)
		if open := poolOf(t, storeDB).Stats().OpenConnections; open != 0 {
			t.Errorf("%d connections are open after the setting was not put back, want 0", open)
		}
	}
}

// sqliteNormal opens the file with synchronous=NORMAL, which is 1.
func sqliteNormal(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	d := db.Dialector.(*sqlite.Dialector)
	return open(t, sqlite.New(sqlite.Config{DriverName: d.DriverName, DSN: d.DSN + "&_pragma=synchronous(1)"}))
}
