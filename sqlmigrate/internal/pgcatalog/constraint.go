package pgcatalog

import "context"

// A Check is a CHECK constraint of a table.
type Check struct {
	OID     int64
	Name    string
	Valid   bool
	Comment *string
}

// checksSQL returns the CHECKs (contype 'c') of the table $1 that use any of the columns
// $2. conkey has the numbers of the columns of a CHECK. The query excludes CHECKs that a
// partition only has from its parent (coninhcount > 0), and the CHECK gormflake_… that an
// online move adds until the new columns replace the old. OPERATOR names the schema of the
// operator && (overlap), because an extension such as intarray may define another operator
// of this name for arrays.
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

// A ForeignKey is a foreign key with its clauses.
type ForeignKey struct {
	OID                          int64
	Name                         string
	Child, Parent                int64    // OIDs of the tables; the columns of Child refer to Parent
	Columns, ParentColumns       []string // the columns of Child, and the columns of Parent in the same order
	SetColumns                   []string // columns of SET NULL or SET DEFAULT; if empty, all
	OnUpdate, OnDelete, Deferral string   // clauses; OnUpdate begins with MATCH FULL if necessary
	Valid                        bool
	Comment                      *string
	Whole                        int64 // OID of the foreign key of a partitioned table, on either side, from which it comes; or 0
}

// foreignKeysSQL returns the foreign keys (contype 'f') in which any of the columns $2 of
// the table $1 is on either side. It returns all parts of their definitions, because an
// online move adds the same foreign keys on other columns. conkey and confkey have the
// numbers of the columns on both sides. The letters of actions are r for RESTRICT, c for
// CASCADE, n for SET NULL, d for SET DEFAULT, and a for no action, which needs no clause.
// The query reads confdelsetcols from JSON, because the column does not exist before
// PostgreSQL 15.
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
