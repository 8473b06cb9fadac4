package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Bytes per second that a CHECK reads, tables without their indexes, from
// memory: 84 MB in 0.11 to 0.15 s.
const scanRate = 500_000_000

// A check is to be added.
type check struct {
	column *column
	name   string
	added  bool // by a run that was ended before it had it validated
}

// guardsSQL finds the names of constraints, and which of them say already that
// a column is positive. One that does not hold for children says too little.
const guardsSQL = `
SELECT c.conrelid::bigint, c.conname, c.contype = 'c' AND pg_get_constraintdef(c.oid) ~ ' > (0|''0''::bigint)\)\) NOT VALID$',
       coalesce((
         SELECT a.attnum FROM pg_catalog.pg_attribute a
         WHERE c.contype = 'c' AND NOT c.connoinherit AND a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
           AND pg_get_expr(c.conbin, c.conrelid) IN (
             format('(%I > 0)', a.attname), format('(%I >= 1)', a.attname),
             format('(0 < %I)', a.attname), format('(1 <= %I)', a.attname),
             format('(%I > ''0''::bigint)', a.attname), format('(%I >= ''1''::bigint)', a.attname))), 0)
FROM pg_catalog.pg_constraint c
WHERE c.conrelid = ANY ($1::text::oid[])`

// constraintNames are the constraints of a table and of what is below it.
type constraintNames struct {
	guarded map[int64]bool   // columns that are positive already
	pending map[int64]string // checks that are not validated
	taken   map[string]bool
}

// guards finds keys that need a CHECK. One that refers to another key has its
// in that table.
func (p *inspection) guards(ctx context.Context) error {
	found, err := p.constraintNames(ctx)
	if err != nil {
		return err
	}
	for _, t := range p.tables {
		names := found[t]
		for _, c := range t.columns {
			switch {
			case !c.key || c.enforced || !c.narrow() && c.base != "int8":
			case !names.guarded[c.node.column]:
				p.addGuard(t, c, names.taken)
			case names.pending[c.node.column] != "":
				t.resumeGuard(c, names.pending[c.node.column], names.taken)
			}
		}
	}
	return nil
}

func (p *inspection) constraintNames(ctx context.Context) (map[*table]*constraintNames, error) {
	found, tables := map[*table]*constraintNames{}, map[int64][]*table{}
	var oids []int64
	for _, t := range p.tables {
		found[t] = &constraintNames{map[int64]bool{}, map[int64]string{}, map[string]bool{}}
		for _, member := range t.members {
			oids = append(oids, member)
			tables[member] = append(tables[member], t)
		}
	}
	return found, each(ctx, p.tx, guardsSQL, []any{arrayLiteral(oids)}, func(rows *sql.Rows) error {
		var relation, column int64
		var name string
		var waits bool
		if err := rows.Scan(&relation, &name, &waits, &column); err != nil {
			return err
		}
		for _, t := range tables[relation] {
			names := found[t]
			names.taken[name] = true
			if t.oid != relation { // a child
				continue
			}
			names.guarded[column] = true
			if waits {
				names.pending[column] = name
			}
		}
		return nil
	})
}

// resumeGuard validates a check that has the name of one that was added by this
// package.
func (t *table) resumeGuard(c *column, name string, taken map[string]bool) {
	delete(taken, name)
	ours := guardName(t.name, c.name, taken) == name
	taken[name] = true
	if ours && (!c.smallest.Valid || c.smallest.Int64 > 0) {
		t.checks = append(t.checks, check{c, name, true})
	}
}

func (p *inspection) addGuard(t *table, c *column, taken map[string]bool) {
	if c.smallest.Valid && c.smallest.Int64 <= 0 {
		p.note("Table %s has a key %d, so no CHECK is added that refuses keys that are not positive.",
			p.display(t.schema, t.name), c.smallest.Int64)
		return
	}
	name := guardName(t.name, c.name, taken)
	taken[name] = true
	t.checks = append(t.checks, check{c, name, false})
}

// maxName is how many bytes of a name PostgreSQL keeps.
const maxName = 63

