package sqlmigrate_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/stall"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A lockScene is a transaction that reads for a while, a plan that waits for it,
// and readers that come after the plan.
type lockScene struct {
	db      *gorm.DB
	plan    *sqlmigrate.Plan
	opts    []sqlmigrate.ApplyOption
	table   string
	held    time.Duration // once the plan has waited in vain
	longest time.Duration // that a reader may wait
}

// play reads the table all the time while the plan is applied.
func (s *lockScene) play(t *testing.T) {
	t.Helper()
	long := s.db.Begin()
	rollback := sync.OnceFunc(func() { long.Rollback() })
	defer rollback()
	run(t, long, "SELECT count(*) FROM "+s.table)
	defer time.AfterFunc(time.Minute, rollback).Stop()
	later := sync.OnceFunc(func() { time.AfterFunc(s.held, rollback) })
	ended := make(chan struct{})
	waits := make(chan time.Duration)
	go func() { waits <- readAllTheTime(t, s.db, s.table, ended) }()
	began, tries := time.Now(), 0
	err := s.plan.Apply(t.Context(), s.db, slices.Concat(s.opts, []sqlmigrate.ApplyOption{sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		tries = max(tries, p.Retry)
		if p.Retry > 0 {
			later()
		}
		if p.Retry > 0 && (p.Err == nil || p.Wait <= 0 || p.SQL == "") {
			t.Errorf("progress of a retry lacks its error, pause or statement: %+v", p)
		}
	})})...)
	took := time.Since(began)
	close(ended)
	waited := <-waits
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a transaction of %v: applied after %v and %d retries, a reader waited %v at most", s.held, took.Round(time.Millisecond), tries, waited.Round(time.Millisecond))
	if tries == 0 {
		t.Error("nothing was tried again: the scene shows nothing")
	}
	if waited > s.longest {
		t.Errorf("a reader waited %v, want %v at most", waited, s.longest)
	}
}

func readAllTheTime(t *testing.T, db *gorm.DB, table string, ended <-chan struct{}) (longest time.Duration) {
	for {
		select {
		case <-ended:
			return longest
		case <-time.After(5 * time.Millisecond):
		}
		began := time.Now()
		if err := db.Exec("SELECT count(*) FROM " + table).Error; err != nil {
			t.Errorf("the reader: %v", err)
		}
		longest = max(longest, stall.Took(began))
	}
}

// slack is for the machine, and for the phase itself.
const slack = time.Second

func postgresLockScene(t *testing.T, server *pgServer) {
	for _, test := range []struct {
		name  string
		phase sqlmigrate.PhaseName
	}{{"widen", sqlmigrate.Widen}, {"guard", sqlmigrate.Guard}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, pgShop)
			(&lockScene{
				db: d.DB, plan: d.inspect(t, "users", "orders"), table: "orders", held: 2 * time.Second,
				opts:    []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(300 * time.Millisecond), sqlmigrate.WithPhases(test.phase)},
				longest: 300*time.Millisecond + slack,
			}).play(t)
		})
	}
}

