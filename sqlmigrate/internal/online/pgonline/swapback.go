package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// swapBack takes the swap back: its first steps only read, and what they find
// speaks against it before anything is changed.
func (g *graph) swapBack() []plan.OnlineStep {
	_, fits := g.samePartitions()
	var steps []plan.OnlineStep
	for _, t := range g.tables {
		fits = append(fits, t.fits())
		for _, i := range gather(t, indexesOf) {
			if i.Primary() && !i.table.parted() {
				steps = append(steps, i.table.build(i, i.back(), i.table.oldClauses))
			}
		}
		steps = append(steps, t.hold(current, old)...)
		for _, c := range gather(t, checksOf) {
			steps = append(steps, c.add(c.back(), c.table.oldClauses)...)
		}
	}
	for _, k := range g.early {
		steps = append(steps, k.steps(k.back(), old)...)
	}
	steps = append(slices.Concat(fits, steps), g.exchange("swap the columns of %s back", g.unchanged(g.made()), (*table).backSwap, (*foreignKey).back))
	for i := range steps {
		steps[i].Unless = g.notSwapped()
	}
	return append(steps, g.validateLate()...)
}

// notSwapped is true before the swap, and after it has been taken back.
func (g *graph) notSwapped() string {
	t := g.tables[0]
	return "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = " + pgsql.Literal(t.Target()) + "::regclass AND attname = " + pgsql.Literal(old(t.columns[0])) + " AND NOT attisdropped)"
}

// fits counts keys that have no place in the old columns, up to the first.
func (t *table) fits() plan.OnlineStep {
	outside := pgsql.Join(t.columns, " OR ", func(c *column) string {
		low, high := c.Bounds()
		return fmt.Sprintf("%s NOT BETWEEN %s AND %s", pgsql.Quote(c.Name), low, high)
	})
	return t.pass(plan.Verify, scanRate, "find keys of table "+t.Name+" that the old columns do not hold", noLock,
		"SELECT count(*) FROM (SELECT FROM "+t.Target()+" WHERE "+outside+" LIMIT 1) AS outside")
}

func (t *table) backSwap() []string {
	var sql []string
	for _, i := range gather(t, indexesOf) {
		switch {
		case i.Parent != 0: // it is dropped with its parent
		case i.Constraint != "":
			sql = append(sql, i.table.dropConstraint(i.Constraint))
		default:
			sql = append(sql, "DROP INDEX "+pgsql.Qualified(i.table.Schema, i.Name))
		}
	}
	sql = append(append(sql, t.replaceChecks((*check).back)...), t.setNotNull(old)...)
	sql = append(sql, t.replace(old, fresh)...)
	for _, i := range gather(t, indexesOf) {
		switch {
		case i.Primary():
			sql = append(sql, i.table.put(i, i.back())...)
		case i.Constraint != "":
			sql = append(sql, i.table.renameConstraint(i.old(), i.Constraint))
		default:
			sql = append(sql, i.table.renameIndex(i.old(), i.Name))
		}
		sql = append(sql, i.table.mark(i)...)
	}
	sql = append(sql, t.dropConstraint(sameCheck), t.forward())
	return append(sql, t.touch()...)
}
