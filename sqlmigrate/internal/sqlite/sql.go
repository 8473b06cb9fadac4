package sqlite

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// quote returns the name of a table or column in double quotes.
func quote(name string) string { return Engine{}.Quote(plan.TableName{Name: name}) }

// literal returns s as an SQL literal on a single line. A line end in s becomes a call of
// replace: for the two lines a and b, it returns replace('a<0>b', '<0>', char(10)). The
// literal must be on a single line because goose reads files by line, drops carriage
// returns, and interprets its annotations even inside a literal.
func literal(s string) string {
	for _, character := range []struct{ text, sql string }{{"\n", "char(10)"}, {"\r", "char(13)"}} {
		if strings.Contains(s, character.text) {
			mark := unusedMark(s)
			return fmt.Sprintf("replace(%s, '%s', %s)", literal(strings.ReplaceAll(s, character.text, mark)), mark, character.sql)
		}
	}
	return "'" + escape(s) + "'"
}

// escape doubles the single quotes in s.
func escape(s string) string { return strings.ReplaceAll(s, "'", "''") }

// unusedMark returns a text that does not occur in s, for which literal exchanges the line ends
// of s. It is <0> or, if s contains that, <1> and so on.
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

// failUnless returns statements that fail with message unless condition, an SQL
// expression, is true. SQLite has no statement that raises an error outside of a trigger.
// Therefore the statements insert the result of condition into a temporary table with a
// CHECK that rejects 0. The name of the CHECK is the message, because SQLite writes the
// name into the error.
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

// rewrite returns statements that change the CREATE TABLE text of a table in the catalog.
// name is the table, from is its present text, and to is its new text. The statements also
// succeed if the text is already to, so that they can be repeated. They fail for any other
// text, because somebody has changed the table since the inspection.
//
// The statements also create and drop a scratch table. This makes other connections read
// the catalog again, which an UPDATE of the catalog alone does not. The scratch table has
// AUTOINCREMENT, so that SQLite creates the table sqlite_sequence, in which SQLite keeps
// counters, if sqlite_sequence is missing. VACUUM removes sqlite_sequence if no table has
// AUTOINCREMENT.
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