// What waits behind the first of several locks waits as long as the timeout, not
// as long as each of the others takes.
func postgresLocksTogether(t *testing.T, server *pgServer) {
	const timeout, each = 1200 * time.Millisecond, 900 * time.Millisecond
	const views = "; CREATE VIEW v AS SELECT a.id FROM a JOIN b USING (id); CREATE VIEW w AS SELECT v.id FROM v JOIN c USING (id) JOIN e USING (id)"
	for _, test := range []struct{ name, ddl, views string }{
		{"apply", "", ""}, {"apply", "with views", views}, {"revert", "", ""}, {"revert", "with views", views},
	} {
		t.Run(strings.TrimSpace(test.name+" "+test.ddl), func(t *testing.T) {
			t.Parallel()
			d := server.database(t, pgChain+test.views)
			plan := d.inspect(t, "a", sqlmigrate.WithRecreateViews())
			move := plan.Apply
			if test.name == "revert" {
				d.apply(t, plan, sqlmigrate.WithPhases(sqlmigrate.Widen))
				move = plan.Revert
			}
			var rollbacks []func()
			for _, table := range []string{"b", "c", "e"} {
				reader := d.Begin()
				rollback := sync.OnceFunc(func() { reader.Rollback() })
				defer rollback()
				run(t, reader, "SELECT count(*) FROM "+table)
				rollbacks = append(rollbacks, rollback)
			}
			ended, waits := make(chan struct{}), make(chan time.Duration)
			go func() { waits <- readAllTheTime(t, d.DB, "a", ended) }()
			done := make(chan error, 1)
			go func() {
				done <- move(t.Context(), d.DB, sqlmigrate.WithLockTimeout(timeout), sqlmigrate.WithRetryFor(0), sqlmigrate.WithPhases(sqlmigrate.Widen))
			}()
			for len(done) == 0 && d.value(t, pgWaiting) == "0" {
				time.Sleep(time.Millisecond)
			}
			for i, rollback := range rollbacks { // each is free in time for a wait of its own
				time.AfterFunc(time.Duration(i+1)*each, rollback)
			}
			err := <-done
			close(ended)
			if waited := <-waits; waited > timeout+each*2/3 {
				t.Errorf("a reader waited %v, want %v at most", waited, timeout)
			}
			wantError(t, err, "55P03", "until timestamptz") // before the first table is copied
		})
	}
}

const pgChain = `CREATE TABLE a (id serial PRIMARY KEY);
CREATE TABLE b (id serial PRIMARY KEY REFERENCES a); CREATE TABLE c (id serial PRIMARY KEY REFERENCES b); CREATE TABLE e (id serial PRIMARY KEY REFERENCES c)`

// The statements after the locks have the whole timeout again, and none where
// there was none.
func postgresTimeoutAfterLocks(t *testing.T, server *pgServer) {
	for _, timeout := range []string{"5s", "0"} {
		t.Run(timeout, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, pgChain)
			lock := d.inspect(t, "a").Phases[0].Steps[0].Up[0].SQL
			reader := d.Begin()
			rollback := sync.OnceFunc(func() { reader.Rollback() })
			defer rollback()
			run(t, reader, "SELECT count(*) FROM b")
			time.AfterFunc(100*time.Millisecond, rollback)
			tx := d.Begin()
			defer tx.Rollback()
			run(t, tx, "SET LOCAL lock_timeout = '"+timeout+"'", lock)
			var got string
			if err := tx.Raw("SELECT current_setting('lock_timeout')").Row().Scan(&got); err != nil || got != timeout {
				t.Errorf("lock_timeout is %s, %v, want %s", got, err, timeout)
			}
		})
	}
}

func TestMySQLLockScene(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlSmall(t, on)
		(&lockScene{
			db: db, plan: mysqlInspect(t, db, mysqlSmallTargets()...), table: "users", held: 3 * time.Second,
			opts: []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(time.Second)}, longest: time.Second + slack,
		}).play(t)
	})
}

// SQLite has one writer, for whom the plan waits again and again.
func TestSQLiteLockRetry(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	run(t, db, sqliteShop...)
	plan := inspect(t, db, "users", "orders")
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
	wantError(t, plan.Apply(t.Context(), db, once...), "locked")
	time.AfterFunc(500*time.Millisecond, func() { exec("ROLLBACK") })
	tries := 0
	err = plan.Apply(t.Context(), db, once[0], sqlmigrate.WithProgress(func(p sqlmigrate.Progress) { tries = max(tries, p.Retry) }))
	if err != nil || tries == 0 {
		t.Errorf("%v after %d retries, want none after some", err, tries)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	locked := errors.New("database is locked")
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
		f := &sqlmigrate.FakeEngine{FailAt: 2, Err: errors.New("Error 1205 (HY000): Lock wait timeout exceeded")}
		p := handPlan(f)
		p.Dialect = "mysql"
		err := p.Apply(t.Context(), mysqlHandle(t), sqlmigrate.WithPhases(sqlmigrate.Widen), sqlmigrate.WithRetryFor(time.Second))
		wantError(t, err, "after its last statement") // the fake fails there
		var got []string
		for _, r := range f.Runs {
			got = append(got, r.SQL...)
		}
		if want := []string{"up 1", "up 2", table12}; !slices.Equal(got, want) {
			t.Errorf("ran %q, want each statement once: %q", got, want)
		}
	})
}
