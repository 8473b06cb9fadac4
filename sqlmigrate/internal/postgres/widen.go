package postgres

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// rewriteRate is the number of bytes per second, of tables with their indexes, that
// PostgreSQL copies when it changes the type of a column. Measured were 134 MB in 2.3 to
// 3.7 s, and 189 MB in 4.1 to 4.5 s.
const rewriteRate = 45_000_000

// planWiden plans phase widen, which changes columns to bigint. It uses a single ALTER
// TABLE for each table, so that each table is copied only once. The plan drops no foreign
// key, except those that refer to partitioned tables and partitions, because PostgreSQL can
// compare an integer with a bigint until both columns are wide. locks is the size of the
// server's lock table.
func planWiden(g *graph, locks int) (plan.Phase, engine.Findings) {
	phase := plan.Phase{Name: plan.Widen, Transaction: true}
	tables := keepIf(g.tables, func(t *table) bool { return len(t.narrowColumns()) > 0 })
	batches, found := g.batches(plan.Widen, tables, locks)
	for i, batch := range batches {
		steps := stepsOf(batch, i, func(t *table) plan.Step { return widenStep(g, t, len(batches) > 1) })
		modes := g.widenModes(batch)
		if views := g.viewsOf(batch); len(views) > 0 {
			// The first step takes the locks, after it has dropped the views.
			steps = withoutViews(batch, steps, views, g.locksOf(modes))
		} else {
			g.lockFirst(steps, modes)
		}
		phase.Steps = append(phase.Steps, steps...)
	}
	if n := len(phase.Steps); n > 0 { // at the end, when no column of the plan is narrow any more
		phase.Steps[n-1].Up = append(phase.Steps[n-1].Up, rejectNewReferences(tables)...)
	}
	return phase, found
}

// widenStep returns the step that widens the columns of a table. several reports whether
// the phase takes several transactions, which the text on its locks mentions.
func widenStep(g *graph, t *table, several bool) plan.Step {
	columns := t.narrowColumns()
	narrow := anyNarrow(columns) // an SQL condition; while it is true, Up has to run
	return plan.Step{
		Table:    t.Display,
		Text:     namesOf(columns) + " become" + pgsql.If(len(columns) == 1, "s") + " bigint",
		Up:       engine.Statements("SELECT NOT "+narrow, widenUp(t)...),
		Down:     engine.Statements("SELECT "+narrow, widenDown(t)...),
		Check:    engine.Statements("", widenCheck(g, t, columns)),
		Rows:     t.Rows,
		Bytes:    t.Bytes,
		Rewrites: true,
		Locks:    widenLocks(t, several),
		Estimate: engine.Estimate(t.Bytes, rewriteRate),
	}
}

// widenModes returns the lock modes of a transaction. ALTER TABLE creates the foreign
// keys of a widened column again, on both sides. For that it locks the table that refers
// in ACCESS EXCLUSIVE mode, and the table to which a widened column refers in SHARE ROW
// EXCLUSIVE mode.
func (g *graph) widenModes(tables []*table) map[*table]string {
	modes := map[*table]string{}
	for _, f := range g.foreign {
		from, to := f.from.table, f.to.table
		switch {
		case slices.Contains(tables, to) && f.to.IsNarrow():
			modes[from] = accessExclusive
		case slices.Contains(tables, from) && f.from.IsNarrow() && modes[to] == "":
			modes[to] = shareRowExclusive
		}
	}
	for _, t := range tables {
		modes[t] = accessExclusive
	}
	return modes
}

// widenUp returns the statements that widen the columns of a table, and restore the
// properties that PostgreSQL loses when it changes the types.
func widenUp(t *table) []string {
	return append(t.up.around(alterTypes(t, func(*column) string { return "bigint" })), t.kept...)
}

// widenDown returns the statements that take phase widen back for a table. They give the
// columns their former types again, and restore the properties that PostgreSQL loses. ALTER
// TABLE gives the sequence of an identity the type of the column, so a sequence that had
// another type needs a statement of its own.
func widenDown(t *table) []string {
	texts := t.down.around(alterTypes(t, func(c *column) string { return c.Type }))
	for _, c := range t.narrowColumns() {
		for _, m := range c.members {
			if s := m.ownIdentity(); s != nil && s.Type != c.Type {
				texts = append(texts, s.retype())
			}
		}
	}
	return append(texts, t.kept...)
}

// retype returns a statement that restores the type of an identity's sequence. It is
// needed if the type differs from the type of the column, because ALTER TABLE gives the
// sequence the type of the column.
func (s *sequence) retype() string {
	return fmt.Sprintf("ALTER SEQUENCE %s AS %s MINVALUE %d MAXVALUE %d", s.Target(), s.Type, s.Smallest, s.Largest)
}

// alterTypes returns one ALTER TABLE for all narrow columns of the table. The function typ
// returns the new type of a column.
func alterTypes(t *table, typ func(*column) string) string {
	return "ALTER TABLE " + t.Target() + " " + pgsql.Join(t.narrowColumns(), ", ", func(c *column) string {
		return "ALTER COLUMN " + pgsql.Quote(c.Name) + " TYPE " + typ(c)
	})
}

// widenLocks describes the locks of the step for users. several reports whether the phase
// takes several transactions, so that the locks end with the transaction of the step.
func widenLocks(t *table, several bool) string {
	end := "phase"
	if several {
		end = "transaction"
	}
	return "ACCESS EXCLUSIVE on " + t.Display.String() + pgsql.If(len(t.members) > 1, ", its partitions and children") + " and every table whose foreign key refers to it, until the end of the " + end + ": reads and writes wait"
}

// widenCheck returns a statement that fails if the step of phase widen for a table cannot
// be taken back. It looks for keys that do not fit into the former types of the columns,
// and for objects because of which PostgreSQL would not change the types.
func widenCheck(g *graph, t *table, columns []*column) string {
	rejections := []string{rejectNewUses(t, columns, g.views)}
	for _, c := range columns {
		low, high := c.Bounds()
		rejections = append(rejections, rejectIf(
			fmt.Sprintf("SELECT FROM %s WHERE %s NOT BETWEEN %s AND %s", t.Target(), pgsql.Quote(c.Name), low, high),
			fmt.Sprintf("sqlmigrate: column %s of table %s holds keys that do not fit into %s: want none outside %s to %s before it is taken back",
				c.Name, t.Display, c.Type, low, high)))
	}
	return checkAll(rejections)
}
