package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// exclusive is what a short step locks.
const exclusive = "ACCESS EXCLUSIVE on %s for a moment: reads and writes wait"

// locked begins a short step: the first lock keeps no program out, but waits
// until autovacuum, which holds it for hours, has given way; the second one
// waits briefly for all tables together.
func locked(mode string, tables ...*table) []string {
	list := pgsql.Join(tables, ", ", func(t *table) string { return t.Target() })
	return []string{
		"LOCK TABLE " + list + " IN SHARE UPDATE EXCLUSIVE MODE",
		"LOCK TABLE " + list + " IN " + mode + " MODE",
	}
}

func (t *table) short(text string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: t.Display, Text: text, Kind: plan.Short, SQL: append(locked("ACCESS EXCLUSIVE", t), sql...),
		Locks: fmt.Sprintf(exclusive, t.Name),
	}
}

// What steps lock that go through a table.
const (
	shareUpdate = "SHARE UPDATE EXCLUSIVE: other changes of the table wait, reads and writes do not"
	noLock      = "none that keeps anybody out"
)

// pass goes through the table, at so many rows a second.
func (t *table) pass(kind plan.StepKind, rate float64, text, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: t.Display, Text: text, Kind: kind, SQL: sql, Locks: locks,
		Rows: t.rows, Bytes: t.heap, Estimate: engine.Estimate(t.rows, rate),
	}
}

// build creates an index and first drops what an earlier try has left: it is
// invalid, and IF NOT EXISTS would take it.
func (t *table) build(i index, name string, as clauses) plan.OnlineStep {
	step := t.pass(plan.Long, indexRate, "create index "+name, shareUpdate+"; it waits for transactions that are older than itself",
		"DROP INDEX CONCURRENTLY IF EXISTS "+pgsql.Qualified(t.Schema, name), i.create("CONCURRENTLY ", t, name, as))
	step.Disk, step.Log = t.rows*indexBytes, t.rows*indexBytes
	return step
}

// create makes the index in a table, under another name.
func (i index) create(how string, t *table, name string, as clauses) string {
	return "CREATE " + pgsql.If(i.Unique, "UNIQUE ") + "INDEX " + how + pgsql.Quote(name) +
		" ON " + pgsql.If(t.parted(), "ONLY ") + t.Target() + as.indexes[i.Name]
}

// differs is a condition for rows that have to be copied.
func (t *table) differs(from, to naming) string {
	return "(" + written(t.columns, " OR ", "%s IS DISTINCT FROM %s", to, from) + ")"
}

// compare counts the rows that differ.
func (t *table) compare(from, to naming) plan.OnlineStep {
	return t.pass(plan.Verify, scanRate, "count the rows that differ", noLock,
		"SELECT count(*) FROM "+t.Target()+" WHERE "+t.differs(from, to))
}

// hold makes sure, until the columns are swapped, that both stay equal under every
// write.
func (t *table) hold(from, to naming) []plan.OnlineStep {
	check := pgsql.Join(t.columns, " AND ", func(c *column) string {
		format := "%s IS NOT DISTINCT FROM %s"
		if c.NotNull {
			format = "%[1]s IS NOT NULL AND %[2]s IS NOT NULL AND %[1]s = %[2]s"
		}
		return fmt.Sprintf(format, pgsql.Quote(to(c)), pgsql.Quote(from(c)))
	})
	return []plan.OnlineStep{
		t.short("add a CHECK that both are equal",
			"ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+sameCheck+" CHECK ("+check+") NOT VALID"),
		t.validate(sameCheck, scanRate, "compare the rows that were there before the CHECK", shareUpdate),
	}
}

func (t *table) validate(constraint string, rate float64, text, locks string) plan.OnlineStep {
	return t.pass(plan.Long, rate, text, locks, "ALTER TABLE "+t.Target()+" VALIDATE CONSTRAINT "+pgsql.Quote(constraint))
}

// setNotNull has no statement for columns that may be NULL.
func (t *table) setNotNull(columnName naming) []string {
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return !c.NotNull })
	if len(columns) == 0 {
		return nil
	}
	return []string{t.alter(columns, "ALTER COLUMN %s SET NOT NULL", columnName)}
}

// add makes a CHECK for other columns, and lets it look at the rows that are there.
func (c *check) add(name string, as clauses) []plan.OnlineStep {
	t := c.table
	steps := []plan.OnlineStep{t.short("add CHECK "+name, "ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(name)+" "+as.checks[c.Name]+" NOT VALID")}
	if c.Valid {
		steps = append(steps, t.validate(name, scanRate, "check the rows that were there before CHECK "+name, shareUpdate))
	}
	return steps
}

// add makes the same foreign key between other columns, without looking at rows: those of
// a partitioned table are checked by then, and become its own.
func (k *foreignKey) add(name string, columnName naming) string {
	set := pgsql.If(len(k.Set) > 0, " ("+k.child.list(k.Set, columnName)+")")
	return "ALTER TABLE " + k.child.Target() + " ADD CONSTRAINT " + pgsql.Quote(name) +
		" FOREIGN KEY (" + k.child.list(k.Columns, columnName) + ") REFERENCES " + k.parent.Target() + " (" + k.parent.list(k.Refers, columnName) + ")" +
		k.OnUpdate + k.OnDelete + set + k.Deferral + pgsql.If(!k.child.parted(), " NOT VALID")
}

// steps add a foreign key, and check the rows that are there.
func (k *foreignKey) steps(name string, columnName naming) []plan.OnlineStep {
	add := k.step("add foreign key "+name, "SHARE ROW EXCLUSIVE", "SHARE ROW EXCLUSIVE on %s for a moment: writes wait, reads do not",
		k.add(name, columnName))
	if !k.Valid {
		return []plan.OnlineStep{add}
	}
	return []plan.OnlineStep{add, k.child.validate(name, foreignKeyRate, "check the rows that were there before foreign key "+name,
		"SHARE UPDATE EXCLUSIVE on "+k.child.Name+", ROW SHARE on "+k.parent.Name+": reads and writes do not wait")}
}

func (k *foreignKey) both() []*table { return slices.Compact([]*table{k.parent, k.child}) }

// step is a short one, whose locks have a place for the names of the tables.
func (k *foreignKey) step(text, mode, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: k.child.Display, Text: text, Kind: plan.Short, SQL: append(locked(mode, k.both()...), sql...),
		Locks: fmt.Sprintf(locks, pgsql.Join(k.both(), " and ", nameOf)), Unless: k.child.gone(),
	}
}

// Rows a second, and bytes for each row, of tables with two bigint columns and
// two indexes, under load: docs/measurements.md has the measurements.
const (
	copyRate       = 7_500
	vacuumRate     = 100_000
	indexRate      = 150_000
	scanRate       = 1_000_000
	foreignKeyRate = 100_000

	copyLog    = 600
	vacuumLog  = 100
	indexBytes = 22
)
