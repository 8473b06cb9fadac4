package pgcatalog

import "context"

// A Check is a CHECK constraint of a table.
type Check struct {
	OID     int64
	Name    string
	Valid   bool
	Comment *string
}

// checksSQL returns the CHECKs that use the columns. It excludes CHECKs that a partition
// only has from its parent, and the CHECK that a move adds until the swap.
const checksSQL = `
SELECT oid::bigint, conname, convalidated, obj_description(oid, 'pg_constraint')
FROM pg_catalog.pg_constraint
WHERE conrelid = $1::bigint::oid AND contype = 'c' AND coninhcount = 0 AND conkey OPERATOR(pg_catalog.&&) $2::text::int2[] AND conname NOT LIKE 'gormflake\_%' ORDER BY conname`

// Checks returns the CHECKs of a table that use the columns, sorted by name.
func (q QualifiedReader) Checks(ctx context.Context, table int64, columns []int64) []Check {
	return Read[Check](ctx, q.Reader, checksSQL, table, columns)
}

// CheckClauses returns the definitions of a table's CHECKs by name. A definition is the
// text after ADD CONSTRAINT and the name.
func (q QualifiedReader) CheckClauses(ctx context.Context, table int64) map[string]string {
	return q.clauses(ctx, "SELECT conname, pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint WHERE conrelid = $1::bigint::oid AND contype = 'c'", table)
}

// clauses returns the texts of a query for pairs of name and text.
func (q QualifiedReader) clauses(ctx context.Context, query string, table int64) map[string]string {
	clauses := map[string]string{}
	for _, c := range Read[struct{ Name, Clause string }](ctx, q.Reader, query, table) {
		clauses[c.Name] = c.Clause
	}
	return clauses
}

// An Index is an index of a table with its constraint.
type Index struct {
	OID                 int64
	Name                string
	Unique              bool
	Clustered, Identity bool   // whether the table is clustered on it, and whether it is the replica identity
	Options, Space      string // storage parameters, and the tablespace
	Comment             *string
	Constraint          string // the name of its constraint; empty if it has none
	Kind                string // kind of the constraint, which is p, u or x
	Clause              string // definition of the constraint, without storage parameters and tablespace
	ConstraintComment   *string
	Deferral            string // the DEFERRABLE clause at the end of Clause
	Parent              int64  // OID of the partitioned table's index to which it is attached, or 0
}

// Primary reports whether the index belongs to a primary key.
func (i *Index) Primary() bool { return i.Kind == "p" }

// indexesSQL returns the indexes that use any of the columns, also in an expression or
// the predicate (which only pg_depend shows), with properties that the definitions leave
// out.
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

// indexClausesSQL returns the definitions of indexes from USING on. It inserts the
// tablespace before the predicate, because pg_get_indexdef leaves it out.
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

// A ForeignKey is a foreign key with its clauses.
type ForeignKey struct {
	OID                          int64
	Name                         string
	Child, Parent                int64 // OIDs of the tables; the columns of Child refer to Parent
	Columns, Refers              []string
	Set                          []string // columns of SET NULL or SET DEFAULT; if empty, all
	OnUpdate, OnDelete, Deferral string   // clauses; OnUpdate begins with MATCH FULL if necessary
	Valid                        bool
	Comment                      *string
	Whole                        int64 // OID of the foreign key of a partitioned table, on either side, from which it comes; or 0
}

// foreignKeysSQL returns all parts of the definitions of foreign keys, because the same
// foreign keys are added on other columns. It reads confdelsetcols from JSON, because the
// column does not exist before PostgreSQL 15.
const foreignKeysSQL = `
SELECT c.oid::bigint, c.conname, c.conrelid::bigint, c.confrelid::bigint,
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.conkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att),
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.confkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att),
       (SELECT json_agg(a.attname)::text
        FROM jsonb_array_elements_text(CASE jsonb_typeof(to_jsonb(c) -> 'confdelsetcols')
          WHEN 'array' THEN to_jsonb(c) -> 'confdelsetcols' ELSE '[]' END) AS k (att)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att::integer),
       CASE c.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END
         || CASE c.confupdtype WHEN 'r' THEN ' ON UPDATE RESTRICT' WHEN 'c' THEN ' ON UPDATE CASCADE'
                               WHEN 'n' THEN ' ON UPDATE SET NULL' WHEN 'd' THEN ' ON UPDATE SET DEFAULT' ELSE '' END,
       CASE c.confdeltype WHEN 'r' THEN ' ON DELETE RESTRICT' WHEN 'c' THEN ' ON DELETE CASCADE'
                          WHEN 'n' THEN ' ON DELETE SET NULL' WHEN 'd' THEN ' ON DELETE SET DEFAULT' ELSE '' END,
       CASE WHEN c.condeferred THEN ' DEFERRABLE INITIALLY DEFERRED' WHEN c.condeferrable THEN ' DEFERRABLE' ELSE '' END,
       c.convalidated, obj_description(c.oid, 'pg_constraint'), c.conparentid::bigint
FROM pg_catalog.pg_constraint c
WHERE c.contype = 'f' AND (c.conrelid = $1::bigint::oid AND c.conkey OPERATOR(pg_catalog.&&) $2::text::int2[]
                        OR c.confrelid = $1::bigint::oid AND c.confkey OPERATOR(pg_catalog.&&) $2::text::int2[])
ORDER BY c.conname, c.oid`

// ForeignKeys returns the foreign keys that use any of the columns of the table on either
// side, sorted by name.
func (r *Reader) ForeignKeys(ctx context.Context, table int64, columns []int64) []ForeignKey {
	return Read[ForeignKey](ctx, r, foreignKeysSQL, table, columns)
}
