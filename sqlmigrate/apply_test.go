package sqlmigrate_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Apply runs the phases of handPlan in their order, and each phase in one transaction. The
// first transaction gets the lock timeout of WithLockTimeout.
func TestApplyOrder(t *testing.T) {
	t.Parallel()
	f := &sqlmigrate.FakeEngine{}
	if err := handPlan(f).Apply(t.Context(), sqlite(t), sqlmigrate.WithLockTimeout(time.Second)); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, f, [][]string{{"up 1", "up 2", longStatement}, {"up 4"}})
	if got := f.Runs[0].LockTimeout; got != time.Second {
		t.Errorf("lock timeout %v, want 1s", got)
	}
}

// longStatement is the long statement of handPlan, which creates a table with a dozen
// columns.
var longStatement = handPlan(nil).Phases[0].Steps[1].Up[0].SQL

// Revert first runs the checks of all phases, so that it changes nothing if one fails.
// Then it takes back the phases and the steps in reverse order, and runs the checks again
// in each transaction, because rows may have been written in the meantime. The statements
// of a step are in the order of the plan.
func TestRevertOrder(t *testing.T) {
	t.Parallel()
	f := &sqlmigrate.FakeEngine{}
	if err := handPlan(f).Revert(t.Context(), sqlite(t)); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, f, [][]string{{"check 2"}, {"check 1"}, {"check 2", "down 4"}, {"check 1", "down 3", "down 1", "down 2"}})
}

// WithPhases selects phases, and does not change their order. Here it names guard before
// detach. The plan has no phase detach, which is not an error.
func TestPhases(t *testing.T) {
	t.Parallel()
	f := &sqlmigrate.FakeEngine{}
	if err := handPlan(f).Apply(t.Context(), sqlite(t), sqlmigrate.WithPhases(sqlmigrate.Guard, sqlmigrate.Detach)); err != nil {
		t.Fatal(err)
	}
	if err := handPlan(f).Revert(t.Context(), sqlite(t), sqlmigrate.WithPhases(sqlmigrate.Guard)); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, f, [][]string{{"up 4"}, {"check 2"}, {"check 2", "down 4"}})
}

