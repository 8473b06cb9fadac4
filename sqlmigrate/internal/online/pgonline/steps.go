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

// lockTables returns two statements that lock the tables at the beginning of a short step.
// The first statement makes autovacuum leave the tables. Autovacuum may hold its lock of a
// table for hours, but gives it up if another session waits for the table. While the first
// statement waits, programs can read and write. The second statement locks all tables in the
// given mode, and has to wait only for programs, because autovacuum has left.
func lockTables(mode string, tables ...*table) []string {
	list := pgsql.Join(tables, ", ", func(t *table) string { return t.Target() })
	return []string{
		"LOCK TABLE " + list + " IN SHARE UPDATE EXCLUSIVE MODE",
		"LOCK TABLE " + list + " IN " + mode + " MODE",
	}
}

// shortStep returns a step that locks the table against reads and writes and runs the
// statements sql, in one transaction. text describes the step for users.
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

// readWhole returns a step that reads the whole table by the statements sql, at rate rows
// per second, from which it computes the estimate of the step's duration. text and locks
// describe the step and its locks for users.
func (t *table) readWhole(kind plan.StepKind, rate float64, text, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: t.Display, Text: text, Kind: kind, SQL: sql, Locks: locks,
		Rows: t.rows, Bytes: t.heap, Estimate: engine.Estimate(t.rows, rate),
	}
}

// buildIndex returns the step that creates an index like i concurrently, on other columns
// and under another name. clauses has the definitions of the indexes with these columns. An
// earlier attempt that failed may have left an invalid index of this name, so the step
// first drops the index. It does not use IF NOT EXISTS, which would accept the invalid
// index.
func (t *table) buildIndex(i index, name string, clauses definitions) plan.OnlineStep {
	step := t.readWhole(plan.Long, indexRate, "create index "+name, shareUpdate+"; it waits for transactions that are older than itself",
		"DROP INDEX CONCURRENTLY IF EXISTS "+pgsql.Qualified(t.Schema, name), i.create("CONCURRENTLY ", t, name, clauses))
	step.Disk, step.Log = t.rows*indexBytes, t.rows*indexBytes
	return step
}

// create returns the statement that creates an index like i on t, under another name and on
// the columns in the definitions clauses. how is "CONCURRENTLY " or empty. The index of a
// partitioned table is created without its partitions (ONLY), whose indexes are attached to
// it later.
func (i index) create(how string, t *table, name string, clauses definitions) string {
	return "CREATE " + pgsql.If(i.Unique, "UNIQUE ") + "INDEX " + how + pgsql.Quote(name) +
		" ON " + pgsql.If(t.isPartitioned(), "ONLY ") + t.Target() + clauses.indexes[i.Name]
}

// differsSQL returns an SQL condition that is true for a row in which the two columns of a
// column to widen differ, so that the row still has to be copied. The functions from and to
// return the names of the two columns. For example, differsSQL(current, fresh) returns
// ("gormflake_new_id" IS DISTINCT FROM "id").
func (t *table) differsSQL(from, to naming) string {
	return "(" + formatColumns(t.columns, " OR ", "%s IS DISTINCT FROM %s", to, from) + ")"
}

// countDifferences returns the step that counts the rows for which differsSQL is true. The
// step fails unless the number is 0.
func (t *table) countDifferences(from, to naming) plan.OnlineStep {
	return t.readWhole(plan.Verify, scanRate, "count the rows that differ", noLock,
		"SELECT count(*) FROM "+t.Target()+" WHERE "+t.differsSQL(from, to))
}

// addSameCheck returns the steps that add and validate a CHECK that the old and the new
// column of each pair are equal. The CHECK rejects every write that would make them differ.
// The swap drops the CHECK at its beginning, because a new key may not fit the old column. The
// way back adds the CHECK again, and drops it in the step that takes the swap back. If a
// column is NOT NULL, the CHECK also demands that, so that a later SET NOT NULL need not read
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

// validate returns the step that validates a constraint, which was added as NOT VALID, for
// the existing rows, at rate rows per second. text and locks describe the step and its
// locks for users.
func (t *table) validate(constraint string, rate float64, text, locks string) plan.OnlineStep {
	return t.readWhole(plan.Long, rate, text, locks, "ALTER TABLE "+t.Target()+" VALIDATE CONSTRAINT "+pgsql.Quote(constraint))
}

