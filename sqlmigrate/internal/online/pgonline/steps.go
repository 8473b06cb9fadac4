package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// exclusive describes the locks of a short step. Its argument is a list of tables.
const exclusive = "ACCESS EXCLUSIVE on %s for a moment: reads and writes wait"

// lockTables returns the locking statements of a short step. The first lock does not
// block reads and writes. It is for autovacuum, which may hold its lock for hours, but
// releases it for this request. The second lock, in the given mode, then has to wait only
// for programs, for all tables together.
func lockTables(mode string, tables ...*table) []string {
	list := pgsql.Join(tables, ", ", func(t *table) string { return t.Target() })
	return []string{
		"LOCK TABLE " + list + " IN SHARE UPDATE EXCLUSIVE MODE",
		"LOCK TABLE " + list + " IN " + mode + " MODE",
	}
}

// shortStep returns a short step, which locks the table in one transaction.
func (t *table) shortStep(text string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: t.Display, Text: text, Kind: plan.Short, SQL: append(lockTables("ACCESS EXCLUSIVE", t), sql...),
		Locks: fmt.Sprintf(exclusive, t.Name),
	}
}

// The locks of steps that read a whole table, in words.
const (
	shareUpdate = "SHARE UPDATE EXCLUSIVE: other changes of the table wait, reads and writes do not"
	noLock      = "none that keeps anybody out"
)

// readWhole returns a step that reads the whole table, at rate rows per second. text and
// locks describe the step and its locks for users.
func (t *table) readWhole(kind plan.StepKind, rate float64, text, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: t.Display, Text: text, Kind: kind, SQL: sql, Locks: locks,
		Rows: t.rows, Bytes: t.heap, Estimate: engine.Estimate(t.rows, rate),
	}
}

// buildIndex returns the step that creates the index i concurrently, under another name.
// as has the definitions of the indexes for the columns to use. The step first drops the
// index of an earlier attempt, because that index is invalid and CREATE INDEX IF NOT
// EXISTS would accept it.
func (t *table) buildIndex(i index, name string, as definitions) plan.OnlineStep {
	step := t.readWhole(plan.Long, indexRate, "create index "+name, shareUpdate+"; it waits for transactions that are older than itself",
		"DROP INDEX CONCURRENTLY IF EXISTS "+pgsql.Qualified(t.Schema, name), i.create("CONCURRENTLY ", t, name, as))
	step.Disk, step.Log = t.rows*indexBytes, t.rows*indexBytes
	return step
}

// create returns the statement that creates the index on t under another name. as has the
// definitions of the indexes for the columns to use. how is "CONCURRENTLY " or empty. The
// index of a partitioned table is created without its partitions (ONLY), whose indexes
// are attached to it later.
func (i index) create(how string, t *table, name string, as definitions) string {
	return "CREATE " + pgsql.If(i.Unique, "UNIQUE ") + "INDEX " + how + pgsql.Quote(name) +
		" ON " + pgsql.If(t.isPartitioned(), "ONLY ") + t.Target() + as.indexes[i.Name]
}

// differsSQL returns an SQL condition for rows in which a column to is not a copy of its
// column from, and which therefore still have to be copied.
func (t *table) differsSQL(from, to naming) string {
	return "(" + formatColumns(t.columns, " OR ", "%s IS DISTINCT FROM %s", to, from) + ")"
}

// countDifferences returns the step that counts the rows in which the columns differ. A
// result other than 0 fails the step.
func (t *table) countDifferences(from, to naming) plan.OnlineStep {
	return t.readWhole(plan.Verify, scanRate, "count the rows that differ", noLock,
		"SELECT count(*) FROM "+t.Target()+" WHERE "+t.differsSQL(from, to))
}

