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

// Statements returns a statement for each text. All of them have the same Unless query,
// which returns whether a statement has been done already. It may be empty.
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
