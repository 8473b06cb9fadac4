package onlinetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A faultyDatabase is a database whose statements can be made to fail one after the
// other.
type faultyDatabase struct {
	faulty *gorm.DB       // a pool into whose statements faults are injected
	faults *testdb.Faults // selects the statement; the number 0 means none
}

// newFaultyDatabase opens the database of db once more. No statement fails yet.
func newFaultyDatabase(t *testing.T, db *gorm.DB) faultyDatabase {
	t.Helper()
	faulty, faults := testdb.Faulty(t, db)
	return faultyDatabase{faulty: faulty, faults: faults}
}

// runWithFaults calls run again and again, each time with a later statement that fails
// without being sent, until run succeeds. Each call gets a new plan and continues where the
// previous call was stopped. If the fault comes after the last step, the move is complete,
// and the next call finds no move, which is a success too.
//
// The number of the failing statement grows by 1 at first, and then by about a fifth, so
// that a run of many statements is not repeated for each of them.
func (f faultyDatabase) runWithFaults(t *testing.T, plan *sqlmigrate.Plan, what string, run func(*sqlmigrate.OnlinePlan) error) {
	t.Helper()
	for n := 1; ; n += 1 + n/5 {
		f.faults.Inject(testdb.Refused, 0)
		online, err := plan.Online(context.Background(), f.faulty)
		if err != nil {
			t.Fatal(err)
		}
		f.faults.Inject(testdb.Refused, n)
		err = run(online)
		if err == nil || n > 1 && strings.Contains(err.Error(), "no online move of these tables is under way") {
			return
		}
		if !errors.Is(err, testdb.ErrFault) {
			t.Fatalf("%s: statement %d is refused: %v", what, n, err)
		}
	}
}

// checkSteering tests that another process, which only knows the tables, can steer a move.
// It pauses the move, reads its status, and lets it continue. It also tests that there is
// nothing to steer before the move has begun, and that invalid requests are refused. db is
// the pool that runs the move, and other is the pool of the other process.
func checkSteering(t *testing.T, plan func() *sqlmigrate.OnlinePlan, db, other *gorm.DB, targets ...any) {
	t.Helper()
	find := func() *sqlmigrate.OnlinePlan {
		found, err := sqlmigrate.FindOnline(context.Background(), other, targets...)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	pause := func(paused bool) error {
		// The server never has a thousand running statements, so MaxRunning stops nothing.
		return find().Steer(context.Background(), other, func(s *sqlmigrate.OnlineSteering) { s.Paused, s.MaxRunning = paused, 1000 })
	}
	wantError(t, pause(true), "no online move of these tables is under way")
	wantError(t, find().Apply(context.Background(), db), "FindOnline has found no move")
	if err := plan().Apply(context.Background(), db, sqlmigrate.WithLastStage(sqlmigrate.StagePrepare)); err != nil {
		t.Fatal(err)
	}
	if err := pause(true); err != nil {
		t.Fatal(err)
	}
	// Status must return what the database holds, so write values that a move of this
	// size would not have.
	if err := other.Exec("UPDATE sqlmigrate_online SET rate = 7.5, waits = 3").Error; err != nil {
		t.Fatal(err)
	}
	if status, err := find().Status(context.Background(), db); err != nil || !status.Steering.Paused || status.Rate != 7.5 || status.Waits != 3 {
		t.Errorf("Status = %+v, %v, want it paused, with a rate of 7.5 and 3 batches that have waited", status, err)
	}
	waited := 0
	err := find().Apply(context.Background(), db, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if p.Waiting != "the end of a pause" {
			return
		}
		if waited++; waited == 2 {
			if err := pause(false); err != nil {
				t.Error(err)
			}
		}
	}))
	if err != nil || waited != 2 {
		t.Errorf("Apply = %v, after it waited %d times for the end of a pause, want 2", err, waited)
	}
	if status, err := find().Status(context.Background(), db); err != nil || status.Rate != 0 || status.Waits != 3 {
		t.Errorf("Status = %+v, %v after Apply, want no rate and 3 batches that have waited", status, err)
	}
	wantError(t, find().Steer(context.Background(), db, func(s *sqlmigrate.OnlineSteering) { s.Pace = "fast" }), `unknown pace "fast": want polite or full`)
	wantError(t, find().Steer(context.Background(), db, func(s *sqlmigrate.OnlineSteering) { s.MaxRunning = -1 }), "MaxRunning -1: want zero or more")
}

