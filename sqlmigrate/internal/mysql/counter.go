package mysql

import (
	"fmt"
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

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

var counterOption = regexp.MustCompile(`(?m)^\) .*? AUTO_INCREMENT=(\d+)`)

// counter is the key that the database assigns next, as it was inspected.
func (t *table) counter() string {
	if m := counterOption.FindStringSubmatch(")" + t.options); m != nil {
		return m[1]
	}
	return "1"
}

func (t *table) counterRow() string {
	return literal(t.name.Schema) + ", " + literal(t.name.Name)
}

// recordCounter writes down where the counter stands.
func recordCounter(t *table) engine.Statement {
	return engine.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + t.counterRow() + ", COALESCE(AUTO_INCREMENT, 1) " +
		"FROM information_schema.TABLES WHERE " + whereTable(t.name) + raiseCounter}
}

// recordKeys is for keys that were assigned until the counter was away.
func (c *column) recordKeys() engine.Statement {
	return engine.Statement{SQL: "INSERT INTO `" + counterTable + "` SELECT " + c.table.counterRow() + ", GREATEST(COALESCE(MAX(" + quote(c.name) + "), 0), 0) + 1 " +
		"FROM " + quoteTable(c.table.name) + raiseCounter}
}

// assignAgain is the change that brings AUTO_INCREMENT back, from where it stood.
func (c *column) assignAgain(with string) []engine.Statement {
	t := c.table
	change := alter(t, "MODIFY "+string(c.afterWiden())) + ", AUTO_INCREMENT = "
	return []engine.Statement{
		{SQL: createCounters},
		{SQL: "INSERT INTO `" + counterTable + "` VALUES (" + t.counterRow() + ", " + t.counter() + ")" + raiseCounter},
		{SQL: fmt.Sprintf("SET @sqlmigrate = (SELECT IF((%s),\n'DO 0',\nCONCAT(%s, next)) FROM `%s` WHERE (table_schema, table_name) = (%s))",
			with, literal(change), counterTable, t.counterRow())},
		{SQL: "PREPARE sqlmigrate FROM @sqlmigrate"},
		{SQL: "EXECUTE sqlmigrate"},
		{SQL: "DEALLOCATE PREPARE sqlmigrate"},
	}
}

// counted puts the table of counters around the steps of phase detach.
func counted(steps []engine.Step, columns []*column) []engine.Step {
	var forget []engine.Statement
	for _, c := range columns {
		if c.definition.auto() >= 0 {
			forget = append(forget, engine.Statement{SQL: "DELETE FROM `" + counterTable + "` WHERE (table_schema, table_name) = (" + c.table.counterRow() + ")"})
		}
	}
	if len(forget) == 0 {
		return steps
	}
	begin := engine.Step{
		Table: counterTable, Text: "make a table for where AUTO_INCREMENT stands, which the way back needs",
		Up: []engine.Statement{{SQL: createCounters}},
		Down: append(forget, engine.Statement{
			SQL: "DROP TABLE `" + counterTable + "`", Unless: "SELECT COUNT(*) > 0 FROM `" + counterTable + "`",
		}),
	}
	return append([]engine.Step{begin}, steps...)
}

// counterFits refuses a type in which the counter has no next key: the server
// would refuse every row.
func (c *column) counterFits() engine.Statement {
	_, high := c.typ().holds()
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: AUTO_INCREMENT of %s is beyond %s: lower it with ALTER TABLE", c.table.name, c.typ()),
		"SELECT COUNT(*) = 0 FROM information_schema.TABLES WHERE "+whereTable(c.table.name)+" AND AUTO_INCREMENT > "+high+" + 1")
}