// If the context ends between two statements, MySQL's driver returns ErrBadConn for the next
// statement, and FakeEngine imitates this. ErrBadConn alone would not tell a caller that the
// run was cancelled. So the error of Apply must contain context.Canceled besides ErrBadConn.
func TestApplyCancelledBetweenStatements(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &sqlmigrate.FakeEngine{FailAt: 2, Err: driver.ErrBadConn}
	err := handPlan(f).Apply(ctx, sqlite(t), sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		if p.Done == 1 {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("error %v, want the context's with the connection's", err)
	}
}

// wantRuns fails the test unless f has run these transactions, each a list of statements.
func wantRuns(t *testing.T, f *sqlmigrate.FakeEngine, want [][]string) {
	t.Helper()
	var got [][]string
	for _, r := range f.Runs {
		got = append(got, r.SQL)
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

// WithProgress reports each statement before it begins, and the end of each phase. The
// elapsed time that it reports never falls.
func TestProgress(t *testing.T) {
	t.Parallel()
	var got []string
	last := time.Duration(-1)
	err := handPlan(&sqlmigrate.FakeEngine{}).Apply(t.Context(), sqlite(t), sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		got = append(got, fmt.Sprintf("%s %s/%s %d of %d %.4q", p.Phase, p.Table, p.Step, p.Done, p.Of, p.SQL))
		if p.Elapsed < last {
			t.Errorf("elapsed %v after %v", p.Elapsed, last)
		}
		last = p.Elapsed
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`widen orders/id and manager_id become bigint 0 of 3 "up 1"`,
		`widen orders/id and manager_id become bigint 1 of 3 "up 2"`,
		`widen lines/a foreign key is checked 2 of 3 "CREA"`,
		`widen / 3 of 3 ""`,
		`guard orders/a CHECK 0 of 1 "up 4"`,
		`guard / 1 of 1 ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("progress\n%q, want\n%q", got, want)
	}
}

// The error of a failed statement names the phase, the table and the statement, and says
// which changes are kept. On SQLite a phase is one transaction, so the database keeps no
// change of the phase. On MySQL, which commits each change of a table, the database keeps the
// statements before the failed one. No phase has a statement 9, so with this number the
// transaction fails at its COMMIT.
func TestFailure(t *testing.T) {
	t.Parallel()
	const rolledBack = "(nothing of this phase has been changed"
	tests := []struct {
		name   string
		failAt int
		mysql  bool
		revert bool
		phase  sqlmigrate.PhaseName
		want   string
	}{
		{"first", 1, false, false, sqlmigrate.Widen, "sqlmigrate: phase widen, table orders, statement 1 of 3, up 1: broken " + rolledBack + ")"},
		{"third", 3, false, false, sqlmigrate.Widen, "sqlmigrate: phase widen, table lines, statement 3 of 3, CREATE TABLE t ( id integer, name text, name text, name text, name text, name text, name text, name text, name text, name text, name text, name text, name text,…: broken " + rolledBack + ")"},
		{"commit", 9, false, false, sqlmigrate.Widen, "sqlmigrate: phase widen, after its last statement: broken " + rolledBack + ")"},
		{"check", 1, false, true, sqlmigrate.Guard, "sqlmigrate: phase guard, statement 1 of 1, check 2: broken " + rolledBack + ")"},
		{"mysql first", 1, true, false, sqlmigrate.Widen, "up 1: broken (no statement of this phase has been carried out)"},
		{"mysql checks, which change nothing", 2, true, true, sqlmigrate.Guard, "after its last statement: broken (no statement of this phase has been carried out)"},
		{"mysql second", 2, true, false, sqlmigrate.Widen, "up 2: broken (1 statement of this phase applied and kept: fix the cause and run the same plan again to resume)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken := errors.New("broken")
			p := handPlan(&sqlmigrate.FakeEngine{FailAt: test.failAt, Err: broken})
			db := sqlite(t)
			do := p.Apply
			if test.revert {
				do = p.Revert
			}
			if test.mysql {
				p.Dialect = "mysql"
				db = mysqlHandle(t)
			}
			err := do(t.Context(), db, sqlmigrate.WithPhases(test.phase))
			if !errors.Is(err, broken) {
				t.Errorf("error %v, want one that wraps the engine's", err)
			}
			migratetest.WantError(t, err, test.want)
		})
	}
}

// If phase guard fails after phase widen has succeeded, the error also says that widen has
// been applied. FakeEngine fails at statement 2 of each phase, or at the end of a phase with
// one statement. Phase guard has two statements. Phase widen first has one, so the first
// Apply fails at its end. Then it has none, so the second Apply fails in phase guard.
func TestFailureAfterPhase(t *testing.T) {
	t.Parallel()
	f := &sqlmigrate.FakeEngine{FailAt: 2, Err: errors.New("broken")}
	p := handPlan(f)
	p.Phases[0].Steps = p.Phases[0].Steps[1:] // the step with the long statement remains
	p.Phases[1].Steps[0].Up = append(p.Phases[1].Steps[0].Up, sqlmigrate.Statement{SQL: "up 5"})
	err := p.Apply(t.Context(), sqlite(t))
	migratetest.WantError(t, err, "phase widen, after its last") // widen has only one statement here, so statement 2 is its end
	// Without a statement, phase widen succeeds. Statement 2 is then "up 5" of phase guard.
	f.FailAt = 0
	p.Phases[0].Steps[0].Up = nil
	f.FailAt = 2
	migratetest.WantError(t, p.Apply(t.Context(), sqlite(t)), "phase guard, table orders, statement 2 of 2, up 5: broken (nothing of this phase has been changed, widen has been applied)")
}

// Apply and Revert check the plan, the options and the handle before they run a
// statement.
func TestRefusesToRun(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	tx := sqlite(t).Begin()
	defer tx.Rollback()
	tests := []struct {
		name string
		plan *sqlmigrate.Plan
		opts []sqlmigrate.ApplyOption
		want string
	}{
		{"blockers", blockedPlan(), nil, "blocked by view v_orders"},
		{"other dialect", &sqlmigrate.Plan{Dialect: "postgres", Phases: handPlan(nil).Phases}, nil, "sqlmigrate: the plan is for postgres and db is sqlite"},
		{"nil option", handPlan(nil), []sqlmigrate.ApplyOption{nil}, "sqlmigrate: option 1 is nil"},
		{"no phase", handPlan(nil), []sqlmigrate.ApplyOption{sqlmigrate.WithPhases()}, "WithPhases(): want at least one"},
		{"unknown phase", handPlan(nil), []sqlmigrate.ApplyOption{sqlmigrate.WithPhases("widenn")}, `unknown phase "widenn": want widen, detach, guard or park`},
		{"no function", handPlan(nil), []sqlmigrate.ApplyOption{sqlmigrate.WithProgress(nil)}, "WithProgress(nil)"},
		{"negative retries", handPlan(nil), []sqlmigrate.ApplyOption{sqlmigrate.WithRetryFor(-1)}, "WithRetryFor(-1ns): want zero or more"},
		{"negative timeout", handPlan(nil), []sqlmigrate.ApplyOption{sqlmigrate.WithLockTimeout(-1)}, "WithLockTimeout(-1ns): want zero or more"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &sqlmigrate.FakeEngine{}
			sqlmigrate.SetEngine(test.plan, f)
			migratetest.WantError(t, test.plan.Apply(t.Context(), db, test.opts...), test.want)
			migratetest.WantError(t, test.plan.Revert(t.Context(), db, test.opts...), test.want)
			if len(f.Runs) > 0 {
				t.Errorf("it ran %q", f.Runs)
			}
		})
	}
	migratetest.WantError(t, handPlan(nil).Apply(t.Context(), tx), "sqlmigrate: db is a transaction")
	migratetest.WantError(t, handPlan(nil).Revert(t.Context(), tx), "sqlmigrate: db is a transaction")
	migratetest.WantError(t, handPlan(nil).Apply(t.Context(), nil), "sqlmigrate: db is nil or was not opened")
	migratetest.WantError(t, handPlan(nil).Revert(t.Context(), nil), "sqlmigrate: db is nil or was not opened")
}

// Apply of an empty plan succeeds, because there is nothing to do. Revert returns an
// error, because a plan that was made after Apply is also empty and does not know what to
// take back.
func TestEmptyPlan(t *testing.T) {
	t.Parallel()
	p := &sqlmigrate.Plan{Dialect: "sqlite"}
	sqlmigrate.SetEngine(p, &sqlmigrate.FakeEngine{})
	if err := p.Apply(t.Context(), sqlite(t)); err != nil {
		t.Errorf("Apply: %v", err)
	}
	migratetest.WantError(t, p.Revert(t.Context(), sqlite(t)), "sqlmigrate: the plan is empty, so it does not say what to take back")
}
