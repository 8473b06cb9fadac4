package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// checksSQL returns the names of all constraints of tables. For a CHECK (contype 'c') that
// makes a column positive, such as CHECK (id > 0), it also returns the column. Another
// column of the result reports whether the CHECK is not validated and has the form that
// check.add writes. The query recognizes the forms in which the server writes such an
// expression, such as (id > 0), if the CHECK uses no other column (conkey). For all other
// constraints the column is 0. A CHECK with NO INHERIT does not count, because it does not
// hold for children.
const checksSQL = `
SELECT c.conrelid::bigint, c.conname, c.contype = 'c' AND pg_get_constraintdef(c.oid) ~ ' > (0|''0''::bigint)\)\) NOT VALID$',
       coalesce((
         SELECT a.attnum FROM pg_catalog.pg_attribute a
         WHERE c.contype = 'c' AND NOT c.connoinherit AND a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
           AND pg_get_expr(c.conbin, c.conrelid) IN (
             format('(%I > 0)', a.attname), format('(%I >= 1)', a.attname),
             format('(0 < %I)', a.attname), format('(1 <= %I)', a.attname),
             format('(%I > ''0''::bigint)', a.attname), format('(%I >= ''1''::bigint)', a.attname))), 0)
FROM pg_catalog.pg_constraint c
WHERE c.conrelid = ANY ($1::text::oid[])`

// constraintNames are the constraints of a table and of its partitions and children.
type constraintNames struct {
	guarded map[int64]bool   // the columns that already have a CHECK which makes them positive
	pending map[int64]string // the name of such a CHECK that is not validated, by column
	taken   map[string]bool  // all names of constraints
}

// readChecks adds to each table the CHECKs that phase guard creates for its keys, which
// require that a key is positive. The findings report keys of zero or less, which violate
// their CHECK, so that it cannot be validated. A column that refers to another key gets no
// CHECK, because its values are values of that key, which has a CHECK. A key that is not an
// integer gets no CHECK, because it is a blocker of the plan (blockColumn).
func readChecks(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) (found engine.Findings) {
	names := readConstraintNames(ctx, q, g)
	for _, t := range g.tables {
		for _, c := range t.columns {
			if !c.Key || c.isReference() || !c.isInteger() {
				continue
			}
			name, added, needed := names[t].chooseGuard(c)
			if !needed { // the column has such a CHECK already
				continue
			}
			broken := c.keys.Smallest.Valid && c.keys.Smallest.Int64 <= 0 // no smallest key means no rows
			if broken {
				found.NotPositive(t.Display, c.Name, c.keys.Smallest.Int64, "its CHECK stays NOT VALID, and refuses an UPDATE of that row too")
			}
			names[t].taken[name] = true
			t.checks = append(t.checks, check{c, name, added, broken})
		}
	}
	return found
}

// readConstraintNames reads the names of the constraints of each table, its partitions and
// its children, and the CHECKs that already make a column of the table positive.
func readConstraintNames(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) map[*table]*constraintNames {
	found := map[*table]*constraintNames{}
	tablesOf := map[int64][]*table{} // the tables of the plan to which a table, partition or child belongs, by its OID
	var oids []int64
	for _, t := range g.tables {
		found[t] = &constraintNames{map[int64]bool{}, map[int64]string{}, map[string]bool{}}
		for _, member := range t.members {
			oids = append(oids, member)
			tablesOf[member] = append(tablesOf[member], t)
		}
	}
	for _, x := range pgcatalog.Read[struct {
		Table   int64
		Name    string
		Pending bool
		Column  int64
	}](ctx, q.Reader, checksSQL, oids) {
		for _, t := range tablesOf[x.Table] {
			names := found[t]
			names.taken[x.Name] = true
			// A CHECK of the table also gets its name on the partitions and children, so a
			// name of a constraint there is taken too.
			if t.OID != x.Table {
				continue
			}
			names.guarded[x.Column] = true // column 0, of other constraints, is never looked up
			if x.Pending {
				names.pending[x.Column] = x.Name
			}
		}
	}
	return found
}

// chooseGuard returns the name of the CHECK that makes a column positive, whether an earlier
// run of the plan has added the CHECK, and whether the plan needs a step for the CHECK. There
// are three cases:
//
//   - If the column has no such CHECK, a step has to add and validate it.
//   - If an earlier run has added the CHECK, and was interrupted before it validated the
//     CHECK, added is true, and a step has to validate it.
//   - Any other such CHECK, which is validated or was added by a user, stays as it is, and
//     needed is false.
//
// chooseGuard recognizes the CHECK of an earlier run by the name, which must be the name that
// chooseGuard would have chosen for it.
func (n *constraintNames) chooseGuard(c *column) (name string, added, needed bool) {
	if !n.guarded[c.Node.Column] {
		return guardName(c, n.taken), false, true
	}
	pending := n.pending[c.Node.Column]
	if pending == "" {
		return "", false, false
	}
	takenBefore := maps.Clone(n.taken) // the names that were taken when the earlier run chose the name
	delete(takenBefore, pending)
	return pending, true, guardName(c, takenBefore) == pending
}

