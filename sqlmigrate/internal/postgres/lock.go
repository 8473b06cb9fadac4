package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Modes of locks. Only ACCESS EXCLUSIVE blocks readers.
const (
	accessExclusive      = "ACCESS EXCLUSIVE"
	shareRowExclusive    = "SHARE ROW EXCLUSIVE"
	shareUpdateExclusive = "SHARE UPDATE EXCLUSIVE"
)

// catalogLocks describes the locks of a step that only changes the catalog, and so does not
// read rows. Its argument is the table.
const catalogLocks = "ACCESS EXCLUSIVE on %s for a moment"

// lockFirst changes the steps of a transaction so that their first statement takes all locks
// of the transaction. If a lock is not available, the transaction then fails before it has
// copied a table. For the way back, on which the last step runs first, lockFirst adds the
// same statement to the last step. modes has the lock mode of each table.
//
// The statement locks parents before children, which is the order in which programs write
// rows. In the reverse order there would be deadlocks with programs that have written a
// parent and then write its children.
func (g *graph) lockFirst(steps []plan.Step, modes map[*table]string) {
	if len(modes) < 2 { // a single table is locked by its first statement
		return
	}
	lock := engine.Statements("", withinTimeout(g.locksOf(modes)))
	first, last := &steps[0], &steps[len(steps)-1]
	first.Up = append(lock, first.Up...)
	if len(last.Down) > 0 { // a step may have nothing to take back
		last.Down = append(lock, last.Down...)
	}
}

// locksOf returns the LOCK TABLE statements for the tables, parents first.
func (g *graph) locksOf(modes map[*table]string) []string {
	var locks []string
	for _, t := range g.parentsFirst(modes) {
		locks = append(locks, "LOCK TABLE "+t.Target()+" IN "+modes[t]+" MODE")
	}
	return locks
}

// allOf returns a map from each table to the same mode.
func allOf(tables []*table, mode string) map[*table]string {
	modes := map[*table]string{}
	for _, t := range tables {
		modes[t] = mode
	}
	return modes
}

// withinTimeout returns a statement that runs statements, and fails if their waits for
// locks take longer than lock_timeout together. The server itself applies lock_timeout to
// each lock, so a session that waits behind the first lock might have to wait for several
// timeouts. After each statement, lock_timeout becomes the time that is left, and at the
// end its former value. A lock_timeout of 0 means no limit.
func withinTimeout(statements []string) string {
	return pgsql.Do(`DECLARE
  timeout text := current_setting('lock_timeout');
  until timestamptz := clock_timestamp() + timeout::interval;
  statement text;
`, `  FOREACH statement IN ARRAY ARRAY[
`+pgsql.Join(statements, ",\n", func(s string) string { return "    " + pgsql.Literal(s) })+`
  ] LOOP
    EXECUTE statement;
    IF timeout <> '0' THEN
      PERFORM pg_catalog.set_config('lock_timeout', greatest(1, ceil(extract(epoch FROM until - clock_timestamp()) * 1000))::text, true);
    END IF;
  END LOOP;
  PERFORM pg_catalog.set_config('lock_timeout', timeout, true);
`)
}

// parentsFirst returns the tables that have a mode, each after the tables to which it
// refers.
func (g *graph) parentsFirst(modes map[*table]string) []*table {
	sorted := pgcatalog.ParentsFirst(g.tables, func(t *table) (parents []*table) {
		for _, c := range t.columns {
			for _, parent := range c.refers {
				parents = append(parents, parent.table)
			}
		}
		return parents
	})
	return keepIf(sorted, func(t *table) bool { return modes[t] != "" })
}

// addSteps adds a step for each table to the phase. The function step returns the step of a
// table. The steps are divided into transactions. A transaction of several tables begins with
// the locks of its tables in the given mode. locks is the size of the server's lock table. The
// findings are a note if a single transaction would need more than half of the lock table, and a
// blocker for each table that needs more locks than the lock table has.
func (g *graph) addSteps(phase *plan.Phase, tables []*table, mode string, locks int, step func(*table) plan.Step) engine.Findings {
	first := 0 // the number of the first new transaction; the phase may have steps already
	if n := len(phase.Steps); n > 0 {
		first = phase.Steps[n-1].Transaction + 1
	}
	batches, found := g.batches(phase.Name, tables, locks)
	for i, batch := range batches {
		steps := stepsOf(batch, first+i, step)
		g.lockFirst(steps, allOf(batch, mode))
		phase.Steps = append(phase.Steps, steps...)
	}
	return found
}