// checkPlans tests that Online returns an error if one of its queries fails, and not an
// incomplete plan. It makes the plan again and again, with a fault in each statement. The
// result must be an error or the same plan as without a fault. If the plans differ,
// checkPlans first makes the plan without a fault again, because the estimated sizes of the
// tables may have changed.
func (f faultyDatabase) checkPlans(t *testing.T, plan *sqlmigrate.Plan) {
	t.Helper()
	whole := func() string {
		f.faults.Inject(testdb.Refused, 0)
		online, err := plan.Online(context.Background(), f.faulty)
		if err != nil {
			t.Fatal(err)
		}
		return online.String() + online.WayBack()
	}
	want := whole()
	for _, fault := range []testdb.Fault{testdb.Refused, testdb.Unreadable} {
		for n := 1; ; n++ {
			f.faults.Inject(fault, n)
			got, err := plan.Online(context.Background(), f.faulty)
			if !f.faults.Reached() { // the plan needs fewer than n statements
				break
			}
			// Unreadable does not occur in a statement that returns no row. Then Injected
			// returns false, and Online must not fail.
			if err != nil && !f.faults.Injected() {
				t.Errorf("statement %d is not %s: %v", n, fault, err)
			}
			if err != nil || got.String()+got.WayBack() == want {
				continue
			}
			if want = whole(); got.String()+got.WayBack() != want {
				t.Errorf("statement %d is %s: no error, and another plan:\n%s", n, fault, testdb.Diff(want, got.String()+got.WayBack()))
			}
		}
	}
}

// pgFaults tests that a plan, Apply, Revert and Finish survive an error of each of their
// statements, and that no session keeps a transaction open afterwards.
func pgFaults(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	before := d.dump(t)
	f := newFaultyDatabase(t, d.DB)
	plan, err := sqlmigrate.Inspect(context.Background(), d.DB, "t", "u")
	if err != nil {
		t.Fatal(err)
	}
	f.checkPlans(t, plan)
	f.runWithFaults(t, plan, "Apply", func(o *sqlmigrate.OnlinePlan) error { return o.Apply(context.Background(), f.faulty) })
	f.checkPlans(t, plan) // while the move is under way
	f.runWithFaults(t, plan, "Revert", func(o *sqlmigrate.OnlinePlan) error { return o.Revert(context.Background(), f.faulty) })
	same(t, "after the way back", d.dump(t), before)
	pgApplyTo(t, d, sqlmigrate.StageSwap)
	f.runWithFaults(t, plan, "Finish", func(o *sqlmigrate.OnlinePlan) error { return o.Finish(context.Background(), f.faulty) })
	d.want(t, "SELECT count(*) FROM u JOIN t ON t.id = t_id WHERE t.id::text = u.t_id::text", "1000")
	d.want(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'", "0")
}

// mariadbSmall creates two tables of a thousand rows, of which u refers to t.
var mariadbSmall = []string{
	"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, name varchar(40))",
	"INSERT INTO t (name) SELECT CONCAT('row ', seq)" + sequence(1000),
	"CREATE TABLE u (id int AUTO_INCREMENT PRIMARY KEY, t_id int NOT NULL, CONSTRAINT fk_t FOREIGN KEY (t_id) REFERENCES t (id))",
	"INSERT INTO u (t_id) SELECT id FROM t",
}

// mariadbFaults tests that a plan, Apply, Revert and Finish survive an error of each of
// their statements. Revert is tested before stage swap, after which there is no Revert.
func mariadbFaults(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbSmall...)
	f := newFaultyDatabase(t, d.DB)
	schema := func() string { // leaves out the journal, which remains after a fault in its DROP
		return mariadbCounter.ReplaceAllString(d.second(t, "SHOW CREATE TABLE t", 2)+d.second(t, "SHOW CREATE TABLE u", 2), "")
	}
	before := schema()
	plan, err := sqlmigrate.Inspect(context.Background(), d.DB, "t", "u")
	if err != nil {
		t.Fatal(err)
	}
	f.checkPlans(t, plan)
	constrain := sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)
	f.runWithFaults(t, plan, "Apply to constrain", func(o *sqlmigrate.OnlinePlan) error { return o.Apply(context.Background(), f.faulty, constrain) })
	f.checkPlans(t, plan) // while the move is under way
	f.runWithFaults(t, plan, "Revert", func(o *sqlmigrate.OnlinePlan) error { return o.Revert(context.Background(), f.faulty) })
	same(t, "schema after the way back", schema(), before)
	d.want(t, "SELECT COUNT(*) FROM u JOIN t ON t.id = u.t_id", "1000")
	f.runWithFaults(t, plan, "Apply", func(o *sqlmigrate.OnlinePlan) error { return o.Apply(context.Background(), f.faulty) })
	f.runWithFaults(t, plan, "Finish", func(o *sqlmigrate.OnlinePlan) error { return o.Finish(context.Background(), f.faulty) })
	d.want(t, "SELECT COUNT(*) FROM u JOIN t ON t.id = u.t_id", "1000")
}
