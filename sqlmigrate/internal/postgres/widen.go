package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Bytes per second, tables with their indexes: 134 MB in 2.3 to 3.7 s, 189 MB
// in 4.1 to 4.5 s.
const rewriteRate = 45_000_000

func estimate(bytes, rate int64) time.Duration {
	return time.Duration(float64(bytes) / float64(rate) * float64(time.Second)).Round(time.Millisecond)
}

// widen plans one ALTER TABLE per table, which copies it once. Foreign keys may
// stay: PostgreSQL compares an integer with a bigint.
func (p *inspection) widen() engine.Phase {
	phase := engine.Phase{Name: engine.Widen}
	tables := slices.DeleteFunc(slices.Clone(p.tables), func(t *table) bool { return len(t.narrow()) == 0 })
	batches := p.batches(engine.Widen, tables)
	for i, batch := range batches {
		steps := make([]engine.Step, len(batch))
		for j, t := range batch {
			steps[j] = p.widenStep(t, len(batches) > 1)
			steps[j].Transaction = i
		}
		if views := p.viewsOf(batch); len(views) > 0 {
			steps = p.withoutViews(batch, steps, views)
		} else {
			p.lockFirst(steps, p.widenModes(batch))
		}
		phase.Steps = append(phase.Steps, steps...)
	}
	p.rejectNewReferences(&phase)
	return phase
}

func (p *inspection) widenStep(t *table, several bool) engine.Step {
	columns := t.narrow()
	narrow := has(columns, "atttypid <> 'bigint'::regtype")
	return engine.Step{
		Table:    p.display(t.schema, t.name),
		Text:     join(columns, func(c *column) string { return c.name }) + plural(columns, " becomes bigint", " become bigint"),
		Up:       statementsUnless("SELECT NOT "+narrow, t.up(columns)...),
		Down:     statementsUnless("SELECT "+narrow, t.down(columns)...),
		Check:    statementsUnless("", p.widenCheck(t, columns)),
		Rows:     t.rows,
		Bytes:    t.bytes,
		Rewrites: true,
		Locks:    p.widenLocks(t, several),
		Estimate: estimate(t.bytes, rewriteRate),
	}
}

// widenModes has the tables of foreign keys too, which ALTER TABLE creates again.
func (p *inspection) widenModes(tables []*table) map[*table]string {
	modes := map[*table]string{}
	for _, f := range p.foreign {
		switch {
		case slices.Contains(tables, f.to) && f.toColumn.narrow():
			modes[f.from] = accessExclusive
		case slices.Contains(tables, f.from) && f.fromColumn.narrow() && modes[f.to] == "":
			modes[f.to] = shareRowExclusive
		}
	}
	for _, t := range tables {
		modes[t] = accessExclusive
	}
	return modes
}

func (t *table) up(columns []*column) []string {
	return append([]string{alter(t, columns, func(*column) string { return "bigint" })}, t.kept...)
}

func (t *table) down(columns []*column) []string {
	texts := t.recreated.around(alter(t, columns, func(c *column) string { return c.typ }))
	for _, c := range columns {
		for _, m := range c.members {
			if s := m.ownIdentity(); s != nil && s.Type != c.typ {
				texts = append(texts, s.retype())
			}
		}
	}
	return append(texts, t.kept...)
}

func alter(t *table, columns []*column, typ func(*column) string) string {
	return "ALTER TABLE " + t.target() + " " + join(columns, func(c *column) string {
		return "ALTER COLUMN " + pgsql.Quote(c.name) + " TYPE " + typ(c)
	})
}

func join(columns []*column, text func(*column) string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = text(c)
	}
	return strings.Join(texts, ", ")
}

func plural(columns []*column, one, many string) string {
	if len(columns) == 1 {
		return one
	}
	return many
}

func (p *inspection) widenLocks(t *table, several bool) string {
	text := "ACCESS EXCLUSIVE on " + p.display(t.schema, t.name)
	if len(t.members) > 1 {
		text += ", its partitions and children"
	}
	end := "phase"
	if several {
		end = "transaction"
	}
	return text + " and every table whose foreign key refers to it, until the end of the " + end + ": reads and writes wait"
}

func (p *inspection) widenCheck(t *table, columns []*column) string {
	rejections := []string{p.rejectNewDependents(columns)}
	for _, c := range columns {
		low, high := c.bounds()
		rejections = append(rejections, rejectIf(
			fmt.Sprintf("SELECT FROM %s WHERE %s NOT BETWEEN %s AND %s", t.target(), pgsql.Quote(c.name), low, high),
			fmt.Sprintf("sqlmigrate: column %s of table %s holds keys that do not fit into %s: want none outside %s to %s before it is taken back",
				c.name, p.display(t.schema, t.name), c.typ, low, high)))
	}
	return checkAll(rejections)
}

// rejectNewReferences ends the phase with an error, and so takes it back, where
// a column that the plan does not know refers to a widened key: a foreign key
// that was added since, or that exists in this database only. It would take
// keys of the old kind, and fail at the first new one.
func (p *inspection) rejectNewReferences(phase *engine.Phase) {
	var rejections []string
	for _, t := range p.tables {
		for _, c := range t.narrow() {
			if !c.key {
				continue
			}
			rejections = append(rejections, rejectIf(fmt.Sprintf(`SELECT FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
    JOIN pg_catalog.pg_attribute r ON r.attnum = k.a
    JOIN pg_catalog.pg_attribute t ON t.attnum = k.b
    WHERE c.contype = 'f' AND r.attrelid = c.conrelid AND t.attrelid = c.confrelid
    AND c.confrelid = %s::regclass AND t.attname = %s AND r.atttypid IN ('int2'::regtype, 'int4'::regtype)`,
				pgsql.Literal(t.target()), pgsql.Literal(c.name)),
				fmt.Sprintf("sqlmigrate: a foreign key that the plan does not know refers to column %s of table %s with fewer than 64 bits: inspect again",
					c.name, p.display(t.schema, t.name))))
		}
	}
	if len(rejections) == 0 || len(phase.Steps) == 0 {
		return
	}
	last := &phase.Steps[len(phase.Steps)-1]
	last.Up = append(last.Up, statementsUnless("", doBlock(strings.Join(rejections, "")))...)
}
