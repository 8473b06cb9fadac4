package postgres

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
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

// tryExpressions finds expressions that do not work with a bigint, such as
// f(id) where f takes an integer. The catalog does not show it, and ALTER
// TABLE would after it has got its locks. The server is asked to plan them over
// the widened columns. Those that do not come back as they were are returned.
func tryExpressions(ctx context.Context, r *pgcatalog.Reader, g *graph) (rewritten []expression, found engine.Findings) {
	for _, e := range readExpressions(ctx, r, g) {
		table := g.relations[e.Table].Display
		if column := e.cast(); column != "" {
			found.Block(table, e.Object, fmt.Sprintf("%s makes column %s an integer, which fails with a larger key", e.Text, column),
				"drop it before, and create it again afterwards without that")
			continue
		}
		if refused := e.try(ctx, r, readWidenedRow(ctx, r, g, e.Table)); refused != nil {
			found.Block(table, e.Object, fmt.Sprintf("%s does not take a bigint: %v", e.Text, refused),
				"drop it before, or give the function a bigint")
		}
		if e.changes() {
			rewritten = append(rewritten, e)
		}
	}
	return rewritten, found
}

func readExpressions(ctx context.Context, r *pgcatalog.Reader, g *graph) []expression {
	query := expressionsSQL
	if r.Version >= 140000 {
		query += statisticsExpressionsSQL
	}
	return pgcatalog.Read[expression](ctx, r, query+" ORDER BY 1, 4, 5", g.narrowNodes())
}

// cast is a column that the expression casts to an integer. PostgreSQL writes
// such casts where the column is a smallint.
func (e *expression) cast() string {
	for _, column := range e.Columns {
		if strings.Contains(e.Text, "("+column+")::integer") || strings.Contains(e.Text, "("+column+")::smallint") {
			return column
		}
	}
	return ""
}

// changes reports whether the expression may look different after it was
// written for a bigint and then for an integer again: id % 10 becomes
// id::bigint % 10::bigint, which no query asks for. Comparisons stay.
func (e *expression) changes() bool {
	text := e.Text
	for _, column := range e.Columns {
		quoted := regexp.QuoteMeta(column)
		number := `(-?\d+|'-?\d+'::(smallint|integer|bigint))`
		same := regexp.MustCompile(`\(` + quoted + ` ((=|<>|<|>|<=|>=) ` + number + `|(=|<>) (ANY|ALL) \(ARRAY\[\d+(, \d+)*\]\)|IS (NOT )?NULL)\)`)
		text = same.ReplaceAllLiteralString(text, "")
	}
	return slices.ContainsFunc(e.Columns, func(column string) bool { return strings.Contains(text, column) })
}

// try asks the server to plan the expression over a row, and returns why it does not.
func (e *expression) try(ctx context.Context, r *pgcatalog.Reader, row string) error {
	if r.Err() != nil {
		return nil
	}
	_, err := r.Tx.ExecContext(ctx, "SAVEPOINT expression")
	r.Fail(err)
	_, refused := r.Tx.ExecContext(ctx, "EXPLAIN SELECT "+e.Text+" FROM "+row)
	_, err = r.Tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT expression")
	r.Fail(err)
	if refused != nil && !ofExpression(refused) {
		r.Fail(fmt.Errorf("plan %s: %w", e.Text, refused))
	}
	return refused
}

// ofExpression reports whether the server rejects an expression: not if it was not
// asked, or was kept from an answer by a timeout, a lock or its end.
func ofExpression(err error) bool {
	state := pgsql.State(err)
	return state != "" && !slices.Contains([]string{"08", "40", "53", "55", "57", "58"}, state[:2])
}

// readWidenedRow returns what stands after FROM to have a table's columns with the
// types that they will have: all columns, since an expression may use others too.
func readWidenedRow(ctx context.Context, r *pgcatalog.Reader, g *graph, table int64) string {
	numbers := r.Numbers(ctx, table)
	columns := slices.Sorted(maps.Keys(numbers))
	for i, name := range columns {
		columns[i] = pgsql.Quote(name)
		if c := g.columns[pgcatalog.Node{Table: table, Column: numbers[name]}]; c != nil && c.IsNarrow() {
			columns[i] += "::bigint AS " + columns[i]
		}
	}
	t := g.relations[table]
	return "(SELECT " + strings.Join(columns, ", ") + ", tableoid FROM " + t.Target() + ") AS " + pgsql.Quote(t.Name)
}
