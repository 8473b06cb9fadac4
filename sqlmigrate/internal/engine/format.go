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
	Atlas         Format = "atlas"          // ariga.io/atlas: NNN_name.sql, with the way back in folder down
)

// Formats are all of them.
var Formats = []Format{GolangMigrate, Goose, Atlas}

// AtlasHead is the first line of a file of Atlas: where a statement ends.
const (
	AtlasHead = "-- atlas:delimiter " + atlasEnd + "\n\n"
	atlasEnd  = "-- end"
)

// Script writes statements as the tool reads them. Goose and Atlas split at semicolons
// unless they are told otherwise.
func (f Format) Script(statements []string) string {
	begin, end := "", ";\n"
	switch f {
	case Goose:
		begin, end = "-- +goose StatementBegin\n", ";\n-- +goose StatementEnd\n"
	case Atlas:
		end = ";\n" + atlasEnd + "\n"
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
