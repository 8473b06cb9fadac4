package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Modes of locks. Only the first keeps readers out.
const (
	accessExclusive      = "ACCESS EXCLUSIVE"
	shareRowExclusive    = "SHARE ROW EXCLUSIVE"
	shareUpdateExclusive = "SHARE UPDATE EXCLUSIVE"
)

// lockFirst makes a transaction, which is these steps, begin with all its locks:
// one that cannot be had ends the transaction before a table is copied, not
// after. Parents come before children, as programs write them: the other way
// round, a program that has written a parent and continues with its children
// would wait for the phase, and the phase for it.
func (g *graph) lockFirst(steps []plan.Step, modes map[*table]string) {
	if len(modes) < 2 {
		return
	}
	lock := engine.Statements("", withinTimeout(g.locksOf(modes)))
	first, last := &steps[0], &steps[len(steps)-1]
	first.Up = append(lock, first.Up...)
	if len(last.Down) > 0 {
		last.Down = append(lock, last.Down...)
	}
}

func (g *graph) locksOf(modes map[*table]string) []string {
	var locks []string
	for _, t := range g.parentsFirst(modes) {
		locks = append(locks, "LOCK TABLE "+t.Target()+" IN "+modes[t]+" MODE")
	}
	return locks
}

// allOf is the same mode for all.
func allOf(tables []*table, mode string) map[*table]string {
	modes := map[*table]string{}
	for _, t := range tables {
		modes[t] = mode
	}
	return modes
}

// withinTimeout carries out statements that wait for locks, all of them within
// lock_timeout. That is for each lock, and who waits behind the first would wait
// for the others too.
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

// parentsFirst are the tables that have a mode, each after those that it refers to.
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

// change adds a step for each table to a phase, in transactions that begin with the
// locks of their tables.
func (g *graph) change(phase *plan.Phase, tables []*table, mode string, locks int, step func(*table) plan.Step) engine.Findings {
	first := 0
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

// stepsOf plans a step for each table of a transaction.
func stepsOf(tables []*table, transaction int, step func(*table) plan.Step) []plan.Step {
	steps := make([]plan.Step, len(tables))
	for i, t := range tables {
		steps[i] = step(t)
		steps[i].Transaction = transaction
	}
	return steps
}

// batches are one if its locks fit into half of the server's lock table: others
// need some too. If they do not, each has as many tables as do, parents first. After
// each, the plan can be resumed and taken back.
func (g *graph) batches(phase plan.PhaseName, tables []*table, locks int) (batches [][]*table, found engine.Findings) {
	total := g.lockCount(phase, tables)
	if total <= locks/2 {
		return [][]*table{tables}, found
	}
	batches = g.cut(g.parentsFirst(allOf(tables, accessExclusive)), phase, locks/2)
	found.Note("Phase %s takes %s, because one would need about %s and the server's lock table is made for %s "+
		"(max_locks_per_transaction): after a failure, those before it are kept, and the same plan resumes.",
		phase, engine.Count(len(batches), "transaction"), engine.Count(total, "lock"), engine.Thousands(int64(locks)))
	for _, b := range batches {
		if need := g.lockCount(phase, b); need > locks {
			found.Block(b[0].Display, "table "+b[0].Display.String(),
				fmt.Sprintf("phase %s needs about %s for it, and the server's lock table is made for %s", phase, engine.Count(need, "lock"), engine.Thousands(int64(locks))),
				fmt.Sprintf("multiply max_locks_per_transaction by %d, and restart the server", need*2/locks+1))
		}
	}
	return batches, found
}

// viewCost is how many locks a view may take.
const viewCost = 12

// lockCount is an upper bound of the locks that a transaction takes which changes
// tables. For widen these are twice theirs because they are copied, their types, the
// constraints and triggers that are created again, the tables that foreign keys connect
// with them, and the views above them: seen were 64 where this is 79 for the table alone.
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
	own, near := allOf(tables, accessExclusive), map[*table]bool{}
	for _, f := range g.foreign {
		from, to := f.from.table, f.to.table
		if own[from] != "" {
			sum, near[to] = sum+5, true
		}
		if own[to] != "" && from != to {
			sum, near[from] = sum+5, true
		}
	}
	for t := range near {
		if own[t] == "" {
			sum += t.Relations
		}
	}
	return sum + viewCost*len(g.viewsOf(tables))
}

// cut cuts tables into batches that need at most that many locks, or have one table.
func (g *graph) cut(tables []*table, phase plan.PhaseName, locks int) [][]*table {
	var found [][]*table
	for len(tables) > 0 {
		n := 1
		for n < len(tables) && g.lockCount(phase, tables[:n+1]) <= locks {
			n++
		}
		found = append(found, tables[:n:n])
		tables = tables[n:]
	}
	return found
}
