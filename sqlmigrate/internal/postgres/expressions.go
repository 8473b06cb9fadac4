package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// An expression is one of a CHECK, an exclusion, an index or statistics, and
// uses columns to be widened.
type expression struct {
	table        int64
	catalog      string // of what it belongs to
	oid          int64
	object, text string
	columns      []string // quoted where they have to be
}

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
// f(id) where f takes an integer. Nothing in the catalog says so, and ALTER
// TABLE would after it has got its locks. The server is asked to plan them over
// the widened columns.
func (p *inspection) tryExpressions(ctx context.Context) error {
	found, err := p.expressions(ctx)
	if err != nil {
		return err
	}
	for _, e := range found {
		row, table, err := p.widenedRow(ctx, e.table)
		if err != nil {
			return err
		}
		if column := e.cast(); column != "" {
			p.blocker(table, e.object, fmt.Sprintf("%s makes column %s an integer, which fails with a larger key", e.text, column),
				"drop it before, and create it again afterwards without that")
			continue
		}
		if err := p.try(ctx, e, row, table); err != nil {
			return err
		}
		if e.changes() {
			p.rewritten = append(p.rewritten, e)
		}
	}
	return nil
}

func (p *inspection) expressions(ctx context.Context) ([]expression, error) {
	tables, numbers := nodes(p.narrow())
	query := expressionsSQL
	if p.version >= 140000 {
		query += statisticsExpressionsSQL
	}
	var found []expression
	err := each(ctx, p.tx, query+" ORDER BY 1, 4, 5", []any{tables, numbers}, func(rows *sql.Rows) error {
		var e expression
		var columns string
		if err := rows.Scan(&e.table, &e.catalog, &e.oid, &e.object, &e.text, &columns); err != nil {
			return err
		}
		found = append(found, e)
		return json.Unmarshal([]byte(columns), &found[len(found)-1].columns)
	})
	return found, err
}

// cast is a column that the expression casts to an integer. PostgreSQL writes
// such casts where the column is a smallint.
func (e expression) cast() string {
	for _, column := range e.columns {
		if strings.Contains(e.text, "("+column+")::integer") || strings.Contains(e.text, "("+column+")::smallint") {
			return column
		}
	}
	return ""
}

// changes reports whether the expression may look different after it was
// written for a bigint and then for an integer again: id % 10 becomes
// id::bigint % 10::bigint, which no query asks for. Comparisons stay.
func (e expression) changes() bool {
	text := e.text
	for _, column := range e.columns {
		quoted := regexp.QuoteMeta(column)
		number := `(-?\d+|'-?\d+'::(smallint|integer|bigint))`
		same := regexp.MustCompile(`\(` + quoted + ` ((=|<>|<|>|<=|>=) ` + number + `|(=|<>) (ANY|ALL) \(ARRAY\[\d+(, \d+)*\]\)|IS (NOT )?NULL)\)`)
		text = same.ReplaceAllLiteralString(text, "")
	}
	return slices.ContainsFunc(e.columns, func(column string) bool { return strings.Contains(text, column) })
}

func (p *inspection) try(ctx context.Context, e expression, row, table string) error {
	if _, err := p.tx.ExecContext(ctx, "SAVEPOINT expression"); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	_, refused := p.tx.ExecContext(ctx, "EXPLAIN SELECT "+e.text+" FROM "+row)
	if _, err := p.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT expression"); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	if refused != nil && !ofExpression(refused) {
		return fmt.Errorf("sqlmigrate: inspect: plan %s: %w", e.text, refused)
	}
	if refused != nil {
		p.blocker(table, e.object, fmt.Sprintf("%s does not take a bigint: %v", e.text, refused),
			"drop it before, or give the function a bigint")
	}
	return nil
}

// ofExpression reports whether the server rejects an expression: not if it was not
// asked, or was kept from an answer by a timeout, a lock or its end.
func ofExpression(err error) bool {
	state := stateOf(err)
	return state != "" && !slices.Contains([]string{"08", "40", "53", "55", "57", "58"}, state[:2])
}

// widenedRow is what stands after FROM to have a table's columns with the types
// that they will have.
func (p *inspection) widenedRow(ctx context.Context, table int64) (row, display string, err error) {
	var columns []string
	var schema, name string
	err = each(ctx, p.tx, `
SELECT n.nspname, c.relname, a.attnum, a.attname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = $1::bigint::oid ORDER BY a.attnum`, []any{table}, func(rows *sql.Rows) error {
		n := node{table: table}
		var column string
		if err := rows.Scan(&schema, &name, &n.column, &column); err != nil {
			return err
		}
		text := pgsql.Quote(column)
		if c := p.columns[n]; c != nil && c.narrow() {
			text += "::bigint AS " + text
		}
		columns = append(columns, text)
		return nil
	})
	row = "(SELECT " + strings.Join(columns, ", ") + ", tableoid FROM " + pgsql.Qualified(schema, name) + ") AS " + pgsql.Quote(name)
	return row, p.display(schema, name), err
}
