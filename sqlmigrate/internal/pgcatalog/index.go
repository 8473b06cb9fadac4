package pgcatalog

import "context"

// An Index is an index of a table, with the constraint to which it belongs.
type Index struct {
	OID                 int64
	Name                string
	Unique              bool
	Clustered, Identity bool   // whether the table is clustered on it, and whether it is the replica identity
	Options, Space      string // storage parameters, and the tablespace
	Comment             *string
	Constraint          string // the name of its constraint; empty if it has none
	Kind                string // contype of the constraint, which is p for a primary key, u for UNIQUE, x for EXCLUDE; empty if it has none
	Clause              string // definition of the constraint, without storage parameters and tablespace
	ConstraintComment   *string
	Deferral            string // the DEFERRABLE clause at the end of Clause
	Parent              int64  // OID of the partitioned table's index to which it is attached, or 0
}

// Primary reports whether the index belongs to a primary key.
func (i *Index) Primary() bool { return i.Kind == "p" }

// indexesSQL returns the indexes of the table $1 that use any of the columns $2, with
// properties that the definitions leave out. indkey has the columns of an index. Columns in
// an expression or the predicate are only recorded in pg_depend. The constraint is a
// primary key, UNIQUE or EXCLUDE (contype 'p', 'u', 'x'). An index that is attached to an
// index of a partitioned table has it as its parent in pg_inherits.
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
WHERE i.indrelid = $1::bigint::oid AND (i.indkey::int2[] OPERATOR(pg_catalog.&&) $2::text::int2[]
  OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
             AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid = ANY ($2::text::int2[])))
ORDER BY c.relname`

// Indexes returns the indexes of a table that use the columns, sorted by name.
func (q QualifiedReader) Indexes(ctx context.Context, table int64, columns []int64) []Index {
	return Read[Index](ctx, q.Reader, indexesSQL, table, columns)
}

// indexClausesSQL returns the definitions of indexes from USING on, for example USING btree
// (id) TABLESPACE fast WHERE (id > 10). It inserts the tablespace before the predicate,
// because pg_get_indexdef leaves the tablespace out.
const indexClausesSQL = `
SELECT c.relname, coalesce(left(d.clause, length(d.clause) - length(d.predicate)) || ' TABLESPACE ' || quote_ident(s.spcname) || d.predicate, d.clause)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
CROSS JOIN LATERAL (SELECT substr(text, strpos(text, ' USING ' || quote_ident(m.amname) || ' (')), coalesce(' WHERE ' || pg_get_expr(i.indpred, i.indrelid), '')
                    FROM pg_get_indexdef(i.indexrelid) AS text) AS d (clause, predicate)
WHERE i.indrelid = $1::bigint::oid`

// IndexClauses returns the definitions of a table's indexes by name. A definition is the
// text that follows the table in CREATE INDEX.
func (q QualifiedReader) IndexClauses(ctx context.Context, table int64) map[string]string {
	return q.clauses(ctx, indexClausesSQL, table)
}
