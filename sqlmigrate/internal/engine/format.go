package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Format is the file format of a migration tool.
type Format string

// The formats.
const (
	GolangMigrate Format = "golang-migrate" // github.com/golang-migrate/migrate: pairs of NNN_name.up.sql and NNN_name.down.sql
	Goose         Format = "goose"          // github.com/pressly/goose: NNN_name.sql
	Atlas         Format = "atlas"          // ariga.io/atlas: NNN_name.sql, and in folder down the way back
)

// Formats lists all formats.
var Formats = []Format{GolangMigrate, Goose, Atlas}

// AtlasHead is the first line of a file for Atlas. It sets the line that ends a
// statement.
const (
	AtlasHead = "-- atlas:delimiter " + atlasEnd + "\n\n"
	atlasEnd  = "-- end"
)

// Script returns statements in the syntax of the tool. Goose and Atlas get markers around
// each statement, because they would otherwise split a statement at the semicolons inside
// it.
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

// Statements returns a statement for each text. All have the same Unless query.
func Statements(unless string, texts ...string) []plan.Statement {
	statements := make([]plan.Statement, len(texts))
	for i, text := range texts {
		statements[i] = plan.Statement{SQL: text, Unless: unless}
	}
	return statements
}

// SQLOf returns the texts of statements.
func SQLOf(statements []plan.Statement) []string {
	sql := make([]string, len(statements))
	for i, s := range statements {
		sql[i] = s.SQL
	}
	return sql
}

// AppendNew appends x to a list that does not contain it.
func AppendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Count returns a number and a noun, such as "1 table" or "2,000 tables".
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(int64(n)) + " " + what
}

// Thousands returns n with a comma between groups of three digits.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Estimate returns how long it takes to process amount, of which rate are processed in a
// second.
func Estimate(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second)).Round(time.Millisecond)
}

// Converted returns the results of convert for all elements of list. The result is nil if
// list is nil.
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
