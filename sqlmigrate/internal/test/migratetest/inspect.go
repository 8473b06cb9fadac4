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

// MustInspect plans a move and compares the plan with the recorded one.
func MustInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	Plan(t, db, plan)
	return plan
}

// A Mutant is an engine without the trial, which shows how many hostile tables only the
// trial refuses. It plans a move of each hostile table t and counts the plans that have
// no blockers.
type Mutant struct {
	Engine        engine.Engine
	tried, passed atomic.Int64
}

// Plan plans the move of table t, which the trial refuses, without the trial.
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

// Want fails the test unless at least nine of ten plans had no blockers. A fraction is
// compared, because there are fewer hostile tables where servers or drivers are missing.
func (m *Mutant) Want(t testing.TB) {
	t.Helper()
	if passed, tried := m.passed.Load(), m.tried.Load(); passed*10 < tried*9 {
		t.Errorf("without the trial, %d of %d hostile tables pass the plan, want nine of ten", passed, tried)
	}
}
