package migratetest

import (
	"context"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Inspect calls [sqlmigrate.InspectWith]. It accepts targets and options in one list, so
// that a table of test cases can contain both.
func Inspect(ctx context.Context, db *gorm.DB, all ...any) (*sqlmigrate.Plan, error) {
	var targets []any
	var opts []sqlmigrate.Option
	for _, value := range all {
		if opt, ok := value.(sqlmigrate.Option); ok {
			opts = append(opts, opt)
		} else {
			targets = append(targets, value)
		}
	}
	return sqlmigrate.InspectWith(ctx, db, targets, opts...)
}

// MustInspect plans a move and compares the plan with the recorded one, see [Plan]. The
// plan may have blockers.
func MustInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	Plan(t, db, plan)
	return plan
}

// A Mutant shows that the trial of [engine.Engine] is necessary. Tests of the trial have
// a list of tables, each named t, that look as if they could be moved but reject a
// Snowflake ID, for example because of a trigger. For each of these tables, a Mutant
// makes a plan without the trial. It counts the plans, and the plans that wrongly have no
// blockers.
type Mutant struct {
	Engine        engine.Engine
	tried, passed atomic.Int64 // all plans, and those without blockers
}

// Plan plans the move of table t in db without the trial, and counts the plan.
func (m *Mutant) Plan(t testing.TB, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	found, err := m.Engine.Inspect(t.Context(), conn, engine.Request{Tables: []plan.TableName{{Name: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	m.tried.Add(1)
	if len(found.Blockers) == 0 {
		m.passed.Add(1)
	}
}

// Want fails the test unless at least nine of ten plans had no blockers. A plan with a
// blocker is of a table that Inspect rejects even without the trial. Such a table does not
// show that the trial is necessary, so the list may have only few of them. The limit is a
// fraction, because the list is shorter where servers or drivers are missing.
func (m *Mutant) Want(t testing.TB) {
	t.Helper()
	if passed, tried := m.passed.Load(), m.tried.Load(); passed*10 < tried*9 {
		t.Errorf("without the trial, %d of %d hostile tables pass the plan, want nine of ten", passed, tried)
	}
}
