package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// Three records of one worker, which differ in bound and owner.
var (
	first  = lease.Record{Bound: 1000, Owner: "first"}
	second = lease.Record{Bound: 2000, Owner: "second"}
	third  = lease.Record{Bound: 3000, Owner: "third"}
)

// transactionRefused is the error of a store whose handle is a transaction.
const transactionRefused = "sqllease: db is a transaction, and a worker taken in it would be free again after a rollback: pass the handle that gorm.Open returned"

// A program passes New a handle that leads to a transaction. Every call of the store must
// fail, for every kind of such a handle, because a rollback would free a worker that is in
// use.
func TestRefusesTransactions(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		tx := db.Begin()
		defer tx.Rollback()
		for name, handle := range map[string]*gorm.DB{
			"begun":                  tx,
			"new session":            tx.Session(&gorm.Session{NewDB: true}),
			"prepared":               tx.Session(&gorm.Session{PrepareStmt: true}),
			"prepared before":        beginPrepared(t, db),
			"with a statement":       tx.Where("1 = 1").Table("orders"),
			"opened on a connection": onConn(t, db, tx.Statement.ConnPool),
		} {
			store := newStore(handle)
			wantError(t, name, store, transactionRefused)
		}
	})
}

// beginPrepared begins a transaction on a handle with prepared statements. On SQLite it
// uses another file, because the test's own transaction may hold the lock.
func beginPrepared(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	if strings.HasPrefix(string(testdb.TargetOf(db)), "sqlite") {
		db = open(t, sqlite.New(sqlite.Config{DriverName: db.Dialector.(*sqlite.Dialector).DriverName, DSN: "file:" + t.TempDir() + "/other.db"}))
	}
	tx := db.Session(&gorm.Session{PrepareStmt: true}).Begin()
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

// onConn returns a handle whose root pool is already a transaction.
func onConn(t *testing.T, db *gorm.DB, pool gorm.ConnPool) *gorm.DB {
	t.Helper()
	config := *db.Config
	config.ConnPool = pool
	return &gorm.DB{Config: &config}
}

// wantError expects Load and CompareAndSwap to return this error. The name is that of the
// case.
func wantError(t *testing.T, name string, store lease.Store, want string) {
	t.Helper()
	if _, err := store.Load(within(t, patience)); err == nil || err.Error() != want {
		t.Errorf("%s: Load: %v, want %s", name, err, want)
	}
	if _, err := store.CompareAndSwap(within(t, patience), 1, lease.Record{}, first); err == nil || err.Error() != want {
		t.Errorf("%s: CompareAndSwap: %v, want %s", name, err, want)
	}
}

// A program passes New a handle that was not opened, or that has no usable pool or an unknown
// dialect. Every call of the store must return an error that says so.
func TestRefusesHandles(t *testing.T) {
	t.Parallel()
	const unopened = "sqllease: db is nil or was not opened: want the handle that gorm.Open returned"
	dummy, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{ConnPool: testdb.Open(t, testdb.SQLite).ConnPool})
	if err != nil {
		t.Fatal(err)
	}
	poolless := testdb.Open(t, testdb.SQLite)
	config := *poolless.Config
	config.ConnPool = nil
	unready := *poolless.Config
	unready.ConnPool = unreadyPool{}
	for _, test := range []struct {
		name string
		db   *gorm.DB
		want string
	}{
		{"nil", nil, unopened},
		{"zero", &gorm.DB{}, unopened},
		{"no dialect", &gorm.DB{Config: &gorm.Config{}}, unopened},
		{"no pool", &gorm.DB{Config: &config}, "sqllease: the pool of db is a <nil>: want a *sql.DB or a gorm.GetDBConnector that returns one"},
		{"a pool that fails", &gorm.DB{Config: &unready}, "sqllease: the pool of db: not connected yet"},
		{"other dialect", dummy, `sqllease: dialect "dummy" is not supported: want sqlite, mysql or postgres`},
	} {
		wantError(t, test.name, newStore(test.db), test.want)
	}
}

// An unreadyPool connects later, like wrappers for tracing and failover.
type unreadyPool struct{ gorm.ConnPool }

func (unreadyPool) GetDBConn() (*sql.DB, error) { return nil, errors.New("not connected yet") }

// A call inside a transaction of the program sends its write over another connection, so
// that the write stays when the transaction is rolled back.
func TestInsideTransaction(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		rollback := errors.New("rollback")
		err := deferred(t, db).Transaction(func(tx *gorm.DB) error {
			var n int64
			if err := tx.Table("orders").Count(&n).Error; err != nil {
				return err
			}
			swap(t, store, 1, first, second, true)
			if got := load(t, store)[1]; got != second {
				t.Errorf("Load inside the transaction shows %+v, want %+v", got, second)
			}
			return rollback
		})
		if !errors.Is(err, rollback) {
			t.Fatal(err)
		}
		if got := load(t, store)[1]; got != second {
			t.Errorf("after the rollback the record is %+v, want %+v", got, second)
		}
	})
}

