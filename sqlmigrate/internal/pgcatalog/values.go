package pgcatalog

import (
	"encoding/json"
	"strconv"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A Node is a column: the table's OID and the column's number.
type Node struct{ Table, Column int64 }

// params are a query's parameters, for drivers that do not know arrays: a list of
// numbers is the text of an array, nodes are two of them, tables and columns, and a
// list of strings is the text of one in JSON.
func params(args []any) []any {
	var found []any
	for _, arg := range args {
		switch list := arg.(type) {
		case []int64:
			found = append(found, array(list, func(n int64) int64 { return n }))
		case []Node:
			found = append(found, array(list, func(n Node) int64 { return n.Table }), array(list, func(n Node) int64 { return n.Column }))
		case []string:
			text, _ := json.Marshal(append([]string{}, list...)) // strings can always be written
			found = append(found, string(text))
		default:
			found = append(found, arg)
		}
	}
	return found
}

func array[T any](list []T, number func(T) int64) string {
	return "{" + pgsql.Join(list, ",", func(x T) string { return strconv.FormatInt(number(x), 10) }) + "}"
}
