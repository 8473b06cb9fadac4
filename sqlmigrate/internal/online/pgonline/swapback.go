package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// swapBack takes the swap back: its first steps only read, and what they find
// speaks against it before anything is changed.
func (g *graph) swapBack() []engine.OnlineStep {
	var fits, steps []engine.OnlineStep
	for _, t := range g.tables {
		fits = append(fits, t.fits())
		for _, i := range t.indexes {
			if i.Primary() {
				steps = append(steps, buildStep(t, i, i.back(), old))
			}
		}
		steps = append(steps, t.hold(current, old)...)
	}
	for _, k := range g.keys {
		steps = append(steps, k.steps(k.back(), old)...)
	}
	steps = append(slices.Concat(fits, steps), g.backSwap())
	for i := range steps {
		steps[i].Unless = g.notSwapped()
	}
	return steps
}

// notSwapped is true before the swap, and after it has been taken back.
func (g *graph) notSwapped() string {
	t := g.tables[0]
	return "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = " + pgsql.Literal(t.Target()) + "::regclass AND attname = " + pgsql.Literal(old(t.columns[0])) + " AND NOT attisdropped)"
}

// fits counts keys that have no place in the old columns, up to the first.
func (t *table) fits() engine.OnlineStep {
	outside := joined(t.columns, " OR ", func(c *column) string {
		low, high := c.Bounds()
		return fmt.Sprintf("%s NOT BETWEEN %s AND %s", pgsql.Quote(c.Name), low, high)
	})
	return engine.OnlineStep{
		Table: t.Name, Text: "find keys of table " + t.Name + " that the old columns do not hold", Kind: engine.Verify,
		SQL:   []string{"SELECT count(*) FROM (SELECT FROM " + t.Target() + " WHERE " + outside + " LIMIT 1) AS outside"},
		Locks: "none that keeps anybody out", Rows: t.rows, Bytes: t.heap, Estimate: perRow(t.rows, scanRate),
	}
}

func (g *graph) backSwap() engine.OnlineStep {
	all := g.all()
	sql := locked("ACCESS EXCLUSIVE", all...)
	for _, k := range g.keys {
		sql = append(sql, k.child.drop(k.Name))
	}
	for _, t := range g.tables {
		sql = append(sql, t.backSwap()...)
	}
	for _, k := range g.keys {
		sql = append(sql, k.child.renameConstraint(k.back(), k.Name))
		sql = append(sql, k.commented()...)
	}
	return engine.OnlineStep{
		Text: "swap the columns of " + joined(g.tables, ", ", func(t *table) string { return t.Name }) + " back", Kind: engine.Short, SQL: sql,
		Locks: fmt.Sprintf(exclusive, joined(all, ", ", func(t *table) string { return t.Name })),
	}
}

func (t *table) backSwap() []string {
	var sql []string
	for _, i := range t.indexes {
		if i.Constraint != "" {
			sql = append(sql, t.drop(i.Constraint))
		} else {
			sql = append(sql, "DROP INDEX "+pgsql.Qualified(t.Schema, i.Name))
		}
	}
	if set := t.setNotNull(old); set != "" {
		sql = append(sql, set)
	}
	for _, c := range t.columns {
		sql = append(sql, t.handOver(c, c.Name, old(c))...)
		sql = append(sql, t.rename(c.Name, fresh(c)), t.rename(old(c), c.Name))
		sql = append(sql, t.ownSequences(c)...)
	}
	for _, i := range t.indexes {
		switch {
		case i.Primary():
			sql = append(sql, t.put(i, i.back())...)
		case i.Constraint != "":
			sql = append(sql, t.renameConstraint(i.old(), i.Constraint))
		default:
			sql = append(sql, t.renameIndex(i.old(), i.Name))
		}
	}
	sql = append(sql, t.drop(sameCheck), t.forward())
	return append(sql, t.touch()...)
}
