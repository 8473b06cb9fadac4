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
	Table   int64
	Text    string
	Columns []string // quoted where they have to be
	OID     int64    // of what it belongs to, and how that is created
	Created definition
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
), found (classid, oid, text, used) AS (
  SELECT used.classid, c.oid, pg_get_expr(c.conbin, c.conrelid), used
  FROM used JOIN pg_catalog.pg_constraint c ON used.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = used.objid
  WHERE c.contype = 'c'
  UNION ALL
  SELECT CASE WHEN x.oid IS NULL THEN used.classid ELSE 'pg_catalog.pg_constraint'::regclass END, coalesce(x.oid, i.indexrelid), e.expression, used
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
  SELECT used.classid, s.oid, e.expression, used
  FROM used
  JOIN pg_catalog.pg_statistic_ext s ON used.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = used.objid
  CROSS JOIN LATERAL unnest(pg_get_statisticsobjdef_expressions(s.oid)) AS e (expression)`

// definitionSQL asks for the statement that creates what an expression belongs to: an
// index, with that of the parent to which it is attached; a constraint, unless it
// only comes from a parent, whose statements reach it; or statistics.
const definitionSQL = `
)
SELECT (used).rel::bigint, found.text, (used).columns, found.oid::bigint, d.*
FROM found
CROSS JOIN LATERAL (
  SELECT 'INDEX', n.nspname, c.relname, pg_get_indexdef(c.oid), '', coalesce(pn.nspname, ''), coalesce(pc.relname, '')
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
  LEFT JOIN pg_catalog.pg_class pc ON pc.oid = h.inhparent
  LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
  WHERE found.classid = 'pg_catalog.pg_class'::regclass AND c.oid = found.oid
  UNION ALL
  SELECT 'CONSTRAINT', n.nspname, c.conname, pg_get_constraintdef(c.oid), r.relname, '', ''
  FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
  WHERE found.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = found.oid AND c.conislocal
  UNION ALL
  SELECT 'STATISTICS', n.nspname, s.stxname, pg_get_statisticsobjdef(s.oid), '', '', ''
  FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
  WHERE found.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = found.oid
) AS d
ORDER BY (used).rel, pg_describe_object((used).classid, (used).objid, 0), found.text`

// readRewritten returns the expressions that PostgreSQL does not write as they were
// once the columns are narrow again.
func readRewritten(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) []expression {
	query := expressionsSQL + pgsql.If(q.Version >= 140000, statisticsExpressionsSQL) + definitionSQL
	return keepIf(pgcatalog.Read[expression](ctx, q.Reader, query, g.narrowNodes()), expression.changes)
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
