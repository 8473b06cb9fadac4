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

// detachPhase returns phase detach, after which the database does not assign keys any
// more. The phase cannot be taken back while a column holds a Snowflake ID. A key that is
// equal to issued or larger is taken for a Snowflake ID.
func detachPhase(g *graph, issued int64) plan.Phase {
	phase := plan.Phase{Name: plan.Detach}
	columns := slices.Concat(byTable(g.assignedColumns())...)
	for _, c := range columns {
		phase.Steps = append(phase.Steps, detachStep(g, c))
		phase.Check = append(phase.Check, oldKeysOnly(c, issued))
	}
	phase.Steps = withCounterTable(phase.Steps, columns)
	return phase
}

// detachStep returns the step after which the database does not assign the column any more.
// It removes the default of the column or AUTO_INCREMENT. The way back restores the
// default, or AUTO_INCREMENT with the value of its counter, which is stored before the
// counter is removed. The step turns foreign_key_checks off, because MySQL otherwise
// refuses to change a column to which a foreign key refers, even if the type of the column
// stays the same.
func detachStep(g *graph, c *column) plan.Step {
	t := c.Table
	whenAssigned, whenUnassigned := assignmentQueries(c)
	step := plan.Step{Table: t.TableName, Text: "the database assigns " + c.Name + " no more", Locks: "everybody waits for a moment"}
	if !c.Definition.Auto() { // the column has a default
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

// parkPhase returns phase park, which takes the place of phases detach and guard if the
// database is to go on assigning keys. It sets the AUTO_INCREMENT counters so high that
// they assign no number that a generator issues in the next ten years. It leaves out
// counters that are so high already. It also leaves out columns with a DEFAULT, because a
// default, unlike AUTO_INCREMENT, does not continue from the largest key that a program has
// inserted.
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

// parkStep returns the step that parks the counter of the column's table, which means to
// set the counter so high that it assigns no number that a generator issues in the next ten
// years. The way back sets the counter to its present value. The step fails if the column
// is still narrow, because the counter would be beyond the type of the column, and the
// server would refuse every row.
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
// keys that are equal to issued or larger. The statement runs before phase detach or park
// is taken back, because the database would then continue from the largest key, and assign
// IDs that a generator issues too.
func oldKeysOnly(c *column, issued int64) plan.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: %s has Snowflake IDs, the database would continue from them", c),
		fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s >= %d)", mycatalog.QuoteTable(c.Table.TableName), mycatalog.Quote(c.Name), issued))
}

// counterTable is the table in which phase detach stores the values of the AUTO_INCREMENT
// counters for the way back. A table without AUTO_INCREMENT has no counter, and when
// AUTO_INCREMENT is added again, it counts from the largest key in the table. If the last
// row was deleted, the database would assign its key again. Users may drop the counter
// table when they no longer want to go back. If they go back nevertheless, the counters get
// the values that they had at the time of the inspection.
const counterTable = "sqlmigrate_counters"

// createCounters creates counterTable.
const createCounters = "CREATE TABLE IF NOT EXISTS `" + counterTable + "` (" +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, next bigint unsigned NOT NULL, PRIMARY KEY (table_schema, table_name)" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='sqlmigrate: where AUTO_INCREMENT stood, for the way back'"

// raiseCounter ends an INSERT into counterTable. If counterTable has a row for the table
// already, the row keeps the larger of both values, so that a repeated run does not lower
// it.
const raiseCounter = "\nON DUPLICATE KEY UPDATE next = GREATEST(next, VALUES(next))"

// counterOf returns the key that the table's AUTO_INCREMENT counter assigns next, as it was
// at the time of the inspection. SHOW CREATE TABLE has it among the options of the table,
// for example in the line ") ENGINE=InnoDB AUTO_INCREMENT=17". MySQLNext expects the
// parenthesis before the options, and t.Options does not contain it.
func counterOf(t *mycatalog.Table) uint64 { return parking.MySQLNext(")" + t.Options) }

// counterRow returns the primary key of the table's row in counterTable, as SQL values,
// for example 'audit', 'orders'. The schema is an empty string for the current database.
func counterRow(t *mycatalog.Table) string {
	return mycatalog.Literals([]string{t.Schema, t.Name})
}

// recordCounter returns a statement that stores the present value of the table's counter.
// If an earlier run has removed the counter already, the catalog has NULL, and the statement
// inserts 1. This does not change the value that the earlier run has stored, because
// raiseCounter keeps the larger value.
func recordCounter(t *mycatalog.Table) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(t) + ", COALESCE(AUTO_INCREMENT, 1) " +
		"FROM information_schema.TABLES WHERE " + mycatalog.WhereTable(t.TableName) + raiseCounter}
}

// recordKeys returns a statement that raises the stored value of the counter above the
// largest key of the column. The database may assign further keys after the statement of
// recordCounter has stored the counter. Therefore the statement of recordKeys runs when the
// counter has been removed, after which the database assigns no more keys.
func recordKeys(c *column) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(c.Table) + ", GREATEST(COALESCE(MAX(" + mycatalog.Quote(c.Name) + "), 0), 0) + 1 " +
		"FROM " + mycatalog.QuoteTable(c.Table.TableName) + raiseCounter}
}

// assignAgain returns the statements that restore AUTO_INCREMENT of the column with the
// value in counterTable. They do not change the column if the query whenAssigned returns
// that it has AUTO_INCREMENT already. They first raise the value to the counter at the
// time of the inspection, because a user may have dropped counterTable. An ALTER TABLE
// accepts no expression for the value, so a query composes the text of the ALTER TABLE,
// which is then prepared and executed on the server.
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

// withCounterTable returns the steps of phase detach with a first step that creates
// counterTable. On the way back, this step is the last. It deletes the counters of the
// columns, and drops counterTable if no other counters are in it. Without a column with
// AUTO_INCREMENT, withCounterTable returns steps unchanged.
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

// countersFit returns statements for the way back of phase widen. They fail if an
// AUTO_INCREMENT counter is beyond the narrow type that its column gets back, because the
// server would then refuse every row. A counter of one more than the largest value of the
// type is accepted, because the largest value may be in use.
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
