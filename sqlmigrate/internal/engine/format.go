package engine

import (
	"strings"
)

// A Format is the file format of a migration tool.
type Format string

// The formats.
const (
	GolangMigrate Format = "golang-migrate" // github.com/golang-migrate/migrate: pairs of NNN_name.up.sql and NNN_name.down.sql
	Goose         Format = "goose"          // github.com/pressly/goose: NNN_name.sql
	Atlas         Format = "atlas"          // ariga.io/atlas: NNN_name.sql, and the way back in its folder down
)

// Formats lists all formats.
var Formats = []Format{GolangMigrate, Goose, Atlas}

// AtlasHead is the first line of a file for Atlas. It tells Atlas that a line with
// atlasEnd ends each statement.
const (
	AtlasHead = "-- atlas:delimiter " + atlasEnd + "\n\n"
	atlasEnd  = "-- end"
)

// Script returns the text with which a migration file of this format runs the statements.
// Each statement is between two markers for Goose, and before a marker for Atlas. Without
// the markers, these tools would split a statement at the semicolons inside it.
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
