package engine

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// AppendNew appends x to list unless list contains x already.
func AppendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Converted returns a list with the result of convert for each element of list. It returns
// nil if list is nil.
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

// Statements returns a [plan.Statement] for each SQL text. All of them have the same
// Unless query. If this query returns true, the statement has been done already and is
// skipped. If unless is empty, the statements always run.
func Statements(unless string, texts ...string) []plan.Statement {
	statements := make([]plan.Statement, len(texts))
	for i, text := range texts {
		statements[i] = plan.Statement{SQL: text, Unless: unless}
	}
	return statements
}

// SQLOf returns the SQL texts of statements.
func SQLOf(statements []plan.Statement) []string {
	sql := make([]string, len(statements))
	for i, s := range statements {
		sql[i] = s.SQL
	}
	return sql
}
