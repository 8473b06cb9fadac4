package postgres

import (
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

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
		"    RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = " + pgsql.Literal(message) + ";\n" +
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
		tests[i] = "attrelid = " + pgsql.Literal(c.target()) + "::regclass AND attname = " + pgsql.Literal(c.name)
	}
	return "EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE (" + strings.Join(tests, " OR ") + ") AND " + condition + ")"
}
