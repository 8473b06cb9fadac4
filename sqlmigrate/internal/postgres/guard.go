package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Bytes per second that a CHECK reads, tables without their indexes, from memory:
// 84 MB in 0.11 to 0.15 s.
const scanRate = 500_000_000

// A check is to be added.
type check struct {
	column *column
	name   string
}

// guardsSQL finds the names of constraints, and which of them say already that
// a column is positive. One that does not hold for children says too little.
const guardsSQL = `
SELECT c.conname,
       coalesce((
         SELECT a.attnum FROM pg_catalog.pg_attribute a
         WHERE c.contype = 'c' AND NOT c.connoinherit AND a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
           AND pg_get_expr(c.conbin, c.conrelid) IN (
             format('(%I > 0)', a.attname), format('(%I >= 1)', a.attname),
             format('(0 < %I)', a.attname), format('(1 <= %I)', a.attname),
             format('(%I > ''0''::bigint)', a.attname), format('(%I >= ''1''::bigint)', a.attname))), 0)
FROM pg_catalog.pg_constraint c
WHERE c.conrelid = ANY ($1::text::oid[])`

// guards finds keys that need a CHECK. One that refers to another key has its
// in that table.
func (p *inspection) guards(ctx context.Context) error {
	for _, t := range p.tables {
		guarded := map[int64]bool{}
		taken := map[string]bool{}
		err := each(ctx, p.tx, guardsSQL, []any{arrayLiteral([]int64{t.oid})}, func(rows *sql.Rows) error {
			var name string
			var column int64
			if err := rows.Scan(&name, &column); err != nil {
				return err
			}
			guarded[column], taken[name] = true, true
			return nil
		})
		if err != nil {
			return err
		}
		if err := p.childConstraints(ctx, t, taken); err != nil {
			return err
		}
		for _, c := range t.columns {
			if c.key && !c.enforced && !guarded[c.node.column] && (c.narrow() || c.base == "int8") {
				p.addGuard(t, c, taken)
			}
		}
	}
	return nil
}

// childConstraints are taken names too.
func (p *inspection) childConstraints(ctx context.Context, t *table, taken map[string]bool) error {
	return each(ctx, p.tx, `SELECT conname FROM pg_catalog.pg_constraint WHERE conrelid = ANY ($1::text::oid[])`,
		[]any{arrayLiteral(t.members)}, func(rows *sql.Rows) error {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			taken[name] = true
			return nil
		})
}

func (p *inspection) addGuard(t *table, c *column, taken map[string]bool) {
	if c.smallest.Valid && c.smallest.Int64 <= 0 {
		p.note("Table %s has a key %d, so no CHECK is added that refuses keys that are not positive.",
			p.display(t.schema, t.name), c.smallest.Int64)
		return
	}
	name := guardName(t.name, c.name, taken)
	taken[name] = true
	t.checks = append(t.checks, check{c, name})
}

// maxName is how many bytes of a name PostgreSQL keeps.
const maxName = 63

// guardName is free, and is not cut by the server. If it can, it is what GORM
// names the CHECK of a model with check:id > 0, so that AutoMigrate does not add
// another one.
func guardName(table, column string, taken map[string]bool) string {
	name := schema.NamingStrategy{IdentifierMaxLength: maxName}.CheckerName(table, column)
	if len(name) <= maxName && utf8.ValidString(name) && !taken[name] {
		return name
	}
	for i := 0; ; i++ {
		end := "_positive"
		if i > 0 {
			end += strconv.Itoa(i)
		}
		base := table + "_" + column
		for len(base)+len(end) > maxName {
			_, size := utf8.DecodeLastRuneInString(base)
			base = base[:len(base)-size]
		}
		if name := base + end; !taken[name] {
			return name
		}
	}
}

// guard plans a CHECK for each key. Adding it takes no time, and reading the
// table for it is a statement of its own.
func (p *inspection) guard() engine.Phase {
	phase := engine.Phase{Name: engine.Guard}
	var tables []*table
	for _, t := range p.tables {
		if len(t.checks) == 0 {
			continue
		}
		tables = append(tables, t)
		var names, adds, validates, drops []string
		for _, check := range t.checks {
			name := quote(check.name)
			names = append(names, check.column.name)
			adds = append(adds, fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s > 0) NOT VALID", name, quote(check.column.name)))
			validates = append(validates, "VALIDATE CONSTRAINT "+name)
			drops = append(drops, "DROP CONSTRAINT "+name)
		}
		there := fmt.Sprintf("EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = %s::regclass AND conname = %s)",
			literal(t.target()), literal(t.checks[0].name))
		alter := "ALTER TABLE " + t.target() + " "
		phase.Steps = append(phase.Steps, engine.Step{
			Table:    p.display(t.schema, t.name),
			Text:     "a CHECK refuses " + strings.Join(names, ", ") + " of zero and below",
			Up:       statementsUnless("SELECT "+there, alter+strings.Join(adds, ", "), alter+strings.Join(validates, ", ")),
			Down:     statementsUnless("SELECT NOT "+there, alter+strings.Join(drops, ", ")),
			Rows:     t.rows,
			Bytes:    t.heap,
			Locks:    "ACCESS EXCLUSIVE on " + p.display(t.schema, t.name) + " until the end of the phase: reads and writes wait while it is read once",
			Estimate: estimate(t.heap, scanRate),
		})
	}
	p.lockFirst(&phase, tables)
	return phase
}
