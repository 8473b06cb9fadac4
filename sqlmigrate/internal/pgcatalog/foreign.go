package pgcatalog

import "context"

// A ForeignKey is one with its clauses.
type ForeignKey struct {
	OID                          int64
	Name                         string
	Child, Parent                int64 // OIDs of tables; the child's columns refer to the parent's
	Columns, Refers              []string
	Set                          []string // columns of SET NULL or SET DEFAULT; all if empty
	OnUpdate, OnDelete, Deferral string   // clauses; MATCH FULL is in OnUpdate
	Valid                        bool
	Comment                      *string
	Whole                        int64 // OID of the foreign key of a partitioned table on either side that has this one; or 0
}

// foreignKeysSQL asks for all that the definition of a foreign key says, because
// the same is added between other columns. confdelsetcols came with PostgreSQL 15.
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
WHERE c.contype = 'f' AND (c.conrelid = $1::bigint::oid AND c.conkey && $2::text::int2[]
                        OR c.confrelid = $1::bigint::oid AND c.confkey && $2::text::int2[])
ORDER BY c.conname, c.oid`

// ForeignKeys returns the foreign keys that have one of a table's columns on either
// side, by name.
func (r *Reader) ForeignKeys(ctx context.Context, table int64, columns []int64) []ForeignKey {
	return Read[ForeignKey](ctx, r, foreignKeysSQL, table, columns)
}
