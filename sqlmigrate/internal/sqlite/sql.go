package sqlite

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

func quote(name string) string { return Engine{}.Quote(plan.TableName{Name: name}) }

// literal is a literal on one line: goose reads files by line, drops
// carriage returns, and heeds its annotations inside a literal too.
func literal(s string) string {
	for _, character := range []struct{ text, sql string }{{"\n", "char(10)"}, {"\r", "char(13)"}} {
		if strings.Contains(s, character.text) {
			mark := unusedMark(s)
			return fmt.Sprintf("replace(%s, '%s', %s)", literal(strings.ReplaceAll(s, character.text, mark)), mark, character.sql)
		}
	}
	return "'" + escape(s) + "'"
}

func escape(s string) string { return strings.ReplaceAll(s, "'", "''") }

// unusedMark is a text that is not in s.
func unusedMark(s string) string {
	for n := 0; ; n++ {
		if mark := fmt.Sprintf("<%d>", n); !strings.Contains(s, mark) {
			return mark
		}
	}
}

// fold is how SQLite compares names: without the case of ASCII letters.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

const requirementTable = "_sqlmigrate_requirement"

// failUnless are statements of which one fails, with the message, unless the
// condition holds. A CHECK is the only plain statement that says what one
// wants.
func failUnless(condition, message string) []plan.Statement {
	return engine.Statements("",
		"DROP TABLE IF EXISTS temp."+requirementTable,
		"CREATE TEMP TABLE "+requirementTable+" (met INTEGER CONSTRAINT "+quote(oneLine(message))+" CHECK (met))",
		"INSERT INTO temp."+requirementTable+" SELECT "+condition,
		"DROP TABLE temp."+requirementTable,
	)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// rewrite replaces the text of a table in the catalog. If it is the new
// one already, it stays; any other is an error.
//
// The scratch table makes other connections read the catalog again, which an
// UPDATE of it does not. It is AUTOINCREMENT, so that it brings the table
// sqlite_sequence back if VACUUM has removed it: it does when no other table
// is.
func rewrite(table, from, to string) []plan.Statement {
	of := "type = 'table' AND name = " + literal(table) + " AND sql "
	scratch := "main." + quote("_sqlmigrate_scratch")
	require := failUnless(
		fmt.Sprintf("EXISTS (SELECT 1 FROM main.sqlite_master WHERE %sIN (%s, %s))", of, literal(from), literal(to)),
		fmt.Sprintf("table %s has changed since it was inspected: inspect it again", table))
	return append(require, engine.Statements("",
		"DROP TABLE IF EXISTS "+scratch, // takes the writer lock, which the next statements must not miss
		"PRAGMA writable_schema = ON",
		fmt.Sprintf("UPDATE main.sqlite_master SET sql = %s WHERE %s= %s", literal(to), of, literal(from)),
		"PRAGMA writable_schema = RESET",
		"CREATE TABLE "+scratch+" (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"DROP TABLE "+scratch,
	)...)
}
