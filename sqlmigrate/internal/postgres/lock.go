package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
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
func (p *inspection) lockFirst(steps []engine.Step, modes map[*table]string) {
	if len(modes) < 2 {
		return
	}
	lock := statementsUnless("", withinTimeout(p.locksOf(modes)))
	first, last := &steps[0], &steps[len(steps)-1]
	first.Up = append(lock, first.Up...)
	if len(last.Down) > 0 {
		last.Down = append(lock, last.Down...)
	}
}

func (p *inspection) locksOf(modes map[*table]string) []string {
	var locks []string
	for _, t := range p.mastersFirst(modes) {
		locks = append(locks, "LOCK TABLE "+t.target()+" IN "+modes[t]+" MODE")
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
	literals := make([]string, len(statements))
	for i, s := range statements {
		literals[i] = "    " + pgsql.Literal(s)
	}
	return strings.Replace(doBlock(`  FOREACH statement IN ARRAY ARRAY[
`+strings.Join(literals, ",\n")+`
  ] LOOP
    EXECUTE statement;
    IF timeout <> '0' THEN
      PERFORM pg_catalog.set_config('lock_timeout', greatest(1, ceil(extract(epoch FROM until - clock_timestamp()) * 1000))::text, true);
    END IF;
  END LOOP;
  PERFORM pg_catalog.set_config('lock_timeout', timeout, true);
`), "BEGIN\n", `DECLARE
  timeout text := current_setting('lock_timeout');
  until timestamptz := clock_timestamp() + timeout::interval;
  statement text;
BEGIN
`, 1)
}

// mastersFirst puts a table after those that it refers to. Tables that refer
// to each other stay in some order.
func (p *inspection) mastersFirst(tables map[*table]string) []*table {
	byOID := p.tablesByOID()
	var sorted []*table
	seen := map[*table]bool{nil: true}
	var visit func(t *table)
	visit = func(t *table) {
		if seen[t] {
			return
		}
		seen[t] = true
		for _, c := range t.columns {
			for _, master := range c.masters {
				visit(byOID[master])
			}
		}
		if tables[t] != "" {
			sorted = append(sorted, t)
		}
	}
	for _, t := range p.tables {
		visit(t)
	}
	return slices.Clip(sorted)
}

// A batch is the tables that one transaction changes.
type batch []*table

// fit is how many locks one transaction may take: others need some too.
func (p *inspection) fit() int { return p.locks / 2 }

// batches are one if its locks fit into the server's memory. If they do not, a
// set of connected tables is one, and where even that does not fit, as many
// tables as do. After each, the plan can be resumed and taken back.
func (p *inspection) batches(phase engine.PhaseName, tables []*table) []batch {
	if p.total(tables, phase) <= p.fit() {
		return []batch{tables}
	}
	var found []batch
	for _, connected := range p.connected(tables) {
		found = append(found, p.cut(connected, phase)...)
	}
	p.noteBatches(phase, tables, found)
	return found
}

func (p *inspection) noteBatches(phase engine.PhaseName, tables []*table, batches []batch) {
	p.note("Phase %s takes %s, because one would need about %s and the server's lock table is made for %s "+
		"(max_locks_per_transaction): after a failure, those before it are kept, and the same plan resumes.",
		phase, engine.Count(len(batches), "transaction"), engine.Count(p.total(tables, phase), "lock"), engine.Thousands(int64(p.locks)))
	for _, b := range batches {
		if need := p.total(b, phase); need > p.locks {
			p.blocker(p.display(b[0].schema, b[0].name), "table "+p.display(b[0].schema, b[0].name),
				fmt.Sprintf("phase %s needs about %s for it, and the server's lock table is made for %s", phase, engine.Count(need, "lock"), engine.Thousands(int64(p.locks))),
				fmt.Sprintf("multiply max_locks_per_transaction by %d, and restart the server", need*2/p.locks+1))
		}
	}
}

// total is an upper bound of the locks that a transaction takes which changes
// tables: theirs, and while they are copied those of the tables that foreign keys
// connect with them.
func (p *inspection) total(tables []*table, phase engine.PhaseName) int {
	sum := 0
	own := allOf(tables, accessExclusive)
	for t := range own {
		sum += p.cost(t, phase)
	}
	if phase != engine.Widen {
		return sum
	}
	near := map[*table]bool{}
	for _, f := range p.foreign {
		if own[f.from] != "" && own[f.to] == "" {
			near[f.to] = true
		}
		if own[f.to] != "" && own[f.from] == "" {
			near[f.from] = true
		}
	}
	for t := range near {
		sum += t.relations
	}
	return sum + viewCost*len(p.viewsOf(tables))
}

// cost counts what a table has. For widen this is twice because it is copied, its
// types, and the constraints and triggers that are created again: seen were 64
// where this is 79.
func (p *inspection) cost(t *table, phase engine.PhaseName) int {
	if phase != engine.Widen {
		return t.relations + t.constraints + 8
	}
	cost := 2*t.relations + 4*len(t.members) + t.constraints
	for _, f := range p.foreign {
		if f.from == t || f.to == t {
			cost += 5
		}
	}
	return cost
}

// connected are the sets of tables that foreign keys connect, each with parents
// first.
func (p *inspection) connected(tables []*table) []batch {
	set := map[*table]*table{} // the first of its set
	var first func(t *table) *table
	first = func(t *table) *table {
		if set[t] == nil || set[t] == t {
			return t
		}
		return first(set[t])
	}
	for _, f := range p.foreign {
		if a, b := first(f.from), first(f.to); a != b {
			set[a] = b
		}
	}
	found := map[*table]batch{}
	var order []*table
	for _, t := range p.mastersFirst(allOf(tables, accessExclusive)) {
		if found[first(t)] == nil {
			order = append(order, first(t))
		}
		found[first(t)] = append(found[first(t)], t)
	}
	sets := make([]batch, len(order))
	for i, t := range order {
		sets[i] = found[t]
	}
	return sets
}

// cut makes batches that fit, of at least one table.
func (p *inspection) cut(tables batch, phase engine.PhaseName) []batch {
	var found []batch
	for len(tables) > 0 {
		n := 1
		for n < len(tables) && p.total(tables[:n+1], phase) <= p.fit() {
			n++
		}
		found = append(found, slices.Clone(tables[:n]))
		tables = tables[n:]
	}
	return found
}
