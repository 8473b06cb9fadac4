package sqlite

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// quote quotes the name of a table or column.
func quote(name string) string { return Engine{}.Quote(plan.TableName{Name: name}) }

// literal returns an SQL literal on a single line. It composes line ends by char(10) and
// char(13), because goose reads files by line, drops carriage returns, and interprets its
// annotations even inside a literal.
func literal(s string) string {
	for _, character := range []struct{ text, sql string }{{"\n", "char(10)"}, {"\r", "char(13)"}} {
		if strings.Contains(s, character.text) {
			mark := unusedMark(s)
			return fmt.Sprintf("replace(%s, '%s', %s)", literal(strings.ReplaceAll(s, character.text, mark)), mark, character.sql)
		}
	}
	return "'" + escape(s) + "'"
}

// escape doubles the quotes in s.
func escape(s string) string { return strings.ReplaceAll(s, "'", "''") }

// unusedMark returns a text that does not occur in s.
func unusedMark(s string) string {
	for n := 0; ; n++ {
		if mark := fmt.Sprintf("<%d>", n); !strings.Contains(s, mark) {
			return mark
		}
	}
}

// fold returns a name in the form in which SQLite compares names, with ASCII letters in
// lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// requirementTable is the name of the temporary table of failUnless.
const requirementTable = "_sqlmigrate_requirement"

// failUnless returns statements that fail with message unless condition is true. They
// insert the condition into a temporary table with a CHECK, whose name is the message,
// because SQLite has no statement that raises an error outside of a trigger.
func failUnless(condition, message string) []plan.Statement {
	return engine.Statements("",
		"DROP TABLE IF EXISTS temp."+requirementTable,
		"CREATE TEMP TABLE "+requirementTable+" (met INTEGER CONSTRAINT "+quote(oneLine(message))+" CHECK (met))",
		"INSERT INTO temp."+requirementTable+" SELECT "+condition,
		"DROP TABLE temp."+requirementTable,
	)
}

// oneLine returns s with each blank and line end replaced by a single blank.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// rewrite returns statements that replace the SQL text of a table in the catalog. They
// succeed if the text is from or already to, and fail for any other text, because
// somebody has then changed the table.
//
// They also create and drop a scratch table, because other connections read the catalog
// again after that, but not after an UPDATE of the catalog. The scratch table has
// AUTOINCREMENT, so that SQLite creates the table sqlite_sequence if it is missing.
// VACUUM removes sqlite_sequence if no table has AUTOINCREMENT.
func rewrite(name, from, to string) []plan.Statement {
	condition := "type = 'table' AND name = " + literal(name) + " AND sql "
	scratch := "main." + quote("_sqlmigrate_scratch")
	require := failUnless(
		fmt.Sprintf("EXISTS (SELECT 1 FROM main.sqlite_master WHERE %sIN (%s, %s))", condition, literal(from), literal(to)),
		fmt.Sprintf("table %s has changed since it was inspected: inspect it again", name))
	return append(require, engine.Statements("",
		"DROP TABLE IF EXISTS "+scratch, // takes the writer lock before the pragma
		"PRAGMA writable_schema = ON",
		fmt.Sprintf("UPDATE main.sqlite_master SET sql = %s WHERE %s= %s", literal(to), condition, literal(from)),
		"PRAGMA writable_schema = RESET",
		"CREATE TABLE "+scratch+" (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"DROP TABLE "+scratch,
	)...)
}