// stepsOf returns the steps of a transaction, one for each table.
func stepsOf(tables []*table, transaction int, step func(*table) plan.Step) []plan.Step {
	steps := make([]plan.Step, len(tables))
	for i, t := range tables {
		steps[i] = step(t)
		steps[i].Transaction = transaction
	}
	return steps
}

// batches divides tables into batches, each of which is changed in one transaction. locks is
// the size of the server's lock table, of which a batch uses at most half, because programs
// need the other half. If all tables fit, batches returns a single batch. Otherwise each
// batch has as many tables as fit, parents first, and the findings have a note. The plan can
// be resumed and taken back after each batch. A batch is larger than half of the lock table
// only if it is a single table. The findings have a blocker if such a table needs more locks
// than the whole lock table.
func (g *graph) batches(phase plan.PhaseName, tables []*table, locks int) (batches [][]*table, found engine.Findings) {
	total := g.lockCount(phase, tables)
	if total <= locks/2 {
		return [][]*table{tables}, found
	}
	sorted := g.parentsFirst(allOf(tables, accessExclusive)) // the mode has no meaning here
	batches = g.cut(sorted, phase, locks/2)
	found.Note("Phase %s takes %s, because one would need about %s and the server's lock table is made for %s "+
		"(max_locks_per_transaction): after a failure, those before it are kept, and the same plan resumes.",
		phase, engine.Count(len(batches), "transaction"), engine.Count(total, "lock"), engine.Thousands(int64(locks)))
	// A batch that needs more than half of the lock table is a single table. The factor
	// of the fix makes the lock table large enough for it and for programs.
	for _, b := range batches {
		if need := g.lockCount(phase, b); need > locks {
			found.Block(b[0].Display, "table "+b[0].Display.String(),
				fmt.Sprintf("phase %s needs about %s for it, and the server's lock table is made for %s", phase, engine.Count(need, "lock"), engine.Thousands(int64(locks))),
				fmt.Sprintf("multiply max_locks_per_transaction by %d, and restart the server", need*2/locks+1))
		}
	}
	return batches, found
}

// viewCost is the number of locks that lockCount counts for each view, which is the largest
// number that a view takes.
const viewCost = 12

// lockCount returns an upper bound of the number of locks that a transaction takes to
// change tables. Each phase locks the tables with their indexes and TOAST tables, and
// their constraints. Phase widen copies each table, and so locks its relations twice. It
// also locks the row types, both ends of each foreign key, and the views on the tables.
//
// The factors and summands are rounded up from measurements, so that a table that took 64
// locks counts as 79.
func (g *graph) lockCount(phase plan.PhaseName, tables []*table) int {
	sum := 0
	for _, t := range tables {
		if phase == plan.Widen {
			sum += 2*t.Relations + 4*len(t.members) + t.Constraints
		} else {
			sum += t.Relations + t.Constraints + 8
		}
	}
	if phase != plan.Widen {
		return sum
	}
	// changed is the set of the tables; its lock mode has no meaning here. neighbours are the
	// tables at the other ends of their foreign keys.
	changed, neighbours := allOf(tables, accessExclusive), map[*table]bool{}
	for _, f := range g.foreign {
		from, to := f.from.table, f.to.table
		if changed[from] != "" {
			sum, neighbours[to] = sum+5, true
		}
		if changed[to] != "" && from != to {
			sum, neighbours[from] = sum+5, true
		}
	}
	for t := range neighbours {
		if changed[t] == "" {
			sum += t.Relations
		}
	}
	return sum + viewCost*len(g.viewsOf(tables))
}

// cut divides tables into batches, in their order. A transaction that changes the tables of
// a batch in the phase needs at most limit locks, unless the batch is a single table that
// needs more.
func (g *graph) cut(tables []*table, phase plan.PhaseName, limit int) [][]*table {
	var found [][]*table
	for len(tables) > 0 {
		n := 1
		for n < len(tables) && g.lockCount(phase, tables[:n+1]) <= limit {
			n++
		}
		found = append(found, tables[:n:n]) // an append to the batch must not overwrite the next
		tables = tables[n:]
	}
	return found
}
