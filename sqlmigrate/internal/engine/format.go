package engine

import (
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Format is the format of a migration tool's files.
type Format string

// The formats.
const (
	GolangMigrate Format = "golang-migrate" // github.com/golang-migrate/migrate: pairs of NNN_name.up.sql and NNN_name.down.sql
	Goose         Format = "goose"          // github.com/pressly/goose: NNN_name.sql
)

// Script writes statements as the tool reads them. Goose splits at semicolons
// unless it is told otherwise.
func (f Format) Script(statements []string) string {
	begin, end := "", ";\n"
	if f == Goose {
		begin, end = "-- +goose StatementBegin\n", ";\n-- +goose StatementEnd\n"
	}
	var text strings.Builder
	for _, statement := range statements {
		text.WriteString(begin + statement + end)
	}
	return text.String()
}

// Statements returns a statement for each text, all done if unless is true.
func Statements(unless string, texts ...string) []plan.Statement {
	statements := make([]plan.Statement, len(texts))
	for i, text := range texts {
		statements[i] = plan.Statement{SQL: text, Unless: unless}
	}
	return statements
}

// SQLOf are the texts of statements.
func SQLOf(statements []plan.Statement) []string {
	sql := make([]string, len(statements))
	for i, s := range statements {
		sql[i] = s.SQL
	}
	return sql
}
