package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// swapBack takes the swap back: its first steps only read, and what they find
// speaks against it before anything is changed.
func (p *inspection) swapBack() []engine.OnlineStep {
	var fits, steps []engine.OnlineStep
	for _, t := range p.tables {
		fits = append(fits, t.fits())
		for _, i := range t.indexes {
			if i.primary() {
				steps = append(steps, buildStep(t, i, i.back(), old))
			}
		}
		steps = append(steps, t.hold(current, old)...)
	}
	for _, k := range p.keys {
		steps = append(steps, k.steps(k.back(), old)...)
	}
	steps = append(slices.Concat(fits, steps), p.backSwap())
	for i := range steps {
		steps[i].Unless = p.notSwapped()
	}
	return steps
}

// notSwapped is true before the swap, and after it has been taken back.
func (p *inspection) notSwapped() string {
	t := p.tables[0]
	return "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = " + pgsql.Literal(t.target()) + "::regclass AND attname = " + pgsql.Literal(t.columns[0].old()) + " AND NOT attisdropped)"
}

// fits counts keys that have no place in the old columns, up to the first.
func (t *table) fits() engine.OnlineStep {
	outside := joined(t.columns, " OR ", func(c *column) string {
		low, high := c.bounds()
		return fmt.Sprintf("%s NOT BETWEEN %s AND %s", pgsql.Quote(c.name), low, high)
	})
	return engine.OnlineStep{
		Table: t.name, Text: "find keys of table " + t.name + " that the old columns do not hold", Kind: engine.Verify,
		SQL:   []string{"SELECT count(*) FROM (SELECT FROM " + t.target() + " WHERE " + outside + " LIMIT 1) AS outside"},
		Locks: "none that keeps anybody out", Rows: t.rows, Bytes: t.heap, Estimate: perRow(t.rows, scanRate),
	}
}

func (p *inspection) backSwap() engine.OnlineStep {
	all := p.everyTable()
	sql := locked("ACCESS EXCLUSIVE", all...)
	for _, k := range p.keys {
		sql = append(sql, k.child.drop(k.name))
	}
	for _, t := range p.tables {
		sql = append(sql, t.backSwap()...)
	}
	for _, k := range p.keys {
		sql = append(sql, k.child.renameConstraint(k.back(), k.name))
		sql = append(sql, k.commented()...)
	}
	return engine.OnlineStep{
		Text: "swap the columns of " + joined(p.tables, ", ", func(t *table) string { return t.name }) + " back", Kind: engine.Short, SQL: sql,
		Locks: fmt.Sprintf(exclusive, joined(all, ", ", func(t *table) string { return t.name })),
	}
}

func (t *table) backSwap() []string {
	var sql []string
	for _, i := range t.indexes {
		if i.constraint != "" {
			sql = append(sql, t.drop(i.constraint))
		} else {
			sql = append(sql, "DROP INDEX "+pgsql.Qualified(t.schema, i.name))
		}
	}
	if set := t.setNotNull(old); set != "" {
		sql = append(sql, set)
	}
	for _, c := range t.columns {
		sql = append(sql, t.hand(c, c.name, c.old())...)
		sql = append(sql, t.rename(c.name, c.fresh()), t.rename(c.old(), c.name))
		sql = append(sql, t.own(c)...)
	}
	for _, i := range t.indexes {
		switch {
		case i.primary():
			sql = append(sql, t.put(i, i.back())...)
		case i.constraint != "":
			sql = append(sql, t.renameConstraint(i.old(), i.constraint))
		default:
			sql = append(sql, t.renameIndex(i.old(), i.name))
		}
	}
	sql = append(sql, t.drop(sameCheck), t.forward())
	return append(sql, t.touch()...)
}
