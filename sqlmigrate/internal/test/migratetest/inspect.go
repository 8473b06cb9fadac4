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

// Inspect takes targets and options in one list, for tests with a table of both.
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

// A Mutant plans without a trial, and counts the tables t with nothing in their way.
type Mutant struct {
	Engine        engine.Engine
	tried, passed atomic.Int64
}

// Plan is for a table that the trial refuses.
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

// Want wants that nothing but the trial refuses nine of ten tables, of which there are
// fewer where servers or drivers are missing.
func (m *Mutant) Want(t testing.TB) {
	t.Helper()
	if passed, tried := m.passed.Load(), m.tried.Load(); passed*10 < tried*9 {
		t.Errorf("without the trial, %d of %d hostile tables pass the plan, want nine of ten", passed, tried)
	}
}
