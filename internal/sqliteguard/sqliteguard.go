// Package sqliteguard builds the guard of a SQLite table, which is a trigger by which the
// table rejects a row without a key. Without it, SQLite assigns such a row a key that a
// generator may issue too, in every table whose primary key is an INTEGER.
package sqliteguard

import (
	"fmt"
	"strings"
)

// Name returns the name of the guard of a table.
func Name(table string) string { return table + "_snowflake_guard" }

// Create returns the statement that creates the guard of a table. The statement has option
// before the trigger's name, for example "IF NOT EXISTS " or a schema with a dot.
//
// In the trigger, NEW.column is -1 if the column is the rowid, which SQLite is going to
// assign to a row without a key. If the key is another column, NEW.column is NULL.
func Create(option, table, column string) string {
	return fmt.Sprintf("CREATE TRIGGER %s%s BEFORE INSERT ON %s FOR EACH ROW WHEN coalesce(NEW.%s, 0) < 1 BEGIN SELECT RAISE(ABORT, '%s'); END",
		option, quote(Name(table)), quote(table), quote(column),
		strings.ReplaceAll(Message(table, column), "'", "''"))
}

// Message returns the message of the error with which the guard rejects a row. It is one
// line, even if a name has a line break.
func Message(table, column string) string {
	message := fmt.Sprintf("table %s: key %s is missing or not positive: Snowflake IDs are assigned by the program, and no longer by the database", table, column)
	return strings.Join(strings.Fields(message), " ")
}

// quote returns a name as an SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
