package sqlmigrate_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// While a long transaction reads a table, Apply on MySQL and MariaDB tries again and again
// to lock the table. Each try gives up after the lock timeout, so another program waits for
// one try at most, and not for the whole transaction.
func TestMySQLLockScene(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		(&migratetest.LockScene{
			DB: db, Plan: migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...), Table: "users", Held: 3 * time.Second,
			Opts: []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(time.Second)}, Longest: time.Second + migratetest.Slack,
		}).Play(t)
	})
}

// SQLite has only one writer at a time, and Apply tries again until it gets the writer
// lock. The test holds this lock with BEGIN IMMEDIATE. Without retries, Apply fails.
func TestSQLiteLockRetry(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	migratetest.Run(t, db, migratetest.SQLiteShop...)
	plan := migratetest.MustInspect(t, db, "users", "orders")
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	writer, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	exec := func(statement string) {
		if _, err := writer.ExecContext(context.Background(), statement); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Error(err)
		}
	}
	exec("BEGIN IMMEDIATE")
	once := []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(10 * time.Millisecond), sqlmigrate.WithRetryFor(0)}
	migratetest.WantError(t, plan.Apply(t.Context(), db, once...), "locked")
	time.AfterFunc(500*time.Millisecond, func() { exec("ROLLBACK") })
	tries := 0
	// Pass only the lock timeout. Without WithRetryFor(0), Apply tries again for up to two
	// minutes.
	err = plan.Apply(t.Context(), db, once[0], sqlmigrate.WithProgress(func(p sqlmigrate.Progress) { tries = max(tries, p.Retry) }))
	if err != nil || tries == 0 {
		t.Errorf("%v after %d retries, want none after some", err, tries)
	}
}

// If a transaction fails because it gets no lock, Apply repeats it from its beginning, until
// the time of WithRetryFor is over or the context ends. Apply does not repeat after other
// errors. On MySQL, where a phase is no transaction, it repeats only the statement.
func TestRetry(t *testing.T) {
	t.Parallel()
	locked := errors.New("database is locked") // the text by which the error of SQLite is recognized
	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		f := &sqlmigrate.FakeEngine{FailAt: 2, Err: locked}
		began := time.Now()
		err := handPlan(f).Apply(t.Context(), sqlite(t), sqlmigrate.WithRetryFor(time.Second))
		if !errors.Is(err, locked) || stall.Took(began) > 2*time.Second {
			t.Errorf("error %v after %v, want %v within a second", err, time.Since(began), locked)
		}
		if len(f.Runs) < 2 {
			t.Errorf("%d attempts, want some", len(f.Runs))
		}
		for _, r := range f.Runs {
			if !slices.Equal(r.SQL, []string{"up 1"}) {
				t.Errorf("an attempt carried out %q, want the transaction from its beginning", r.SQL)
			}
		}
	})
	t.Run("context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		f := &sqlmigrate.FakeEngine{FailAt: 2, Err: locked}
		err := handPlan(f).Apply(ctx, sqlite(t), sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if p.Retry > 0 {
				cancel()
			}
		}))
		if !errors.Is(err, locked) || len(f.Runs) != 1 {
			t.Errorf("error %v after %d attempts, want %v after one", err, len(f.Runs), locked)
		}
	})
	t.Run("other errors", func(t *testing.T) {
		t.Parallel()
		f := &sqlmigrate.FakeEngine{FailAt: 2, Err: errors.New("broken")}
		if err := handPlan(f).Apply(t.Context(), sqlite(t)); err == nil || len(f.Runs) != 1 {
			t.Errorf("error %v after %d attempts, want one after one", err, len(f.Runs))
		}
	})
	t.Run("default timeout", func(t *testing.T) {
		t.Parallel()
		f := &sqlmigrate.FakeEngine{}
		if err := handPlan(f).Apply(t.Context(), sqlite(t)); err != nil || f.Runs[0].LockTimeout != 5*time.Second {
			t.Errorf("lock timeout %v, %v, want 5s", f.Runs[0].LockTimeout, err)
		}
	})
	t.Run("without transactions", func(t *testing.T) {
		t.Parallel()
		// Statement 2 of each run fails, and the next run begins with it. So the runs
		// execute one statement each. Runs after the last statement fail at their end.
		f := &sqlmigrate.FakeEngine{FailAt: 2, Err: errors.New("Error 1205 (HY000): Lock wait timeout exceeded")}
		p := handPlan(f)
		p.Dialect = "mysql"
		err := p.Apply(t.Context(), mysqlHandle(t), sqlmigrate.WithPhases(sqlmigrate.Widen), sqlmigrate.WithRetryFor(time.Second))
		migratetest.WantError(t, err, "after its last statement")
		var got []string
		for _, r := range f.Runs {
			got = append(got, r.SQL...)
		}
		if want := []string{"up 1", "up 2", longStatement}; !slices.Equal(got, want) {
			t.Errorf("ran %q, want each statement once: %q", got, want)
		}
	})
}