// setNotNull returns the statement that makes columns NOT NULL, under the names that
// columnName returns, for the columns that were NOT NULL before the move. It returns nil if
// there are none.
func (t *table) setNotNull(columnName naming) []string {
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return !c.NotNull })
	if len(columns) == 0 {
		return nil
	}
	return []string{t.alter(columns, "ALTER COLUMN %s SET NOT NULL", columnName)}
}

// add returns the steps that add a CHECK like c for other columns under another name, and
// validate it if c is valid. clauses has the definitions of the CHECKs with these columns.
func (c *check) add(name string, clauses definitions) []plan.OnlineStep {
	t := c.table
	steps := []plan.OnlineStep{t.shortStep("add CHECK "+name, "ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(name)+" "+clauses.checks[c.Name]+" NOT VALID")}
	if c.Valid {
		steps = append(steps, t.validate(name, scanRate, "check the rows that were there before CHECK "+name, shareUpdate))
	}
	return steps
}

// add returns the statement that adds a foreign key like k under another name, on the
// columns whose names columnName returns. The foreign key is NOT VALID, so that the statement
// does not check the rows. Before PostgreSQL 18, the foreign key of a partitioned table cannot
// be NOT VALID. But it takes over the foreign keys of the partitions, which have been validated
// by then, so that the statement does not check the rows either.
func (k *foreignKey) add(name string, columnName naming) string {
	// OnDelete may end with SET NULL or SET DEFAULT, which can name some of the columns.
	setColumns := pgsql.If(len(k.SetColumns) > 0, " ("+k.child.columnList(k.SetColumns, columnName)+")")
	return "ALTER TABLE " + k.child.Target() + " ADD CONSTRAINT " + pgsql.Quote(name) +
		" FOREIGN KEY (" + k.child.columnList(k.Columns, columnName) + ") REFERENCES " + k.parent.Target() + " (" + k.parent.columnList(k.ParentColumns, columnName) + ")" +
		k.OnUpdate + k.OnDelete + setColumns + k.Deferral + pgsql.If(!k.child.isPartitioned(), " NOT VALID")
}

// steps returns the step that adds a foreign key like k under another name, on the columns
// whose names columnName returns. If k is valid, a second step validates the new foreign
// key.
func (k *foreignKey) steps(name string, columnName naming) []plan.OnlineStep {
	add := k.step("add foreign key "+name, "SHARE ROW EXCLUSIVE", "SHARE ROW EXCLUSIVE on %s for a moment: writes wait, reads do not",
		k.add(name, columnName))
	if !k.Valid {
		return []plan.OnlineStep{add}
	}
	return []plan.OnlineStep{add, k.child.validate(name, foreignKeyRate, "check the rows that were there before foreign key "+name,
		"SHARE UPDATE EXCLUSIVE on "+k.child.Name+", ROW SHARE on "+k.parent.Name+": reads and writes do not wait")}
}

// tables returns the parent and the child, or a single table if it refers to itself.
func (k *foreignKey) tables() []*table { return slices.Compact([]*table{k.parent, k.child}) }

// step returns a short step that locks both tables of a foreign key and runs the statements
// sql. mode is the mode of the locks. locks describes them for users, and has a %s for the
// names of the tables. If the child is a partition that was dropped in the meantime, the
// step counts as done (Unless).
func (k *foreignKey) step(text, mode, locks string, sql ...string) plan.OnlineStep {
	return plan.OnlineStep{
		Table: k.child.Display, Text: text, Kind: plan.Short, SQL: append(lockTables(mode, k.tables()...), sql...),
		Locks: fmt.Sprintf(locks, pgsql.Join(k.tables(), " and ", nameOf)), Unless: k.child.goneQuery(),
	}
}

// Measured rates in rows per second, and bytes per row, for tables with two bigint
// columns and two indexes under load, see docs/measurements.md. copyLog and vacuumLog are
// the bytes of the write-ahead log, and indexBytes those of an index, for each row.
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
