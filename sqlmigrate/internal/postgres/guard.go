package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Bytes per second that a CHECK reads, tables without their indexes, from
// memory: 84 MB in 0.11 to 0.15 s.
const scanRate = 500_000_000

// guard plans a CHECK for each key: it is added in one transaction, which takes
// no time, and what is there already is read in another, next to which programs
// read and write.
func guard(g *graph, locks int) (plan.Phase, engine.Findings) {
	phase := plan.Phase{Name: plan.Guard, Transaction: true}
	var found engine.Findings
	change := func(is func(check) bool, mode string, step func(*table, []check) plan.Step) {
		tables := keepIf(g.tables, func(t *table) bool { return slices.ContainsFunc(t.checks, is) })
		found.Add(g.change(&phase, tables, mode, locks, func(t *table) plan.Step { return step(t, keepIf(t.checks, is)) }))
	}
	change(isNew, accessExclusive, addChecks)
	change(holds, shareUpdateExclusive, validateChecks)
	return phase, found
}

// isNew: a run that was ended between the two transactions has added the others.
func isNew(c check) bool { return !c.added }

func holds(c check) bool { return !c.broken }

func addChecks(t *table, checks []check) plan.Step {
	var adds, drops []string
	for _, c := range checks {
		adds = append(adds, c.add())
		drops = append(drops, "DROP CONSTRAINT "+pgsql.Quote(c.name))
	}
	return plan.Step{
		Table: t.Display,
		Text:  "a CHECK refuses new " + checkedNames(checks) + " of zero and below",
		Up:    engine.Statements("SELECT "+hasCheck(t, checks[0], ""), "ALTER TABLE "+t.Target()+" "+strings.Join(adds, ", ")),
		Down:  engine.Statements("SELECT NOT "+hasCheck(t, checks[0], ""), "ALTER TABLE "+t.Target()+" "+strings.Join(drops, ", ")),
		Locks: fmt.Sprintf(catalogLocks, t.Display),
	}
}

// validateChecks has nothing to take back, unless the CHECK was there before.
func validateChecks(t *table, checks []check) plan.Step {
	var validates, again []string
	for _, c := range checks {
		validates = append(validates, "VALIDATE CONSTRAINT "+pgsql.Quote(c.name))
		if c.added {
			again = append(again, "ALTER TABLE "+t.Target()+" DROP CONSTRAINT "+pgsql.Quote(c.name)+", "+c.add())
		}
	}
	return plan.Step{
		Table:    t.Display,
		Text:     "the CHECK of " + checkedNames(checks) + " is validated: the rows that are there are read",
		Up:       engine.Statements("SELECT "+hasCheck(t, checks[0], " AND convalidated"), "ALTER TABLE "+t.Target()+" "+strings.Join(validates, ", ")),
		Down:     engine.Statements("SELECT NOT "+hasCheck(t, checks[0], " AND convalidated"), again...),
		Rows:     t.Rows,
		Bytes:    t.Heap,
		Locks:    "SHARE UPDATE EXCLUSIVE on " + t.Display + " while it is read once: reads and writes continue",
		Estimate: engine.Estimate(t.Heap, scanRate),
	}
}

// checkedNames are those of the columns.
func checkedNames(checks []check) string {
	return pgsql.Join(checks, ", ", func(c check) string { return c.column.Name })
}

// hasCheck is a condition: the check is there, and more.
func hasCheck(t *table, c check, more string) string {
	return fmt.Sprintf("EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = %s::regclass AND conname = %s%s)",
		pgsql.Literal(t.Target()), pgsql.Literal(c.name), more)
}

func (c check) add() string {
	return fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s > 0) NOT VALID", pgsql.Quote(c.name), pgsql.Quote(c.column.Name))
}
