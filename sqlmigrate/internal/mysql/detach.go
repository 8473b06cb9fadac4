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

func detachPhase(g *graph, issued int64) plan.Phase {
	phase := plan.Phase{Name: plan.Detach}
	columns := slices.Concat(byTable(g.assigned())...)
	for _, c := range columns {
		phase.Steps = append(phase.Steps, detachStep(g, c))
		if issued > 0 {
			phase.Check = append(phase.Check, oldKeysOnly(c, issued))
		}
	}
	phase.Steps = counted(phase.Steps, columns)
	return phase
}

// detachStep returns the step after which the database does not assign the column. It
// turns foreign_key_checks off, because MySQL otherwise refuses to change a column to
// which a foreign key refers, although its type stays the same.
func detachStep(g *graph, c *column) plan.Step {
	t := c.Table
	with, without := isAssigned(c)
	step := plan.Step{Table: t.TableName, Text: "the database assigns " + c.Name + " no more", Locks: "everybody waits for a moment"}
	if !c.Definition.Auto() {
		step.Up = unchecked(plan.Statement{SQL: alter(t, "ALTER COLUMN "+mycatalog.Quote(c.Name)+" DROP DEFAULT"), Unless: without})
		step.Down = unchecked(plan.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden())), Unless: with})
		return step
	}
	if !g.MariaDB {
		step = rewrite(g, t, step)
	}
	up := unchecked(plan.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden().WithoutAuto())), Unless: without})
	step.Up = slices.Concat([]plan.Statement{recordCounter(t)}, up, []plan.Statement{recordKeys(c)})
	step.Down = unchecked(assignAgain(c, with)...)
	return step
}

// parkPhase returns the phase that parks the AUTO_INCREMENT counters. It leaves out
// counters that are parked already, and columns with a default, because a default does
// not follow the keys of programs.
func parkPhase(g *graph, want engine.Request) plan.Phase {
	phase := plan.Phase{Name: plan.Park}
	for _, c := range slices.Concat(byTable(g.assigned())...) {
		if c.Definition.Auto() && counterOf(c.Table) <= uint64(want.Place.Limit) {
			phase.Steps = append(phase.Steps, parkStep(c, want))
			phase.Check = append(phase.Check, oldKeysOnly(c, want.Issued))
		}
	}
	return phase
}

// parkStep returns the step that parks a counter. It fails if the column is still narrow,
// because the server would then refuse every row.
func parkStep(c *column, want engine.Request) plan.Step {
	counts := rejectUnless(fmt.Sprintf("sqlmigrate: refused: %s is not a bigint with AUTO_INCREMENT: apply phase widen, or inspect again", c),
		c.Has("DATA_TYPE = 'bigint'", "EXTRA LIKE '%auto_increment%'"))
	return want.ParkStep(c.Table.TableName, "everybody waits for a moment", types.ID(counterOf(c.Table)), func(to types.ID) []plan.Statement {
		return []plan.Statement{counts, {SQL: parking.MySQL(mycatalog.QuoteTable(c.Table.TableName), to)}}
	})
}

// isAssigned returns a query that is true if the database assigns the column, and a query
// that is true if it does not.
func isAssigned(c *column) (with, without string) {
	if c.Definition.Auto() {
		return c.Has("EXTRA LIKE '%auto_increment%'"), c.Has("EXTRA NOT LIKE '%auto_increment%'")
	}
	return c.Has("COLUMN_DEFAULT IS NOT NULL"), c.Has("COLUMN_DEFAULT IS NULL")
}

// oldKeysOnly returns a statement that fails if the column holds Snowflake IDs. Then the
// way back is refused, because the database would continue after the largest and assign
// IDs that a generator issues too.
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

const createCounters = "CREATE TABLE IF NOT EXISTS `" + counterTable + "` (" +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, next bigint unsigned NOT NULL, PRIMARY KEY (table_schema, table_name)" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='sqlmigrate: where AUTO_INCREMENT stood, for the way back'"

// raiseCounter keeps the larger value if the table already has a counter.
const raiseCounter = "\nON DUPLICATE KEY UPDATE next = GREATEST(next, VALUES(next))"

// counterOf returns the key that the database assigns next, at the time of the
// inspection.
func counterOf(t *mycatalog.Table) uint64 { return parking.MySQLNext(")" + t.Options) }

func counterRow(t *mycatalog.Table) string {
	return mycatalog.Literals([]string{t.Schema, t.Name})
}

// recordCounter returns a statement that stores the present value of the counter.
func recordCounter(t *mycatalog.Table) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(t) + ", COALESCE(AUTO_INCREMENT, 1) " +
		"FROM information_schema.TABLES WHERE " + mycatalog.WhereTable(t.TableName) + raiseCounter}
}

// recordKeys returns a statement that raises the stored value above the largest key,
// because the database may have assigned keys between recordCounter and the removal of
// the counter.
func recordKeys(c *column) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(c.Table) + ", GREATEST(COALESCE(MAX(" + mycatalog.Quote(c.Name) + "), 0), 0) + 1 " +
		"FROM " + mycatalog.QuoteTable(c.Table.TableName) + raiseCounter}
}

// assignAgain returns the statements that restore AUTO_INCREMENT with the stored value.
func assignAgain(c *column, with string) []plan.Statement {
	row := counterRow(c.Table)
	change := alter(c.Table, "MODIFY "+string(c.afterWiden())) + ", AUTO_INCREMENT = "
	return []plan.Statement{
		{SQL: createCounters},
		{SQL: "INSERT INTO `" + counterTable + "` VALUES (" + row + fmt.Sprintf(", %d)", counterOf(c.Table)) + raiseCounter},
		{SQL: fmt.Sprintf("SET @sqlmigrate = (SELECT IF((%s),\n'DO 0',\nCONCAT(%s, next)) FROM `%s` WHERE (table_schema, table_name) = (%s))",
			with, mycatalog.Literal(change), counterTable, row)},
		{SQL: "PREPARE sqlmigrate FROM @sqlmigrate"},
		{SQL: "EXECUTE sqlmigrate"},
		{SQL: "DEALLOCATE PREPARE sqlmigrate"},
	}
}

// counted adds a step before the steps of phase detach, which creates the counter table.
// Its Down deletes the counters of the columns, and drops the table if it is then empty.
func counted(steps []plan.Step, columns []*column) []plan.Step {
	var forget []plan.Statement
	for _, c := range columns {
		if c.Definition.Auto() {
			forget = append(forget, plan.Statement{SQL: "DELETE FROM `" + counterTable + "` WHERE (table_schema, table_name) = (" + counterRow(c.Table) + ")"})
		}
	}
	if len(forget) == 0 {
		return steps
	}
	begin := plan.Step{
		Table: plan.TableName{Name: counterTable}, Text: "make a table for where AUTO_INCREMENT stands, which the way back needs",
		Up: []plan.Statement{{SQL: createCounters}},
		Down: append(forget, plan.Statement{
			SQL: "DROP TABLE `" + counterTable + "`", Unless: "SELECT COUNT(*) > 0 FROM `" + counterTable + "`",
		}),
	}
	return append([]plan.Step{begin}, steps...)
}

// countersFit returns statements that fail if a counter is beyond the type to which its
// column changes back, because the server would then refuse every row.
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
