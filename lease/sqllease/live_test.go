package sqllease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// If a setting becomes unsafe while a lease is held, the next extension logs the setting, once
// for each change, and the lease continues.
func TestSettingsChangeLive(t *testing.T) {
	t.Parallel()
	const flush = "innodb_flush_log_at_trx_commit is "
	db := testdb.OpenURL(t, testserver.MariaDB(t, "log-bin=binlog", "sync-binlog=1").URL())
	var log syncBuffer
	store := newStore(reopen(t, db), sqllease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	gen := generatorOf(t, store, 300*time.Millisecond)
	// If logged is empty, the store must log nothing, because the setting is safe.
	for _, step := range []struct{ set, logged string }{
		{"innodb_flush_log_at_trx_commit = 0", "level=ERROR msg=\"sqllease: " + flush + "0"},
		{"innodb_flush_log_at_trx_commit = 1", ""},
		{"innodb_flush_log_at_trx_commit = 2", "level=WARN msg=\"sqllease: " + flush + "2"},
		{"innodb_flush_log_at_trx_commit = 0", "level=ERROR msg=\"sqllease: " + flush + "0"},
		{"sync_binlog = 0", "level=WARN msg=\"sqllease: sync_binlog is 0"},
		{"sync_binlog = 100", "level=WARN msg=\"sqllease: sync_binlog is 100"},
	} {
		before := log.String()
		run(t, db, "SET GLOBAL "+step.set)
		time.Sleep(time.Second) // several extensions
		logged := strings.TrimPrefix(log.String(), before)
		if step.logged == "" && logged != "" || step.logged != "" && (strings.Count(logged, "\n") != 1 || !strings.Contains(logged, step.logged)) {
			t.Errorf("%s: logged %q, want one line %q", step.set, logged, step.logged)
		}
		if _, err := gen.Next(within(t, patience)); err != nil {
			t.Errorf("%s: Next: %v", step.set, err)
		}
	}
}

// generatorOf returns a generator with a lease of the store.
func generatorOf(t *testing.T, store lease.Store, window time.Duration) *snowflake.Generator {
	t.Helper()
	l, err := lease.Acquire(within(t, patience), store, snowflake.TwitterLayout(), lease.WithWindow(window), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.WithoutCancel(t.Context())) })
	return gen
}

// A server whose binary log is on, but is not synced at each commit, forgets writes when its
// machine dies. The store must log one warning of such a setting at its first use. Under the
// other settings of the test it must log nothing.
func TestBinaryLog(t *testing.T) {
	t.Parallel()
	const forgets = " and log_bin is on, which forgets the last writes when the machine dies, whatever innodb_flush_log_at_trx_commit is: SET GLOBAL sync_binlog = 1, and set it in the option file"
	for _, test := range []struct {
		name   string
		server func(testing.TB, ...string) *testserver.Server
		args   []string // settings of the server
		warned string   // the warning, or empty if there must be none
	}{
		{"MariaDB's default", testserver.MariaDB, []string{"log-bin=binlog"}, "sqllease: sync_binlog is 0" + forgets},
		{"MariaDB, in groups", testserver.MariaDB, []string{"log-bin=binlog", "sync-binlog=10"}, "sqllease: sync_binlog is 10" + forgets},
		{"MariaDB, each", testserver.MariaDB, []string{"log-bin=binlog", "sync-binlog=1"}, ""},
		{"MariaDB without a log", testserver.MariaDB, nil, ""},
		{"MySQL's default", testserver.MySQL, nil, ""},
		{"MySQL, never", testserver.MySQL, []string{"sync-binlog=0"}, "sqllease: sync_binlog is 0" + forgets},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log syncBuffer
			db := testdb.OpenURL(t, test.server(t, test.args...).URL())
			store := newStore(db, sqllease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			swap(t, store, 1, lease.Record{}, first, true)
			swap(t, store, 1, first, second, true)
			wantWarning(t, &log, test.warned)
		})
	}
}