// addSameCheck returns the steps that add and validate a CHECK that the old and the new
// column of each pair are equal. Until the swap, the CHECK rejects every write that would
// make them differ. A CHECK that both are NOT NULL also saves SET NOT NULL from reading
// the table.
func (t *table) addSameCheck(from, to naming) []plan.OnlineStep {
	check := pgsql.Join(t.columns, " AND ", func(c *column) string {
		format := "%s IS NOT DISTINCT FROM %s"
		if c.NotNull {
			format = "%[1]s IS NOT NULL AND %[2]s IS NOT NULL AND %[1]s = %[2]s"
		}
		return fmt.Sprintf(format, pgsql.Quote(to(c)), pgsql.Quote(from(c)))
	})
	return []plan.OnlineStep{
		t.shortStep("add a CHECK that both are equal",
			"ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+sameCheck+" CHECK ("+check+") NOT VALID"),
		t.validate(sameCheck, scanRate, "compare the rows that were there before the CHECK", shareUpdate),
	}
}

// validate returns the step that validates a constraint for existing rows, at rate rows
// per second. text and locks describe the step and its locks for users.
func (t *table) validate(constraint string, rate float64, text, locks string) plan.OnlineStep {
	return t.readWhole(plan.Long, rate, text, locks, "ALTER TABLE "+t.Target()+" VALIDATE CONSTRAINT "+pgsql.Quote(constraint))
}

// setNotNull returns the statement that makes the columns that columnName names NOT NULL
// if the old columns are NOT NULL. It returns nil if there is no such column.
func (t *table) setNotNull(columnName naming) []string {
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return !c.NotNull })
	if len(columns) == 0 {
		return nil
	}
	return []string{t.alter(columns, "ALTER COLUMN %s SET NOT NULL", columnName)}
}

// add returns the steps that add the same CHECK for other columns under another name, and
// validate it if it was valid. as has the definitions of the CHECKs for these columns.
func (c *check) add(name string, as definitions) []plan.OnlineStep {
	t := c.table
	steps := []plan.OnlineStep{t.shortStep("add CHECK "+name, "ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(name)+" "+as.checks[c.Name]+" NOT VALID")}
	if c.Valid {
		steps = append(steps, t.validate(name, scanRate, "check the rows that were there before CHECK "+name, shareUpdate))
	}
	return steps
}

// add returns the statement that adds the same foreign key under another name, on the
// columns that columnName names, without checking the rows. The foreign key of a
// partitioned table cannot be NOT VALID; it takes over the foreign keys of its
// partitions, which have been validated by then.
func (k *foreignKey) add(name string, columnName naming) string {
	setColumns := pgsql.If(len(k.SetColumns) > 0, " ("+k.child.columnList(k.SetColumns, columnName)+")")
	return "ALTER TABLE " + k.child.Target() + " ADD CONSTRAINT " + pgsql.Quote(name) +
		" FOREIGN KEY (" + k.child.columnList(k.Columns, columnName) + ") REFERENCES " + k.parent.Target() + " (" + k.parent.columnList(k.ParentColumns, columnName) + ")" +
		k.OnUpdate + k.OnDelete + setColumns + k.Deferral + pgsql.If(!k.child.isPartitioned(), " NOT VALID")
}

// steps returns the step that adds the foreign key under the name, on the columns that
// columnName names. If the foreign key was valid, a second step validates the new one.
func (k *foreignKey) steps(name string, columnName naming) []plan.OnlineStep {
	add := k.step("add foreign key "+name, "SHARE ROW EXCLUSIVE", "SHARE ROW EXCLUSIVE on %s for a moment: writes wait, reads do not",
		k.add(name, columnName))
	if !k.Valid {
		return []plan.OnlineStep{add}
	}
	return []plan.OnlineStep{add, k.child.validate(name, foreignKeyRate, "check the rows that were there before foreign key "+name,
		"SHARE UPDATE EXCLUSIVE on "+k.child.Name+", ROW SHARE on "+k.parent.Name+": reads and writes do not wait")}
}

// tables returns the parent and the child, which are one table if a table refers to
// itself.
func (k *foreignKey) tables() []*table { return slices.Compact([]*table{k.parent, k.child}) }

// step returns a short step that locks both tables of a foreign key. mode is the mode of
// the locks. locks describes them, and has a %s for the names of the tables. If the child
// is a partition that was dropped in the meantime, the step counts as done (Unless).
func (k *foreignKey) step(text, mode, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: k.child.Display, Text: text, Kind: plan.Short, SQL: append(lockTables(mode, k.tables()...), sql...),
		Locks: fmt.Sprintf(locks, pgsql.Join(k.tables(), " and ", nameOf)), Unless: k.child.goneQuery(),
	}
}

// Measured rates in rows per second, and bytes per row, for tables with two bigint
// columns and two indexes under load, see docs/measurements.md. A log is what a row
// adds to the write-ahead log.
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
