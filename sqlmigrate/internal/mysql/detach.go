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

// detachStep disables the checks of foreign keys where something refers to the column:
// MySQL refuses the change otherwise, although the type stays.
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

// parkPhase leaves out counters that are parked, and what does not follow keys.
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

// parkStep refuses a column that is still narrow: the server would refuse every row.
func parkStep(c *column, want engine.Request) plan.Step {
	counts := rejectUnless(fmt.Sprintf("sqlmigrate: refused: %s is not a bigint with AUTO_INCREMENT: apply phase widen, or inspect again", c),
		c.Has("DATA_TYPE = 'bigint'", "EXTRA LIKE '%auto_increment%'"))
	return want.ParkStep(c.Table.TableName, "everybody waits for a moment", types.ID(counterOf(c.Table)), func(to types.ID) []plan.Statement {
		return []plan.Statement{counts, {SQL: parking.MySQL(mycatalog.QuoteTable(c.Table.TableName), to)}}
	})
}

// isAssigned are queries that return true if the database assigns the column, and if
// it does not.
func isAssigned(c *column) (with, without string) {
	if c.Definition.Auto() {
		return c.Has("EXTRA LIKE '%auto_increment%'"), c.Has("EXTRA NOT LIKE '%auto_increment%'")
	}
	return c.Has("COLUMN_DEFAULT IS NOT NULL"), c.Has("COLUMN_DEFAULT IS NULL")
}

// oldKeysOnly refuses to let the database assign keys again where IDs have been
// issued: it would continue from the largest, with IDs that are issued too.
func oldKeysOnly(c *column, issued int64) plan.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: %s has Snowflake IDs, the database would continue from them", c),
		fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s >= %d)", mycatalog.QuoteTable(c.Table.TableName), mycatalog.Quote(c.Name), issued))
}

// A table without AUTO_INCREMENT has no counter, and one that gets it back
// counts from its largest key: the key of a row that was deleted from the end
// would be issued again. So phase detach writes the counters into a table that
// stays until it is taken back. It may be dropped once nobody wants to go back;
// the way back would then count from what was inspected.
const counterTable = "sqlmigrate_counters"

const createCounters = "CREATE TABLE IF NOT EXISTS `" + counterTable + "` (" +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, next bigint unsigned NOT NULL, PRIMARY KEY (table_schema, table_name)" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='sqlmigrate: where AUTO_INCREMENT stood, for the way back'"

// raiseCounter keeps the larger one.
const raiseCounter = "\nON DUPLICATE KEY UPDATE next = GREATEST(next, VALUES(next))"

// counterOf is the key that the database assigns next, as it was inspected.
func counterOf(t *mycatalog.Table) uint64 { return parking.MySQLNext(")" + t.Options) }

func counterRow(t *mycatalog.Table) string {
	return mycatalog.Literals([]string{t.Schema, t.Name})
}

// recordCounter keeps where the counter stands.
func recordCounter(t *mycatalog.Table) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(t) + ", COALESCE(AUTO_INCREMENT, 1) " +
		"FROM information_schema.TABLES WHERE " + mycatalog.WhereTable(t.TableName) + raiseCounter}
}

// recordKeys is for keys that were assigned until the counter was removed.
func recordKeys(c *column) plan.Statement {
	return plan.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + counterRow(c.Table) + ", GREATEST(COALESCE(MAX(" + mycatalog.Quote(c.Name) + "), 0), 0) + 1 " +
		"FROM " + mycatalog.QuoteTable(c.Table.TableName) + raiseCounter}
}

// assignAgain is the change that brings AUTO_INCREMENT back, from where it stood.
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

// counted puts the table of counters around the steps of phase detach.
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

// countersFit refuses types in which a counter has no next key: the server would
// refuse every row.
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
