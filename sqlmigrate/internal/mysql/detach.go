package mysql

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// detachPhase returns the phase after which the database does not assign keys any more. A
// key of issued or more is a Snowflake ID, and the phase cannot be taken back while there
// is one.
func detachPhase(g *graph, issued int64) plan.Phase {
	phase := plan.Phase{Name: plan.Detach}
	columns := slices.Concat(byTable(g.assignedColumns())...)
	for _, c := range columns {
		phase.Steps = append(phase.Steps, detachStep(g, c))
		if issued > 0 {
			phase.Check = append(phase.Check, oldKeysOnly(c, issued))
		}
	}
	phase.Steps = withCounterTable(phase.Steps, columns)
	return phase
}

// detachStep returns the step after which the database does not assign the column any
// more. It turns foreign_key_checks off, because MySQL otherwise refuses to change a
// column to which a foreign key refers, although its type stays the same.
func detachStep(g *graph, c *column) plan.Step {
	t := c.Table
	whenAssigned, whenUnassigned := assignmentQueries(c)
	step := plan.Step{Table: t.TableName, Text: "the database assigns " + c.Name + " no more", Locks: "everybody waits for a moment"}
	if !c.Definition.Auto() {
		step.Up = withoutChecks(plan.Statement{SQL: alter(t, "ALTER COLUMN "+mycatalog.Quote(c.Name)+" DROP DEFAULT"), Unless: whenUnassigned})
		step.Down = withoutChecks(plan.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden())), Unless: whenAssigned})
		return step
	}
	if !g.MariaDB { // MySQL copies the table to remove AUTO_INCREMENT, MariaDB does not
		step = withCopyCosts(g, t, step)
	}
	up := withoutChecks(plan.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden().WithoutAuto())), Unless: whenUnassigned})
	step.Up = slices.Concat([]plan.Statement{recordCounter(t)}, up, []plan.Statement{recordKeys(c)})
	step.Down = withoutChecks(assignAgain(c, whenAssigned)...)
	return step
}

// parkPhase returns the phase that parks the AUTO_INCREMENT counters. It leaves out
// counters that are parked already. It also leaves out columns with a DEFAULT, because a
// default, unlike AUTO_INCREMENT, does not continue from the largest key that a program
// has inserted.
func parkPhase(g *graph, want engine.Request) plan.Phase {
	phase := plan.Phase{Name: plan.Park}
	for _, c := range slices.Concat(byTable(g.assignedColumns())...) {
		if c.Definition.Auto() && counterOf(c.Table) <= uint64(want.Place.Limit) {
			phase.Steps = append(phase.Steps, parkStep(c, want))
			phase.Check = append(phase.Check, oldKeysOnly(c, want.Issued))
		}
	}
	return phase
}

// parkStep returns the step that parks a counter, which means to set it so high that it
// assigns no number that a generator issues. The step fails if the column is still
// narrow, because the server would then refuse every row.
func parkStep(c *column, want engine.Request) plan.Step {
	rejectNarrow := rejectUnless(fmt.Sprintf("sqlmigrate: refused: %s is not a bigint with AUTO_INCREMENT: apply phase widen, or inspect again", c),
		c.Has("DATA_TYPE = 'bigint'", "EXTRA LIKE '%auto_increment%'"))
	return want.ParkStep(c.Table.TableName, "everybody waits for a moment", types.ID(counterOf(c.Table)), func(to types.ID) []plan.Statement {
		return []plan.Statement{rejectNarrow, {SQL: parking.MySQL(mycatalog.QuoteTable(c.Table.TableName), to)}}
	})
}

// assignmentQueries returns two queries: whenAssigned is true if the database assigns the
// column, and whenUnassigned is true if it does not.
func assignmentQueries(c *column) (whenAssigned, whenUnassigned string) {
	if c.Definition.Auto() {
		return c.Has("EXTRA LIKE '%auto_increment%'"), c.Has("EXTRA NOT LIKE '%auto_increment%'")
	}
	return c.Has("COLUMN_DEFAULT IS NOT NULL"), c.Has("COLUMN_DEFAULT IS NULL")
}

// oldKeysOnly returns a statement that fails if the column holds Snowflake IDs, which are
// keys of issued or more. The way back must not begin then, because the database would
// continue after the largest key, and assign IDs that a generator issues too.
func oldKeysOnly(c *column, issued int64) plan.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: %s has Snowflake IDs, the database would continue from them", c),
		fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s >= %d)", mycatalog.QuoteTable(c.Table.TableName), mycatalog.Quote(c.Name), issued))
}

// counterTable is the table in which phase detach stores the values of the AUTO_INCREMENT
// counters for the way back. A table without AUTO_INCREMENT has no counter. When
// AUTO_INCREMENT is added again, the table counts from its largest key, so it would
// assign the key of a deleted last row again. Users may drop the counter table when they
// no longer want to go back; the way back then uses the values at the time of the
// inspection.
const counterTable = "sqlmigrate_counters"