// guardName is free, and is not cut by the server. If it can, it is what GORM
// names the CHECK of a model with check:id > 0, so that AutoMigrate does not
// add another one.
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

// guard plans a CHECK for each key: it is added in one transaction, which takes
// no time, and what is there already is read in another, next to which programs
// read and write.
func (p *inspection) guard() engine.Phase {
	phase := engine.Phase{Name: engine.Guard}
	checked := slices.DeleteFunc(slices.Clone(p.tables), func(t *table) bool { return len(t.checks) == 0 })
	number := 0
	for _, part := range []struct {
		tables []*table
		mode   string
		step   func(*table) engine.Step
	}{
		{slices.DeleteFunc(slices.Clone(checked), (*table).checksAdded), accessExclusive, p.addChecks},
		{checked, shareUpdateExclusive, p.validateChecks},
	} {
		for _, batch := range p.batches(engine.Guard, part.tables) {
			var steps []engine.Step
			for _, t := range batch {
				steps = append(steps, part.step(t))
				steps[len(steps)-1].Transaction = number
			}
			p.lockFirst(steps, allOf(batch, part.mode))
			phase.Steps = append(phase.Steps, steps...)
			number++
		}
	}
	return phase
}

// checksAdded reports whether a run was ended between the two transactions.
func (t *table) checksAdded() bool {
	return !slices.ContainsFunc(t.checks, func(c check) bool { return !c.added })
}

func (p *inspection) addChecks(t *table) engine.Step {
	var adds, drops []string
	for _, c := range t.checks {
		if !c.added {
			adds = append(adds, c.add())
			drops = append(drops, "DROP CONSTRAINT "+pgsql.Quote(c.name))
		}
	}
	there := "SELECT " + t.hasCheck("")
	return engine.Step{
		Table: p.display(t.schema, t.name),
		Text:  "a CHECK refuses new " + t.checked() + " of zero and below",
		Up:    statementsUnless(there, "ALTER TABLE "+t.target()+" "+strings.Join(adds, ", ")),
		Down:  statementsUnless("SELECT NOT "+t.hasCheck(""), "ALTER TABLE "+t.target()+" "+strings.Join(drops, ", ")),
		Locks: fmt.Sprintf(catalogLocks, p.display(t.schema, t.name)),
	}
}

// validateChecks has nothing to take back, unless the CHECK was there before.
func (p *inspection) validateChecks(t *table) engine.Step {
	var validates, again []string
	for _, c := range t.checks {
		validates = append(validates, "VALIDATE CONSTRAINT "+pgsql.Quote(c.name))
		if c.added {
			again = append(again, "ALTER TABLE "+t.target()+" DROP CONSTRAINT "+pgsql.Quote(c.name)+", "+c.add())
		}
	}
	return engine.Step{
		Table:    p.display(t.schema, t.name),
		Text:     "the CHECK of " + t.checked() + " is validated: the rows that are there are read",
		Up:       statementsUnless("SELECT "+t.hasCheck(" AND convalidated"), "ALTER TABLE "+t.target()+" "+strings.Join(validates, ", ")),
		Down:     statementsUnless("SELECT NOT "+t.hasCheck(" AND convalidated"), again...),
		Rows:     t.rows,
		Bytes:    t.heap,
		Locks:    "SHARE UPDATE EXCLUSIVE on " + p.display(t.schema, t.name) + " while it is read once: reads and writes continue",
		Estimate: estimate(t.heap, scanRate),
	}
}

// checked names the columns.
func (t *table) checked() string {
	names := make([]string, len(t.checks))
	for i, c := range t.checks {
		names[i] = c.column.name
	}
	return strings.Join(names, ", ")
}

// hasCheck is a condition: the first of them is there, and more.
func (t *table) hasCheck(more string) string {
	return fmt.Sprintf("EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = %s::regclass AND conname = %s%s)",
		pgsql.Literal(t.target()), pgsql.Literal(t.checks[0].name), more)
}

func (c *check) add() string {
	return fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s > 0) NOT VALID", pgsql.Quote(c.name), pgsql.Quote(c.column.name))
}
