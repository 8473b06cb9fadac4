package postgres

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// An expression is one of a CHECK, an exclusion, an index or statistics, and
// uses columns to be widened.
type expression struct {
	Table        int64
	Catalog      string // of what it belongs to
	OID          int64
	Object, Text string
	Columns      []string // quoted where they have to be
}

// expressionsSQL asks for the expressions in which the columns are, and for the
// columns of each: PostgreSQL has to parse them again for a bigint.
const expressionsSQL = `
WITH node (rel, att) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[])
), used AS (
  SELECT d.classid, d.objid, node.rel, json_agg(DISTINCT quote_ident(a.attname))::text AS columns
  FROM node
  JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att
  JOIN pg_catalog.pg_depend d
    ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
  GROUP BY 1, 2, 3
)
SELECT used.rel::bigint, 'pg_constraint', c.oid::bigint, pg_describe_object(used.classid, used.objid, 0),
       pg_get_expr(c.conbin, c.conrelid), used.columns
FROM used JOIN pg_catalog.pg_constraint c ON used.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = used.objid
WHERE c.contype = 'c'
UNION ALL
SELECT used.rel::bigint, CASE WHEN x.oid IS NULL THEN 'pg_class' ELSE 'pg_constraint' END, coalesce(x.oid, i.indexrelid)::bigint,
       pg_describe_object(used.classid, used.objid, 0), e.expression, used.columns
FROM used
JOIN pg_catalog.pg_index i ON used.classid = 'pg_catalog.pg_class'::regclass AND i.indexrelid = used.objid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid AND x.contype = 'x'
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
SELECT used.rel::bigint, 'pg_statistic_ext', s.oid::bigint, pg_describe_object(used.classid, used.objid, 0), e.expression, used.columns
FROM used
JOIN pg_catalog.pg_statistic_ext s ON used.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = used.objid
CROSS JOIN LATERAL unnest(pg_get_statisticsobjdef_expressions(s.oid)) AS e (expression)`

// rewrittenExpressions are those that PostgreSQL does not write as they were once the
// columns are narrow again.
func rewrittenExpressions(ctx context.Context, r *pgcatalog.Reader, g *graph) []expression {
	return keepIf(readExpressions(ctx, r, g), expression.changes)
}

func readExpressions(ctx context.Context, r *pgcatalog.Reader, g *graph) []expression {
	query := expressionsSQL
	if r.Version >= 140000 {
		query += statisticsExpressionsSQL
	}
	return pgcatalog.Read[expression](ctx, r, query+" ORDER BY 1, 4, 5", g.narrowNodes())
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