// createCounters creates counterTable.
const createCounters = "CREATE TABLE IF NOT EXISTS `" + counterTable + "` (" +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, next bigint unsigned NOT NULL, PRIMARY KEY (table_schema, table_name)" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='sqlmigrate: where AUTO_INCREMENT stood, for the way back'"

// raiseCounter ends an INSERT into counterTable. If the table has a row already, it keeps
// the larger of both values.
const raiseCounter = "\nON DUPLICATE KEY UPDATE next = GREATEST(next, VALUES(next))"

// counterOf returns the key that the database assigns next, as the options of the table
// contain it at the time of the inspection. The parenthesis completes the last line of
// SHOW CREATE TABLE, which MySQLNext expects.
func counterOf(t *mycatalog.Table) uint64 { return parking.MySQLNext(")" + t.Options) }

// counterRow returns the primary key of the table's row in counterTable, as SQL values.
// The schema is "" for the current database.
func counterRow(t *mycatalog.Table) string {
	return mycatalog.Literals([]string{t.Schema, t.Name})
}

// recordCounter returns a statement that stores the present value of the counter.
func recordCounter(t *mycatalog.Table) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(t) + ", COALESCE(AUTO_INCREMENT, 1) " +
		"FROM information_schema.TABLES WHERE " + mycatalog.WhereTable(t.TableName) + raiseCounter}
}

// recordKeys returns a statement that raises the stored value above the largest key.
// Between the statement of recordCounter and the removal of the counter, the database may
// have assigned further keys.
func recordKeys(c *column) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(c.Table) + ", GREATEST(COALESCE(MAX(" + mycatalog.Quote(c.Name) + "), 0), 0) + 1 " +
		"FROM " + mycatalog.QuoteTable(c.Table.TableName) + raiseCounter}
}

// assignAgain returns the statements that restore AUTO_INCREMENT with the value in
// counterTable, unless the query whenAssigned returns that the column has it already. The
// value is part of an ALTER TABLE, in which the servers accept no expression, so the
// statement is composed and prepared on the server.
func assignAgain(c *column, whenAssigned string) []plan.Statement {
	row := counterRow(c.Table)
	change := alter(c.Table, "MODIFY "+string(c.afterWiden())) + ", AUTO_INCREMENT = "
	return []plan.Statement{
		{SQL: createCounters},
		{SQL: "INSERT INTO `" + counterTable + "` VALUES (" + row + fmt.Sprintf(", %d)", counterOf(c.Table)) + raiseCounter},
		{SQL: fmt.Sprintf("SET @sqlmigrate = (SELECT IF((%s),\n'DO 0',\nCONCAT(%s, next)) FROM `%s` WHERE (table_schema, table_name) = (%s))",
			whenAssigned, mycatalog.Literal(change), counterTable, row)},
		{SQL: "PREPARE sqlmigrate FROM @sqlmigrate"},
		{SQL: "EXECUTE sqlmigrate"},
		{SQL: "DEALLOCATE PREPARE sqlmigrate"},
	}
}

// withCounterTable adds a step before the steps of phase detach, which creates
// counterTable. On the way back, this step deletes the counters of the columns, and drops
// the table if it is then empty. Without a column with AUTO_INCREMENT, withCounterTable
// returns steps unchanged.
func withCounterTable(steps []plan.Step, columns []*column) []plan.Step {
	var deletes []plan.Statement
	for _, c := range columns {
		if c.Definition.Auto() {
			deletes = append(deletes, plan.Statement{SQL: "DELETE FROM `" + counterTable + "` WHERE (table_schema, table_name) = (" + counterRow(c.Table) + ")"})
		}
	}
	if len(deletes) == 0 {
		return steps
	}
	begin := plan.Step{
		Table: plan.TableName{Name: counterTable}, Text: "make a table for where AUTO_INCREMENT stands, which the way back needs",
		Up: []plan.Statement{{SQL: createCounters}},
		Down: append(deletes, plan.Statement{
			SQL: "DROP TABLE `" + counterTable + "`", Unless: "SELECT COUNT(*) > 0 FROM `" + counterTable + "`",
		}),
	}
	return append([]plan.Step{begin}, steps...)
}

// countersFit returns statements that fail if a counter is beyond the type to which its
// column changes back, because the server would then refuse every row. A counter of one
// more than the largest value is accepted, because the largest value may be in use.
func countersFit(columns []*column) []plan.Statement {
	var statements []plan.Statement
	for _, c := range columns {
		if _, high := c.Integer().Range(); c.Definition.Auto() {
			statements = append(statements, rejectUnless(
				fmt.Sprintf("sqlmigrate: refused: AUTO_INCREMENT of %s is beyond %s: lower it with ALTER TABLE", c.Table, c.Integer()),
				fmt.Sprintf("SELECT COUNT(*) = 0 FROM information_schema.TABLES WHERE %s AND AUTO_INCREMENT > %d + 1", mycatalog.WhereTable(c.Table.TableName), high)))
		}
	}
	return statements
}
