package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Planning 366 connected tables takes less than the limit. If the time grew with the square of
// the number of tables, planning would take minutes. The test takes the best of three runs,
// because other tests run at the same time.
func postgresLarge(t *testing.T, server *migratetest.PgServer) {
	schema := &migratetest.LargeSchema{Tables: 366}
	d := server.Database(t, schema.Make())
	limit := 30 * time.Second // allows for a busy machine; a quadratic planner takes minutes
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		limit = 5 * time.Second
	}
	best := time.Hour
	for range 3 {
		began := time.Now()
		plan := d.Inspect(t, schema.Targets()...)
		took := time.Since(began)
		t.Logf("%d tables planned in %v", len(plan.Tables), took.Round(time.Millisecond))
		if best = min(best, took); best < limit {
			return
		}
	}
	t.Errorf("planning took %v, want %v at most", best, limit)
}

// pgForeignKeys returns the columns of all foreign keys and the columns that they refer
// to. It leaves out foreign keys that partitions inherit from their parents.
const pgForeignKeys = `SELECT c.conrelid::regclass, a.attname, c.confrelid::regclass, b.attname
FROM pg_constraint c, unnest(c.conkey, c.confkey) AS k (x, y), pg_attribute a, pg_attribute b
WHERE c.contype = 'f' AND c.conparentid = 0 AND (a.attrelid, a.attnum) = (c.conrelid, k.x) AND (b.attrelid, b.attnum) = (c.confrelid, k.y)`

// Connected tables with views of three levels, materialized views, partitions and rules
// accept Snowflake IDs after the move. Revert refuses while such IDs exist, and restores the
// former state once they are removed. GORMFLAKE_TEST_ROWS raises the number of tables from 60
// to 300.
func postgresThreeHundred(t *testing.T, server *migratetest.PgServer) {
	schema := &migratetest.LargeSchema{Tables: migratetest.LargeTables(60), Views: 50}
	d := server.Database(t, "")
	for line := range strings.Lines(schema.Make() + schema.Rows(1)) {
		d.Script(t, line)
	}
	refresh := func() {
		for i := range schema.Views / 5 {
			d.Script(t, fmt.Sprintf("REFRESH MATERIALIZED VIEW m%d", i))
		}
	}
	refresh()
	d.Script(t, "SELECT setval(oid, 1000) FROM pg_class WHERE relkind = 'S'")
	before := d.Dump(t)
	plan := d.Inspect(t, append(schema.Targets(), sqlmigrate.WithRecreateViews())...)
	began := time.Now()
	d.Apply(t, plan)
	t.Logf("%d tables applied in %v, in %d transactions of phase widen", len(plan.Tables), time.Since(began).Round(time.Millisecond), 1+plan.Phases[0].Steps[len(plan.Phases[0].Steps)-1].Transaction)
	if again := d.Inspect(t, schema.Targets()...); !again.Empty() || again.Err() != nil {
		t.Errorf("after up, the plan is not empty:\n%s", again)
	}
	d.Script(t, schema.Rows(migratetest.LargeID))
	refresh()
	references := migratetest.ReadReferences(t, d.DB, pgForeignKeys)
	// Each table has three references, except the first, which only refers to itself. For
	// every five views, a partitioned table has one.
	if got, want := len(references), 3*schema.Tables-2+schema.Views/5; got != want {
		t.Errorf("%d references, want %d", got, want)
	}
	migratetest.WantJoined(t, d.DB, references)
	for _, view := range []string{"v0", "v49", "m0"} {
		if got := d.Value(t, "SELECT max(id) FROM "+view); got < fmt.Sprint(migratetest.LargeID) {
			t.Errorf("the largest key of %s is %s, want one from %d on", view, got, migratetest.LargeID)
		}
	}
	moved := d.Dump(t)
	migratetest.WantError(t, plan.Revert(t.Context(), d.DB), "nothing of this phase has been changed")
	migratetest.PgSame(t, "after the refusal", d.Dump(t), moved)
	d.Script(t, schema.Removal(migratetest.LargeID))
	began = time.Now()
	d.Revert(t, plan)
	t.Logf("taken back in %v", time.Since(began).Round(time.Millisecond))
	migratetest.PgSame(t, "after down", d.Dump(t), before)
}

// If the lock table of the server is too small for all tables at once, the move takes
// several transactions. The same plan or a new plan resumes a run that was stopped
// between them, and the first plan takes everything back.
func TestPostgresFewLocks(t *testing.T) {
	t.Parallel()
	server := migratetest.NewPgServer(t, testserver.Postgres(t, "max_connections=20", "max_locks_per_transaction=16"))
	schema := &migratetest.LargeSchema{Tables: 40}
	d := server.Database(t, "")
	for line := range strings.Lines(schema.Make()) { // the whole schema needs too many locks for one transaction
		d.Script(t, line)
	}
	before := d.Dump(t)
	plan := d.Inspect(t, schema.Targets()...)
	if !strings.Contains(strings.Join(plan.Notes, "\n"), "Phase widen takes ") {
		t.Errorf("notes %q, want one about several transactions", plan.Notes)
	}
	migratetest.WantError(t, inOneTransaction(*plan).Apply(t.Context(), d.DB), "out of shared memory", "Hint: ", "max_locks_per_transaction", "nothing of this phase has been changed")
	migratetest.PgSame(t, "after a failure", d.Dump(t), before)

	// stop applies the plan, and cancels it after at statements.
	stop := func(at int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return plan.Apply(ctx, d.DB, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if p.Done == at {
				cancel()
			}
		}))
	}
	migratetest.WantError(t, stop(40), "context canceled", "of this phase applied and kept")
	migratetest.WantError(t, stop(60), "of this phase applied and kept")
	again := d.Inspect(t, schema.Targets()...)
	if narrow := len(again.Phases[0].Steps); narrow == 0 || narrow >= 40 { // a step of phase widen for each narrow table
		t.Errorf("another plan has %d tables to widen, want some of 40", narrow)
	}
	d.Apply(t, again)
	if last := d.Inspect(t, schema.Targets()...); !last.Empty() {
		t.Errorf("after up, the plan is not empty:\n%s", last)
	}
	d.Revert(t, plan)
	migratetest.PgSame(t, "after down", d.Dump(t), before)
}

// inOneTransaction returns a copy of the plan that has all steps of its first phase in
// one transaction, as it has on a server with enough locks.
func inOneTransaction(plan sqlmigrate.Plan) *sqlmigrate.Plan {
	plan.Phases = slices.Clone(plan.Phases)
	plan.Phases[0].Steps = slices.Clone(plan.Phases[0].Steps)
	for i := range plan.Phases[0].Steps {
		plan.Phases[0].Steps[i].Transaction = 0
	}
	return &plan
}
