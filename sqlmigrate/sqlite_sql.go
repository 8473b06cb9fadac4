package sqlmigrate

import (
	"fmt"
	"strings"
)

func sqliteQuote(name string) string { return sqliteEngine{}.quote(tableName{name: name}) }

// sqliteString is a literal on one line: goose reads files by line, drops
// carriage returns, and heeds its annotations inside a literal too.
func sqliteString(s string) string {
	for _, character := range []struct{ text, sql string }{{"\n", "char(10)"}, {"\r", "char(13)"}} {
		if strings.Contains(s, character.text) {
			mark := sqliteMark(s)
			return fmt.Sprintf("replace(%s, '%s', %s)", sqliteString(strings.ReplaceAll(s, character.text, mark)), mark, character.sql)
		}
	}
	return "'" + sqliteEscape(s) + "'"
}

func sqliteEscape(s string) string { return strings.ReplaceAll(s, "'", "''") }

// sqliteMark is a text that is not in s.
func sqliteMark(s string) string {
	for n := 0; ; n++ {
		if mark := fmt.Sprintf("<%d>", n); !strings.Contains(s, mark) {
			return mark
		}
	}
}

// sqliteFold is how SQLite compares names: without the case of ASCII letters.
func sqliteFold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

const sqliteRequirement = "_sqlmigrate_requirement"

// sqliteRequire are statements of which one fails, with the message, unless the
// condition holds. A CHECK is the only plain statement that says what one wants.
func sqliteRequire(condition, message string) []Statement {
	return sqliteStatements(
		"DROP TABLE IF EXISTS temp."+sqliteRequirement,
		"CREATE TEMP TABLE "+sqliteRequirement+" (met INTEGER CONSTRAINT "+sqliteQuote(oneLine(message))+" CHECK (met))",
		"INSERT INTO temp."+sqliteRequirement+" SELECT "+condition,
		"DROP TABLE temp."+sqliteRequirement,
	)
}

func sqliteStatements(texts ...string) []Statement {
	statements := make([]Statement, len(texts))
	for i, text := range texts {
		statements[i] = Statement{SQL: text}
	}
	return statements
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// sqliteRewrite replaces the text of a table in the catalog. If it is the new
// one already, it stays; any other is an error.
//
// The scratch table makes other connections read the catalog again, which an
// UPDATE of it does not. It is AUTOINCREMENT, so that it brings the table
// sqlite_sequence back if VACUUM has removed it: it does when no other table is.
func sqliteRewrite(table, from, to string) []Statement {
	of := "type = 'table' AND name = " + sqliteString(table) + " AND sql "
	scratch := "main." + sqliteQuote("_sqlmigrate_scratch")
	require := sqliteRequire(
		fmt.Sprintf("EXISTS (SELECT 1 FROM main.sqlite_master WHERE %sIN (%s, %s))", of, sqliteString(from), sqliteString(to)),
		fmt.Sprintf("table %s has changed since it was inspected: inspect it again", table))
	return append(require, sqliteStatements(
		"DROP TABLE IF EXISTS "+scratch, // takes the writer lock, which the next statements must not miss
		"PRAGMA writable_schema = ON",
		fmt.Sprintf("UPDATE main.sqlite_master SET sql = %s WHERE %s= %s", sqliteString(to), of, sqliteString(from)),
		"PRAGMA writable_schema = RESET",
		"CREATE TABLE "+scratch+" (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"DROP TABLE "+scratch,
	)...)
}
