package pgcatalog

import (
	"context"
	"slices"
)

// An Index is one of a table, with its constraint.
type Index struct {
	OID                 int64
	Name, Method        string
	Unique              bool
	DistinctNulls       bool
	Clustered, Identity bool // the table is clustered on it, or its replica identity
	Predicate           string
	Options, Space      string // Space is the tablespace
	Comment             *string
	Constraint          string // its name; empty without one
	Kind                string // of the constraint: p, u or x
	ConstraintComment   *string
	Deferral            string // clause of the constraint
	Parent              int64  // OID of the index of a partitioned table that has this one; 0 without one

	Keys, Included []IndexColumn
}

// Primary reports whether the index is a primary key's.
func (i *Index) Primary() bool { return i.Kind == "p" }

// Columns are all columns of the index.
func (i *Index) Columns() []IndexColumn { return slices.Concat(i.Keys, i.Included) }

// An IndexColumn is a column of an index, or an expression.
type IndexColumn struct {
	Name       string // empty for an expression
	Text       string
	Collation  string // qualified; empty without one
	Class      string // operator class, qualified; empty if it is the type's default
	Widens     bool   // the class has a counterpart for bigint that is the default
	Order      string // clause
	Customized bool   // the class has options
}

// indexesSQL asks for all that CREATE INDEX and ADD CONSTRAINT need to make the same
// indexes with other columns, and for properties that these cannot state. It asks for
// columns one by one, because it would take a parser to replace one in the definition
// of an index.
const indexesSQL = `
SELECT i.indexrelid::bigint, c.relname, m.amname, i.indisunique, NOT coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false),
       i.indisclustered, i.indisreplident, coalesce(pg_get_expr(i.indpred, i.indrelid), ''),
       coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(s.spcname, ''), obj_description(c.oid, 'pg_class'),
       coalesce(x.conname, ''), coalesce(x.contype::text, ''), obj_description(x.oid, 'pg_constraint'),
       CASE WHEN x.condeferred THEN ' DEFERRABLE INITIALLY DEFERRED' WHEN x.condeferrable THEN ' DEFERRABLE' ELSE '' END,
       coalesce((SELECT h.inhparent FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid), 0)::bigint,
       columns.keys::text, columns.included::text
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
LEFT JOIN pg_catalog.pg_constraint x ON x.conindid = i.indexrelid AND x.conrelid = i.indrelid AND x.contype IN ('p', 'u', 'x')
CROSS JOIN LATERAL (
  SELECT json_agg(k ORDER BY n) FILTER (WHERE n <= i.indnkeyatts) AS keys, json_agg(k ORDER BY n) FILTER (WHERE n > i.indnkeyatts) AS included
  FROM (
    SELECT k.n, coalesce(a.attname, '') AS "Name", pg_get_indexdef(i.indexrelid, k.n::integer, false) AS "Text",
           coalesce(quote_ident(cn.nspname) || '.' || quote_ident(co.collname), '') AS "Collation",
           CASE WHEN NOT o.opcdefault THEN quote_ident(opn.nspname) || '.' || quote_ident(o.opcname) ELSE '' END AS "Class",
           k.n > i.indnkeyatts OR o.opcdefault AND EXISTS (SELECT FROM pg_catalog.pg_opclass w
             WHERE w.opcmethod = o.opcmethod AND w.opcdefault AND w.opcintype = 'pg_catalog.int8'::regtype) AS "Widens",
           coalesce(CASE WHEN (i.indoption::int2[])[k.n - 1] & 1 <> 0 THEN ' DESC' ELSE '' END
             || CASE (i.indoption::int2[])[k.n - 1] & 3 WHEN 1 THEN ' NULLS LAST' WHEN 2 THEN ' NULLS FIRST' ELSE '' END, '') AS "Order",
           ia.attoptions IS NOT NULL AS "Customized"
    FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (att, n)
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att AND k.att <> 0
    LEFT JOIN pg_catalog.pg_attribute ia ON ia.attrelid = i.indexrelid AND ia.attnum = k.n
    LEFT JOIN pg_catalog.pg_opclass o ON k.n <= i.indnkeyatts AND o.oid = (i.indclass::oid[])[k.n - 1]
    LEFT JOIN pg_catalog.pg_namespace opn ON opn.oid = o.opcnamespace
    LEFT JOIN pg_catalog.pg_collation co ON k.n <= i.indnkeyatts AND co.oid = (i.indcollation::oid[])[k.n - 1] AND co.collname <> 'default'
    LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
  ) AS k
) AS columns
WHERE i.indrelid = $1::bigint::oid ORDER BY c.relname`

// Indexes returns all indexes of a table, by name.
func (q QualifiedReader) Indexes(ctx context.Context, table int64) []Index {
	return Read[Index](ctx, q.Reader, indexesSQL, table)
}
