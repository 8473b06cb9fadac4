package engine

import (
	"context"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// DescribeRows returns the number of rows that a query finds, and the values of the first
// row, for example "2 rows, for example id = 7, user_id = 50". It returns "" if the query
// finds no row. Callers use it for messages about orphans, which are rows whose foreign
// key leads to no row.
func DescribeRows(ctx context.Context, from rows.Querier, query string) (string, error) {
	names, found, err := rows.Texts(ctx, from, query+" LIMIT 1")
	if err != nil || len(found) == 0 {
		return "", err
	}
	for i, value := range found[0] { // user_id becomes user_id = 50
		names[i] += " = " + value.String
	}
	n, err := rows.Read[int64](ctx, from, "SELECT COUNT(*) FROM ("+query+") orphan")
	if err != nil {
		return "", err
	}
	return Count(n[0], "row") + ", for example " + strings.Join(names, ", "), nil
}
