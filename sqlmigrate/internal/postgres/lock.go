package postgres

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Modes of locks. What only reads goes on next to the last two.
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
	var locks []string
	for _, t := range p.mastersFirst(modes) {
		locks = append(locks, "LOCK TABLE "+t.target()+" IN "+modes[t]+" MODE")
	}
	lock := statementsUnless("", withinTimeout(locks))
	first, last := &steps[0], &steps[len(steps)-1]
	first.Up = append(lock, first.Up...)
	if len(last.Down) > 0 {
		last.Down = append(lock, last.Down...)
	}
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
		literals[i] = "    " + literal(s)
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
