package postgres

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// lockFirst makes the phase begin with the locks of all its tables: one that
// cannot be had ends the transaction before a table is copied, not after.
// Parents come before children, as programs write them: the other way round, a
// program that has written a parent and continues with its children would wait
// for the phase, and the phase for it.
func (p *inspection) lockFirst(phase *engine.Phase, tables []*table) {
	if len(tables) < 2 {
		return
	}
	var targets []string
	for _, t := range p.mastersFirst(tables) {
		targets = append(targets, t.target())
	}
	lock := statementsUnless("", "LOCK TABLE "+strings.Join(targets, ", ")+" IN ACCESS EXCLUSIVE MODE")
	first, last := &phase.Steps[0], &phase.Steps[len(phase.Steps)-1]
	first.Up = append(lock, first.Up...)
	last.Down = append(lock, last.Down...)
}

// mastersFirst puts a table after those that it refers to. Tables that refer
// to each other stay in some order.
func (p *inspection) mastersFirst(tables []*table) []*table {
	byOID := map[int64]*table{}
	for _, t := range p.tables {
		byOID[t.oid] = t
	}
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
		if slices.Contains(tables, t) {
			sorted = append(sorted, t)
		}
	}
	for _, t := range tables {
		visit(t)
	}
	return sorted
}
