package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

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

// AppendNew appends to a list what it does not contain.
func AppendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Count is a number of things: what, with an s if there is not just one.
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(int64(n)) + " " + what
}

// Thousands is n with commas.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Estimate is how long so many rows or bytes take at a rate for a second.
func Estimate(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second)).Round(time.Millisecond)
}

// Converted returns a list of what convert makes of each. That of nil is nil.
func Converted[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	result := make([]To, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}
