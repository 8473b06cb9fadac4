package postgres

import (
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// quote quotes an identifier. It always does: which words are reserved
// differs between versions.
func quote(name string) string { return qualified("", name) }

// qualified quotes a name with its schema, which may be empty.
func qualified(schema, name string) string {
	return Engine{}.Quote(engine.TableName{Schema: schema, Name: name})
}

// literal quotes a string so that it reads the same whatever
// standard_conforming_strings is. It stays on one line: tools that split files
// go by how lines begin.
func literal(s string) string {
	if !strings.ContainsAny(s, "\\\n\r") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}

// doBlock makes a DO statement with a delimiter that body does not contain.
func doBlock(body string) string {
	tag := "$$"
	for i := 1; strings.Contains(body, tag); i++ {
		tag = "$do" + strconv.Itoa(i) + "$"
	}
	return "DO " + tag + "\nBEGIN\n" + body + "END\n" + tag
}

// checkAll makes a statement of several of rejectIf. It is an error too if a
// policy would hide rows.
func checkAll(rejections []string) string {
	return doBlock("  PERFORM pg_catalog.set_config('row_security', 'off', true);\n" + strings.Join(rejections, ""))
}

// rejectIf is a part of the body of a DO statement. It raises an error if a
// query finds a row.
func rejectIf(query, message string) string {
	return "  IF EXISTS (" + query + ") THEN\n" +
		"    RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = " + literal(message) + ";\n" +
		"  END IF;\n"
}

// arrayLiteral is the text of an array of numbers, for drivers that do not know
// arrays.
func arrayLiteral[T ~int64](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(int64(v), 10)
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// statementsUnless returns a statement for each text, all done if unless is true.
func statementsUnless(unless string, texts ...string) []engine.Statement {
	statements := make([]engine.Statement, len(texts))
	for i, text := range texts {
		statements[i] = engine.Statement{SQL: text, Unless: unless}
	}
	return statements
}

// has is a condition: some of the columns are as it says of pg_attribute.
func has(columns []*column, condition string) string {
	tests := make([]string, len(columns))
	for i, c := range columns {
		tests[i] = "attrelid = " + literal(c.target()) + "::regclass AND attname = " + literal(c.name)
	}
	return "EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE (" + strings.Join(tests, " OR ") + ") AND " + condition + ")"
}