// deferred returns a handle with which a transaction of SQLite begins without the
// writer lock.
func deferred(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	d, ok := db.Dialector.(*sqlite.Dialector)
	if !ok {
		return db
	}
	file, _, _ := strings.Cut(d.DSN, "?")
	return open(t, sqlite.New(sqlite.Config{DriverName: d.DriverName, DSN: file}))
}

// A transaction holds the only connection of the pool, and waits for a call of the store,
// which waits for this connection. The call must end with its context, and its error must
// name the transaction as a possible reason. After the transaction the store must work again.
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		tx := db.Begin()
		wantLate(t, store, "for a connection, and all 1 of the pool are in use, perhaps by a transaction that waits for this call")
		wantLate(t, newStore(db), "for a connection, and all 1 of the pool are in use") // first use
		if err := tx.Rollback().Error; err != nil {
			t.Fatal(err)
		}
		swap(t, store, 1, first, second, true)
	})
}

// wantLate expects CompareAndSwap and Load to end with their context, and an error that
// contains text, which says why they waited.
func wantLate(t *testing.T, store lease.Store, text string) {
	t.Helper()
	wantLateSwap(t, store, text)
	ctx := within(t, 200*time.Millisecond)
	_, err := store.Load(ctx)
	checkLate(t, "Load", ctx, err, text)
}

// wantLateSwap expects CompareAndSwap to end with its context. No record equals the old
// record of this call, so the call changes nothing if the database carries it out later.
func wantLateSwap(t *testing.T, store lease.Store, text string) {
	t.Helper()
	ctx := within(t, 200*time.Millisecond)
	_, err := store.CompareAndSwap(ctx, 1, lease.Record{Bound: 1, Owner: "nobody"}, second)
	checkLate(t, "CompareAndSwap", ctx, err, text)
}

// checkLate expects that the call has ended soon after its context, with an error that
// contains text.
func checkLate(t *testing.T, call string, ctx context.Context, err error, text string) { //nolint:revive // reads as the call does
	t.Helper()
	deadline, _ := ctx.Deadline()
	if late := stall.Took(deadline); late > time.Second {
		t.Errorf("%s returned %v after its context had ended", call, late)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want a deadline exceeded that says %q", call, err, text)
	}
}

// A call of CompareAndSwap waits for a row that another transaction has locked. The call must
// end with its context. Its error must contain the cause of the context, and say that the
// database has not answered.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		tx := reopen(t, db).Begin()
		defer tx.Rollback()
		run(t, tx, "UPDATE snowflake_workers SET bound = bound + 1")
		stopped := errors.New("stopped")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, stopped)
		defer cancel()
		_, err := store.CompareAndSwap(ctx, 1, first, second)
		if !errors.Is(err, stopped) || !strings.Contains(err.Error(), "sqllease: no answer after ") {
			t.Errorf("error = %v, want the cause of the context, and what may hold the row", err)
		}
	})
}

// writerLock is part of the error of a call that waits for SQLite's only writer.
const writerLock = "a transaction of the application, or of another process, holds SQLite's writer lock"

// Another transaction has SQLite's writer lock. A call of the store must wait for the lock
// until its context ends, whatever the busy timeout of the connection is.
func TestSQLiteWriter(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn} {
		for _, timeout := range []string{"0", "5000"} {
			t.Run(string(target)+" busy timeout "+timeout, func(t *testing.T) {
				t.Parallel()
				testSQLiteWriter(t, busyTimeout(t, testdb.Open(t, target), timeout))
			})
		}
	}
}

// testSQLiteWriter writes while a transaction holds the writer lock. A call with a short
// context must end with it, and a call that can wait must succeed after the transaction.
func testSQLiteWriter(t *testing.T, db *gorm.DB) {
	t.Helper()
	store := newStore(db)
	swap(t, store, 1, lease.Record{}, first, true)
	tx := db.Begin()
	if err := tx.Exec("CREATE TABLE orders (id INTEGER)").Error; err != nil {
		t.Fatal(err)
	}
	wantLateSwap(t, store, writerLock)
	answer := make(chan error, 1)
	go func() {
		swapped, err := store.CompareAndSwap(t.Context(), 1, first, second)
		if err == nil && !swapped {
			err = errors.New("false")
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Errorf("CompareAndSwap while another writes: %v, want it to wait", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := tx.Commit().Error; err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Errorf("CompareAndSwap after the other's commit: %v, want true", err)
	}
	if got := load(t, store)[1]; got != second {
		t.Errorf("the record is %+v, want %+v", got, second)
	}
}

// busyTimeout opens the SQLite file of db again, with this busy timeout. The two SQLite drivers
// write it differently in the DSN, and the DSN of db has 5000.
func busyTimeout(t *testing.T, db *gorm.DB, milliseconds string) *gorm.DB {
	t.Helper()
	d := db.Dialector.(*sqlite.Dialector)
	from := strings.NewReplacer("busy_timeout%285000%29", "busy_timeout%28"+milliseconds+"%29", "_busy_timeout=5000", "_busy_timeout="+milliseconds)
	dsn := from.Replace(d.DSN)
	if dsn == d.DSN && milliseconds != "5000" {
		t.Fatalf("%s has no busy timeout of 5000 to replace", d.DSN)
	}
	return open(t, sqlite.New(sqlite.Config{DriverName: d.DriverName, DSN: dsn}))
}