// undoing returns SQL that adds and drops a trigger that keeps the old record. On
// PostgreSQL the UPDATE then still reports a changed row.
func undoing(db *gorm.DB) (add, drop []string) {
	switch db.Dialector.Name() {
	case "sqlite":
		return []string{"CREATE TRIGGER keep_old BEFORE UPDATE ON snowflake_workers BEGIN SELECT RAISE(IGNORE); END"}, []string{"DROP TRIGGER keep_old"}
	case "mysql":
		return []string{"CREATE TRIGGER keep_old BEFORE UPDATE ON snowflake_workers FOR EACH ROW SET NEW.bound = OLD.bound, NEW.owner = OLD.owner"}, []string{"DROP TRIGGER keep_old"}
	}
	return []string{
		"CREATE FUNCTION keep_old() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$",
		"CREATE TRIGGER keep_old BEFORE UPDATE ON snowflake_workers FOR EACH ROW EXECUTE FUNCTION keep_old()",
	}, []string{"DROP TRIGGER keep_old ON snowflake_workers", "DROP FUNCTION keep_old()"}
}

// A table becomes unfit after the store's first use, because a trigger is added, or because a
// table without a key takes its place. Check must then return an error that names the flaw.
// Once the trigger is dropped, Check must return nil again.
func TestCheck(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		add, drop := undoing(db)
		swap(t, store, 1, lease.Record{}, first, true)
		wantCheck(t, store, "")
		run(t, db, add...)
		wantCheck(t, store, "trigger keep_old can change")
		wantCheck(t, connect(t, store), "trigger keep_old can change")
		run(t, db, drop...)
		wantCheck(t, store, "")
		run(t, db, "CREATE TABLE copied AS SELECT * FROM snowflake_workers",
			"ALTER TABLE snowflake_workers RENAME TO before_it", "ALTER TABLE copied RENAME TO snowflake_workers")
		wantCheck(t, store, "no unique key over namespace and worker_id")
	})
}

// wantCheck expects that Check returns a TableError with this flaw, or no error if flaw is
// empty.
func wantCheck(t *testing.T, store lease.Store, flaw string) {
	t.Helper()
	err := store.(lease.Checker).Check(within(t, patience))
	var refused *sqllease.TableError
	if errors.As(err, &refused) != (flaw != "") || err != nil && !strings.Contains(err.Error(), flaw) {
		t.Errorf("Check: %v, want a TableError that says %q", err, flaw)
	}
}

// Somebody adds a trigger that undoes each extension, so that the windows of all leases end.
// As long as the trigger exists, no lease may acquire a worker, neither in place of a lost
// worker nor as a newcomer. Once the trigger is dropped, all leases must continue.
func TestUndoingTriggerAddedLive(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		const holders, window = 3, 600 * time.Millisecond
		var log syncBuffer
		store := newStore(db, sqllease.WithLogger(slog.New(slog.DiscardHandler)))
		var leases []*lease.Lease
		for range holders {
			l, err := lease.Acquire(within(t, patience), store, snowflake.TwitterLayout(), lease.WithWindow(window),
				lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Release(context.WithoutCancel(t.Context())) })
			leases = append(leases, l)
		}
		add, drop := undoing(db)
		run(t, db, add...)
		time.Sleep(5 * window)
		for _, l := range leases {
			if s := l.Stats(); s.Failure == nil || s.Until.After(time.Now()) {
				t.Errorf("a lease under the trigger: failure %v, until %v", s.Failure, s.Until)
			}
		}
		var refused *sqllease.TableError
		if _, err := lease.Acquire(within(t, patience), newStore(db), snowflake.TwitterLayout()); !errors.As(err, &refused) {
			t.Errorf("a newcomer: %v, want a TableError", err)
		}
		if taken := strings.Count(log.String(), "in place of the lost one"); taken > 0 {
			t.Errorf("%d workers were acquired under the trigger, want none", taken)
		}
		run(t, db, drop...)
		for deadline := time.Now().Add(patience); ; time.Sleep(window / 10) {
			extended := 0
			for _, l := range leases {
				if l.Health() == nil {
					extended++
				}
			}
			if extended == holders {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d leases are extended once the trigger is gone", extended, holders)
			}
		}
	})
}
