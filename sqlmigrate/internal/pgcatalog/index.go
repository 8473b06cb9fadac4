package pgcatalog

import "context"

// An Index is one of a table, with its constraint.
type Index struct {
	OID                 int64
	Name                string
	Unique              bool
	Clustered, Identity bool   // the table is clustered on it, or its replica identity
	Options, Space      string // Space is the tablespace
	Comment             *string
	Constraint          string // its name; empty without one
	Kind                string // of the constraint: p, u or x
	Clause              string // what makes the constraint, but for options and tablespace
	ConstraintComment   *string
	Deferral            string // the end of that
	Parent              int64  // OID of the index of a partitioned table that has this one; 0 without one
}

// Primary reports whether the index is a primary key's.
func (i *Index) Primary() bool { return i.Kind == "p" }

// indexesSQL asks for the indexes that have one of the columns, be it within an expression
// or the predicate, and for properties that their definitions do not state.
const indexesSQL = `
SELECT i.indexrelid::bigint, c.relname, i.indisunique, i.indisclustered, i.indisreplident,
       coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(s.spcname, ''), obj_description(c.oid, 'pg_class'),
       coalesce(x.conname, ''), coalesce(x.contype::text, ''), coalesce(pg_get_constraintdef(x.oid), ''), obj_description(x.oid, 'pg_constraint'),
       CASE WHEN x.condeferred THEN ' DEFERRABLE INITIALLY DEFERRED' WHEN x.condeferrable THEN ' DEFERRABLE' ELSE '' END,
       coalesce((SELECT h.inhparent FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid), 0)::bigint
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
LEFT JOIN pg_catalog.pg_constraint x ON x.conindid = i.indexrelid AND x.conrelid = i.indrelid AND x.contype IN ('p', 'u', 'x')
WHERE i.indrelid = $1::bigint::oid AND (i.indkey::int2[] && $2::text::int2[]
  OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
             AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid = ANY ($2::text::int2[])))
ORDER BY c.relname`

// Indexes returns the indexes of a table that use the columns, by name.
func (q QualifiedReader) Indexes(ctx context.Context, table int64, columns []int64) []Index {
	return Read[Index](ctx, q.Reader, indexesSQL, table, columns)
}

// indexClausesSQL asks for definitions from USING on. The tablespace, which the server
// leaves out, has its place before the predicate.
const indexClausesSQL = `
SELECT c.relname, coalesce(left(d.clause, length(d.clause) - length(d.predicate)) || ' TABLESPACE ' || quote_ident(s.spcname) || d.predicate, d.clause)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
CROSS JOIN LATERAL (SELECT substr(text, strpos(text, ' USING ' || quote_ident(m.amname) || ' (')), coalesce(' WHERE ' || pg_get_expr(i.indpred, i.indrelid), '')
                    FROM pg_get_indexdef(i.indexrelid) AS text) AS d (clause, predicate)
WHERE i.indrelid = $1::bigint::oid`

// IndexClauses returns by name what makes the indexes of a table: what follows the table
// in CREATE INDEX.
func (q QualifiedReader) IndexClauses(ctx context.Context, table int64) map[string]string {
	return q.clauses(ctx, indexClausesSQL, table)
}
