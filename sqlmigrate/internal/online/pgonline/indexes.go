package pgonline

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// An index has columns to be widened.
type index struct {
	oid                        int64
	name, method               string
	unique, distinctNulls      bool
	valid, clustered, identity bool
	predicate                  string
	options, space             string
	comment                    sql.NullString
	keys, included             []indexColumn

	constraint        string // its name; empty without one
	kind              string // of the constraint: p, u or x
	deferrable        string // clause
	constraintComment sql.NullString
	constraintOID     int64
}

// An indexColumn is a column of an index.
type indexColumn struct {
	name       string // empty for an expression
	text       string
	collation  string // qualified, empty without one
	class      string // operator class, empty if it is the type's default
	widens     bool   // the class has a counterpart for bigint that is the default
	order      string
	customized bool // the class has options
}

func (i *index) primary() bool { return i.kind == "p" }

func (p *inspection) readIndexes(ctx context.Context, t *table) error {
	err := each(ctx, p.tx, `
SELECT i.indexrelid::bigint, c.relname, m.amname, i.indisunique, NOT coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false),
       i.indisvalid, i.indisclustered, i.indisreplident, coalesce(pg_get_expr(i.indpred, i.indrelid), ''),
       coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(s.spcname, ''), obj_description(c.oid, 'pg_class'),
       coalesce(x.conname, ''), coalesce(x.contype::text, ''), coalesce(x.oid, 0)::bigint, obj_description(x.oid, 'pg_constraint'),
       CASE WHEN x.condeferred THEN ' DEFERRABLE INITIALLY DEFERRED' WHEN x.condeferrable THEN ' DEFERRABLE' ELSE '' END
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
LEFT JOIN pg_catalog.pg_constraint x ON x.conindid = i.indexrelid AND x.conrelid = i.indrelid AND x.contype IN ('p', 'u', 'x')
WHERE i.indrelid = $1::bigint::oid ORDER BY c.relname`, []any{t.oid}, func(rows *sql.Rows) error {
		var i index
		t.indexes = append(t.indexes, &i)
		return rows.Scan(&i.oid, &i.name, &i.method, &i.unique, &i.distinctNulls,
			&i.valid, &i.clustered, &i.identity, &i.predicate, &i.options, &i.space, &i.comment,
			&i.constraint, &i.kind, &i.constraintOID, &i.constraintComment, &i.deferrable)
	})
	if err != nil {
		return err
	}
	var touched []*index
	for _, i := range t.indexes {
		if err := p.readIndexColumns(ctx, i); err != nil {
			return err
		}
		if i.uses(t) {
			touched = append(touched, i)
		}
	}
	t.indexes = touched
	return nil
}

func (p *inspection) readIndexColumns(ctx context.Context, i *index) error {
	return each(ctx, p.tx, `
SELECT k.n <= i.indnkeyatts, coalesce(a.attname, ''), pg_get_indexdef(i.indexrelid, k.n::integer, false),
       coalesce(quote_ident(cn.nspname) || '.' || quote_ident(co.collname), ''),
       CASE WHEN NOT o.opcdefault THEN quote_ident(opn.nspname) || '.' || quote_ident(o.opcname) ELSE '' END,
       k.n > i.indnkeyatts OR o.opcdefault AND EXISTS (SELECT FROM pg_catalog.pg_opclass w
         WHERE w.opcmethod = o.opcmethod AND w.opcdefault AND w.opcintype = 'pg_catalog.int8'::regtype),
       coalesce(CASE WHEN (i.indoption::int2[])[k.n - 1] & 1 <> 0 THEN ' DESC' ELSE '' END
         || CASE WHEN (i.indoption::int2[])[k.n - 1] & 3 = 1 THEN ' NULLS LAST' WHEN (i.indoption::int2[])[k.n - 1] & 3 = 2 THEN ' NULLS FIRST' ELSE '' END, ''),
       ia.attoptions IS NOT NULL
FROM pg_catalog.pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (att, n)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att AND k.att <> 0
LEFT JOIN pg_catalog.pg_attribute ia ON ia.attrelid = i.indexrelid AND ia.attnum = k.n
LEFT JOIN pg_catalog.pg_opclass o ON k.n <= i.indnkeyatts AND o.oid = (i.indclass::oid[])[k.n - 1]
LEFT JOIN pg_catalog.pg_namespace opn ON opn.oid = o.opcnamespace
LEFT JOIN pg_catalog.pg_collation co ON k.n <= i.indnkeyatts AND co.oid = (i.indcollation::oid[])[k.n - 1] AND co.collname <> 'default'
LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
WHERE i.indexrelid = $1::bigint::oid ORDER BY k.n`, []any{i.oid}, func(rows *sql.Rows) error {
		var key bool
		var c indexColumn
		if err := rows.Scan(&key, &c.name, &c.text, &c.collation, &c.class, &c.widens, &c.order, &c.customized); err != nil {
			return err
		}
		if key {
			i.keys = append(i.keys, c)
		} else {
			i.included = append(i.included, c)
		}
		return nil
	})
}

func (i *index) columns() []indexColumn {
	return append(append([]indexColumn{}, i.keys...), i.included...)
}

// uses reports whether the index has a column of the table that is widened.
func (i *index) uses(t *table) bool {
	if i.expression(t) != "" {
		return true
	}
	for _, c := range i.columns() {
		if t.column(c.name) != nil {
			return true
		}
	}
	return false
}

// expression is a column that the index may use within an expression or its
// predicate. A word like it in a string counts too: it is better refused.
func (i *index) expression(t *table) string {
	text := i.predicate + joined(i.columns(), "", func(c indexColumn) string {
		if c.name != "" {
			return ""
		}
		return " " + c.text
	})
	for _, c := range t.columns {
		if regexp.MustCompile(`(^|[^\pL\pN_$])` + regexp.QuoteMeta(c.name) + `($|[^\pL\pN_$])`).MatchString(text) {
			return c.name
		}
	}
	return ""
}

// create makes the same index with other columns, or a unique one for a key.
func (i *index) create(t *table, name string, column func(*column) string) string {
	unique := ""
	if i.unique {
		unique = "UNIQUE "
	}
	text := fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s USING %s (%s)", unique, pgsql.Quote(name), t.target(), i.method,
		joined(i.keys, ", ", func(c indexColumn) string { return c.definition(t, column) }))
	if len(i.included) > 0 {
		text += " INCLUDE (" + joined(i.included, ", ", func(c indexColumn) string { return c.definition(t, column) }) + ")"
	}
	if !i.distinctNulls {
		text += " NULLS NOT DISTINCT"
	}
	if i.options != "" {
		text += " WITH (" + i.options + ")"
	}
	if i.space != "" {
		text += " TABLESPACE " + pgsql.Quote(i.space)
	}
	if i.predicate != "" {
		text += " WHERE " + i.predicate
	}
	return text
}

func (c indexColumn) definition(t *table, column func(*column) string) string {
	if w := t.column(c.name); w != nil {
		return pgsql.Quote(column(w)) + c.order
	}
	text := c.text
	if c.name == "" && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	}
	if c.collation != "" {
		text += " COLLATE " + c.collation
	}
	if c.class != "" {
		text += " " + c.class
	}
	return text + c.order
}

// build creates an index and first drops what an earlier try has left: it is
// invalid, and IF NOT EXISTS would take it.
func (i *index) build(t *table, name string, column func(*column) string) []string {
	return []string{
		"DROP INDEX CONCURRENTLY IF EXISTS " + pgsql.Qualified(t.schema, name),
		i.create(t, name, column),
	}
}
