package sqlmigrate_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

func postgresLarge(t *testing.T, server *pgServer) {
	schema := &largeSchema{tables: 366}
	d := server.database(t, schema.make())
	limit := 30 * time.Second // on a machine that does something else, too; once it was minutes
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		limit = 5 * time.Second
	}
	best := time.Hour
	for range 3 {
		began := time.Now()
		plan := d.inspect(t, schema.targets()...)
		took := time.Since(began)
		t.Logf("%d tables planned in %v", len(plan.Tables), took.Round(time.Millisecond))
		if best = min(best, took); best < limit {
			return
		}
	}
	t.Errorf("planning took %v, want %v at most", best, limit)
}

// pgForeignKeys are the foreign keys, but not those that partitions inherit.
const pgForeignKeys = `SELECT c.conrelid::regclass, a.attname, c.confrelid::regclass, b.attname
FROM pg_constraint c, unnest(c.conkey, c.confkey) AS k (x, y), pg_attribute a, pg_attribute b
WHERE c.contype = 'f' AND c.conparentid = 0 AND (a.attrelid, a.attnum) = (c.conrelid, k.x) AND (b.attrelid, b.attnum) = (c.confrelid, k.y)`

// Connected tables, by request three hundred, with fifty views three deep, materialized ones,
// partitions and rules, hold Snowflake IDs afterwards, and are taken back to what
// they were.
func postgresThreeHundred(t *testing.T, server *pgServer) {
	schema := &largeSchema{tables: largeTables(60), views: 50}
	d := server.database(t, "")
	for line := range strings.Lines(schema.make() + schema.rows(1)) {
		d.script(t, line)
	}
	refresh := func() {
		for i := range schema.views / 5 {
			d.script(t, fmt.Sprintf("REFRESH MATERIALIZED VIEW m%d", i))
		}
	}
	refresh()
	d.script(t, "SELECT setval(oid, 1000) FROM pg_class WHERE relkind = 'S'")
	before := d.dump(t)
	plan := d.inspect(t, append(schema.targets(), sqlmigrate.WithRecreateViews())...)
	began := time.Now()
	d.apply(t, plan)
	t.Logf("%d tables applied in %v, in %d transactions of phase widen", len(plan.Tables), time.Since(began).Round(time.Millisecond), 1+plan.Phases[0].Steps[len(plan.Phases[0].Steps)-1].Transaction)
	if again := d.inspect(t, schema.targets()...); !again.Empty() || again.Err() != nil {
		t.Errorf("after up, the plan is not empty:\n%s", again)
	}
	d.script(t, schema.rows(largeID))
	refresh()
	references := readReferences(t, d.DB, pgForeignKeys)
	if got, want := len(references), 3*schema.tables-2+schema.views/5; got != want {
		t.Errorf("%d references, want %d", got, want)
	}
	wantJoined(t, d.DB, references)
	for _, view := range []string{"v0", "v49", "m0"} {
		if got := d.value(t, "SELECT max(id) FROM "+view); got < fmt.Sprint(largeID) {
			t.Errorf("the largest key of %s is %s, want one from %d on", view, got, largeID)
		}
	}
	moved := d.dump(t)
	wantError(t, plan.Revert(t.Context(), d.DB), "nothing of this phase has been changed")
	pgSame(t, "after the refusal", d.dump(t), moved)
	d.script(t, schema.removal(largeID))
	began = time.Now()
	d.revert(t, plan)
	t.Logf("taken back in %v", time.Since(began).Round(time.Millisecond))
	pgSame(t, "after down", d.dump(t), before)
}

// A server whose lock table is too small for all tables at once takes several
// transactions. A run that ends between them is resumed, by the same plan or by
// another, and the first plan takes everything back.
func TestPostgresFewLocks(t *testing.T) {
	t.Parallel()
	server := &pgServer{url: testserver.Postgres(t, "max_connections=20", "max_locks_per_transaction=16").URL()}
	server.admin = pgOpen(t, server.url)
	server.pgDump = pgDumpOf(t, server.admin)
	schema := &largeSchema{tables: 40}
	d := server.database(t, "")
	for line := range strings.Lines(schema.make()) { // in several transactions, too
		d.script(t, line)
	}
	before := d.dump(t)
	plan := d.inspect(t, schema.targets()...)
	if !strings.Contains(strings.Join(plan.Notes, "\n"), "Phase widen takes ") {
		t.Errorf("notes %q, want one about several transactions", plan.Notes)
	}
	wantError(t, inOneTransaction(*plan).Apply(t.Context(), d.DB), "out of shared memory", "Hint: ", "max_locks_per_transaction", "nothing of this phase has been changed")
	pgSame(t, "after a failure", d.dump(t), before)

	stop := func(at int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return plan.Apply(ctx, d.DB, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if p.Done == at {
				cancel()
			}
		}))
	}
	wantError(t, stop(40), "context canceled", "of this phase applied and kept")
	wantError(t, stop(60), "of this phase applied and kept")
	again := d.inspect(t, schema.targets()...)
	if left := len(again.Phases[0].Steps); left == 0 || left >= 40 {
		t.Errorf("another plan has %d tables to widen, want some of 40", left)
	}
	d.apply(t, again)
	if left := d.inspect(t, schema.targets()...); !left.Empty() {
		t.Errorf("after up, the plan is not empty:\n%s", left)
	}
	d.revert(t, plan)
	pgSame(t, "after down", d.dump(t), before)
}

// inOneTransaction is the plan as it would be with enough locks.
func inOneTransaction(plan sqlmigrate.Plan) *sqlmigrate.Plan {
	plan.Phases = slices.Clone(plan.Phases)
	plan.Phases[0].Steps = slices.Clone(plan.Phases[0].Steps)
	for i := range plan.Phases[0].Steps {
		plan.Phases[0].Steps[i].Transaction = 0
	}
	return &plan
}
