package migratetest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A LockScene tests how long other programs wait while a plan waits for a lock. A long
// transaction reads a table, and the plan cannot change the table until the transaction
// ends. While the plan waits for the lock, new readers wait behind the plan. Therefore the
// plan must give up after the lock timeout and try again later.
type LockScene struct {
	DB      *gorm.DB
	Plan    *sqlmigrate.Plan
	Opts    []sqlmigrate.ApplyOption
	Table   string
	Held    time.Duration // how long the transaction stays open after the first failed try
	Longest time.Duration // the longest time that a reader may wait
}

// Play applies the plan while the long transaction is open, and reads the table again and
// again meanwhile. It fails the test if the plan did not have to retry or if a reader
// waited longer than Longest.
func (s *LockScene) Play(t *testing.T) {
	t.Helper()
	holder := s.DB.Begin()
	rollback := sync.OnceFunc(func() { holder.Rollback() })
	defer rollback()
	Run(t, holder, "SELECT count(*) FROM "+s.Table)
	// Without a retry, the transaction ends after a minute, so that the test ends too.
	defer time.AfterFunc(time.Minute, rollback).Stop()
	rollbackLater := sync.OnceFunc(func() { time.AfterFunc(s.Held, rollback) })
	ended := make(chan struct{})
	waits := make(chan time.Duration)
	go func() { waits <- readAllTheTime(t, s.DB, s.Table, ended) }()
	began, tries := time.Now(), 0
	err := s.Plan.Apply(t.Context(), s.DB, slices.Concat(s.Opts, []sqlmigrate.ApplyOption{sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		tries = max(tries, p.Retry)
		if p.Retry > 0 {
			rollbackLater()
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
	t.Logf("a transaction of %v: applied after %v and %d retries, a reader waited %v at most", s.Held, took.Round(time.Millisecond), tries, waited.Round(time.Millisecond))
	if tries == 0 {
		t.Error("nothing was tried again: the scene shows nothing")
	}
	if waited > s.Longest {
		t.Errorf("a reader waited %v, want %v at most", waited, s.Longest)
	}
}

// readAllTheTime reads the table until ended is closed, and returns the longest time that
// a read took. It leaves out times in which the machine did not run the process.
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

// Slack is added to the time that a reader may wait, for the phase itself and because the
// machine may be slow.
const Slack = time.Second

// PostgresLockScene plays a [LockScene] for phase widen and for phase guard, which lock a
// table that a long transaction reads.
func PostgresLockScene(t *testing.T, server *PgServer) {
	for _, test := range []struct {
		name  string
		phase sqlmigrate.PhaseName
	}{{"widen", sqlmigrate.Widen}, {"guard", sqlmigrate.Guard}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, PgShop)
			(&LockScene{
				DB: d.DB, Plan: d.Inspect(t, "users", "orders"), Table: "orders", Held: 2 * time.Second,
				Opts:    []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(300 * time.Millisecond), sqlmigrate.WithPhases(test.phase)},
				Longest: 300*time.Millisecond + Slack,
			}).Play(t)
		})
	}
}

// PostgresLocksTogether tests that the lock timeout limits the whole wait of a phase for
// the locks of several tables. PostgreSQL itself applies lock_timeout to each lock. Here
// the plan gets the lock of table a at once, and three transactions hold the tables b, c
// and e, each a while longer than the one before. Every single wait is shorter than the
// timeout, but together they are longer, and readers of a would have to wait for all of
// them.
func PostgresLocksTogether(t *testing.T, server *PgServer) {
	const timeout, interval = 1200 * time.Millisecond, 900 * time.Millisecond
	const views = "; CREATE VIEW v AS SELECT a.id FROM a JOIN b USING (id); CREATE VIEW w AS SELECT v.id FROM v JOIN c USING (id) JOIN e USING (id)"
	for _, test := range []struct{ direction, variant, views string }{
		{"apply", "", ""}, {"apply", "with views", views}, {"revert", "", ""}, {"revert", "with views", views},
	} {
		t.Run(strings.TrimSpace(test.direction+" "+test.variant), func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, pgChain+test.views)
			plan := d.Inspect(t, "a", sqlmigrate.WithRecreateViews())
			move := plan.Apply
			if test.direction == "revert" {
				d.Apply(t, plan, sqlmigrate.WithPhases(sqlmigrate.Widen))
				move = plan.Revert
			}
			var rollbacks []func()
			for _, table := range []string{"b", "c", "e"} {
				reader := d.Begin()
				rollback := sync.OnceFunc(func() { reader.Rollback() })
				defer rollback()
				Run(t, reader, "SELECT count(*) FROM "+table)
				rollbacks = append(rollbacks, rollback)
			}
			ended, waits := make(chan struct{}), make(chan time.Duration)
			go func() { waits <- readAllTheTime(t, d.DB, "a", ended) }()
			done := make(chan error, 1)
			go func() {
				done <- move(t.Context(), d.DB, sqlmigrate.WithLockTimeout(timeout), sqlmigrate.WithRetryFor(0), sqlmigrate.WithPhases(sqlmigrate.Widen))
			}()
			// Wait until the plan waits for table b. From then on the transactions end
			// one by one.
			for len(done) == 0 && d.Value(t, PgWaiting) == "0" {
				time.Sleep(time.Millisecond)
			}
			for i, rollback := range rollbacks {
				time.AfterFunc(time.Duration(i+1)*interval, rollback)
			}
			err := <-done
			close(ended)
			// If the timeout applied to each lock, a reader would wait for three
			// intervals, which is 2.7 s. The limit is 1.8 s, which is far enough from
			// 2.7 s and from the timeout of 1.2 s.
			if waited := <-waits; waited > timeout+interval*2/3 {
				t.Errorf("a reader waited %v, want %v at most", waited, timeout)
			}
			WantError(t, err, "55P03", "until timestamptz") // a part of the first statement, which takes all locks before any table is copied
		})
	}
}

// pgChain creates four tables of which each refers to the one before, so that a plan for
// table a locks all of them.
const pgChain = `CREATE TABLE a (id serial PRIMARY KEY);
CREATE TABLE b (id serial PRIMARY KEY REFERENCES a); CREATE TABLE c (id serial PRIMARY KEY REFERENCES b); CREATE TABLE e (id serial PRIMARY KEY REFERENCES c)`

// PostgresTimeoutAfterLocks tests that the statement that takes the locks sets
// lock_timeout back to its former value. That statement sets lock_timeout to the time
// that is left for its remaining locks. The statements after it need the whole timeout
// again, or none if the session has no timeout.
func PostgresTimeoutAfterLocks(t *testing.T, server *PgServer) {
	for _, timeout := range []string{"5s", "0"} {
		t.Run(timeout, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, pgChain)
			lock := d.Inspect(t, "a").Phases[0].Steps[0].Up[0].SQL // the first statement of phase widen takes all its locks
			reader := d.Begin()
			rollback := sync.OnceFunc(func() { reader.Rollback() })
			defer rollback()
			Run(t, reader, "SELECT count(*) FROM b")
			time.AfterFunc(100*time.Millisecond, rollback)
			tx := d.Begin()
			defer tx.Rollback()
			Run(t, tx, "SET LOCAL lock_timeout = '"+timeout+"'", lock)
			var got string
			if err := tx.Raw("SELECT current_setting('lock_timeout')").Row().Scan(&got); err != nil || got != timeout {
				t.Errorf("lock_timeout is %s, %v, want %s", got, err, timeout)
			}
		})
	}
}
