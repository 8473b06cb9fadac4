package postgres

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// An expression is one of a CHECK, an exclusion, an index or statistics, and
// uses columns to be widened.
type expression struct {
	OID     int64 // of what it belongs to
	Text    string
	Columns []string // quoted where they have to be
}

// expressionsSQL asks for the expressions in which the columns are, and for the
// columns of each: PostgreSQL has to parse them again for a bigint. Indexes of
// partitions are created again whether they have any or not.
const expressionsSQL = `
SELECT c.oid::bigint, pg_get_expr(c.conbin, c.conrelid), made.columns
FROM made JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
WHERE c.contype = 'c'
UNION ALL
SELECT c.oid::bigint, e.expression, made.columns
FROM made
JOIN pg_catalog.pg_index i ON made.classid = 'pg_catalog.pg_class'::regclass AND i.indexrelid = made.objid
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i' AND NOT c.relispartition
CROSS JOIN LATERAL (
  SELECT pg_get_indexdef(i.indexrelid, k.number::integer, false)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (column_number, number) WHERE k.column_number = 0
  UNION ALL
  SELECT pg_get_expr(i.indpred, i.indrelid) WHERE i.indpred IS NOT NULL
) AS e (expression)`

// statisticsExpressionsSQL is for PostgreSQL 14 and later: there are none
// before.
const statisticsExpressionsSQL = `
UNION ALL
SELECT s.oid::bigint, e.expression, made.columns
FROM made
JOIN pg_catalog.pg_statistic_ext s ON made.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = made.objid
CROSS JOIN LATERAL unnest(pg_get_statisticsobjdef_expressions(s.oid)) AS e (expression)`

// readRewritten returns the OIDs of what has expressions that PostgreSQL does not write
// as they were once the columns are narrow again.
func readRewritten(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) map[int64]bool {
	rewritten := map[int64]bool{}
	for _, e := range readBuiltAgain[expression](ctx, q.Reader, g, expressionsSQL+pgsql.If(q.Version >= 140000, statisticsExpressionsSQL)) {
		rewritten[e.OID] = rewritten[e.OID] || e.changes()
	}
	return rewritten
}

// changes reports whether the expression may look different after it was
// written for a bigint and then for an integer again: id % 10 becomes
// id::bigint % 10::bigint, which no query asks for. Comparisons stay.
func (e expression) changes() bool {
	text := e.Text
	for _, column := range e.Columns {
		quoted := regexp.QuoteMeta(column)
		number := `(-?\d+|'-?\d+'::(smallint|integer|bigint))`
		same := regexp.MustCompile(`\(` + quoted + ` ((=|<>|<|>|<=|>=) ` + number + `|(=|<>) (ANY|ALL) \(ARRAY\[\d+(, \d+)*\]\)|IS (NOT )?NULL)\)`)
		text = same.ReplaceAllLiteralString(text, "")
	}
	return slices.ContainsFunc(e.Columns, func(column string) bool { return strings.Contains(text, column) })
}