// guardName returns the name for the CHECK of a column, for example chk_orders_id. This is
// the name that GORM would give to the CHECK or, if another constraint has that name (taken),
// a similar name. The name has at most 63 bytes, because PostgreSQL cuts longer names.
func guardName(c *column, taken map[string]bool) string {
	const longest = 63
	return engine.GuardName(c.table.Name, c.Name, longest, func(name string) bool { return len(name) <= longest && !taken[name] })
}

// scanRate is the number of bytes of a table per second, without its indexes, that VALIDATE
// CONSTRAINT reads from memory to check all rows. Measured were 84 MB in 0.11 to 0.15 s.
const scanRate = 500_000_000

// planGuard plans phase guard, which adds to each key a CHECK that it is positive. A first
// transaction adds the CHECKs for new rows as NOT VALID, which takes no time. A second
// transaction validates the existing rows, while programs read and write. locks is the size
// of the server's lock table.
func planGuard(g *graph, locks int) (plan.Phase, engine.Findings) {
	phase := plan.Phase{Name: plan.Guard, Transaction: true}
	var found engine.Findings
	// addSteps adds a step for each table with CHECKs for which include is true, in a
	// transaction with locks of the mode. step returns the step for a table.
	addSteps := func(include func(check) bool, mode string, step func(*table, []check) plan.Step) {
		tables := keepIf(g.tables, func(t *table) bool { return slices.ContainsFunc(t.checks, include) })
		found.Add(g.addSteps(&phase, tables, mode, locks, func(t *table) plan.Step { return step(t, keepIf(t.checks, include)) }))
	}
	addSteps(isNew, accessExclusive, addChecks)
	addSteps(isSatisfied, shareUpdateExclusive, validateChecks)
	return phase, found
}

// isNew reports whether the CHECK still has to be added. It returns false if an earlier run
// of the plan has added the CHECK, but was interrupted before it validated it.
func isNew(c check) bool { return !c.added }

// isSatisfied reports whether all rows satisfy the CHECK, so that it can be validated.
func isSatisfied(c check) bool { return !c.broken }

// addChecks returns the step that adds the CHECKs of a table for new rows. Its Unless
// query, which returns whether the step is done, looks only for the first CHECK, because a
// single statement adds all of them.
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

// validateChecks returns the step that has the server check all rows of a table for its
// CHECKs, which then count as validated. When the phase is taken back, addChecks' step
// drops the CHECKs that the plan has added. So the Down of this step has statements only
// for the CHECKs that an earlier run had added, and makes these NOT VALID again, as they
// were before.
func validateChecks(t *table, checks []check) plan.Step {
	var validates, invalidates []string // invalidates replaces CHECKs by the same CHECKs as NOT VALID
	for _, c := range checks {
		validates = append(validates, "VALIDATE CONSTRAINT "+pgsql.Quote(c.name))
		if c.added {
			invalidates = append(invalidates, "ALTER TABLE "+t.Target()+" DROP CONSTRAINT "+pgsql.Quote(c.name)+", "+c.add())
		}
	}
	return plan.Step{
		Table:    t.Display,
		Text:     "the CHECK of " + checkedNames(checks) + " is validated: the rows that are there are read",
		Up:       engine.Statements("SELECT "+hasCheck(t, checks[0], " AND convalidated"), "ALTER TABLE "+t.Target()+" "+strings.Join(validates, ", ")),
		Down:     engine.Statements("SELECT NOT "+hasCheck(t, checks[0], " AND convalidated"), invalidates...),
		Rows:     t.Rows,
		Bytes:    t.Heap,
		Locks:    "SHARE UPDATE EXCLUSIVE on " + t.Display.String() + " while it is read once: reads and writes continue",
		Estimate: engine.Estimate(t.Heap, scanRate),
	}
}

// checkedNames returns the names of the columns for the text of a step.
func checkedNames(checks []check) string {
	return pgsql.Join(checks, ", ", func(c check) string { return c.column.Name })
}

// hasCheck returns an SQL condition that is true if the CHECK exists. more is empty, or a
// further condition on its row in pg_constraint that begins with AND, for example " AND
// convalidated".
func hasCheck(t *table, c check, more string) string {
	return fmt.Sprintf("EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = %s::regclass AND conname = %s%s)",
		pgsql.Literal(t.Target()), pgsql.Literal(c.name), more)
}

// add returns the command of ALTER TABLE that adds the CHECK.
func (c check) add() string {
	return fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s > 0) NOT VALID", pgsql.Quote(c.name), pgsql.Quote(c.column.Name))
}
