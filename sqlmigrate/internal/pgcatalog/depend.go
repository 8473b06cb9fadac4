package pgcatalog

import (
	"context"
	"database/sql"
)

// A Dependent is an object that uses a column.
type Dependent struct {
	Catalog, Column string
	Object          sql.NullString // NULL if it was dropped since the query began
}

// dependentsSQL asks for what uses columns and does not follow another column that
// takes their place: anything but a default, a sequence, an index and the
// constraints that are made of these.
const dependentsSQL = `
SELECT DISTINCT d.classid::regclass::text, a.attname,
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_attribute g ON g.attrelid = ad.adrelid AND g.attnum = ad.adnum
LEFT JOIN pg_catalog.pg_constraint c ON d.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = d.objid
LEFT JOIN pg_catalog.pg_class o ON d.classid = 'pg_catalog.pg_class'::regclass AND o.oid = d.objid AND d.objsubid = 0
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid AND d.refobjsubid = ANY ($2::text::int2[])
  AND coalesce(c.contype NOT IN ('p', 'u', 'f', 'x') AND c.conname NOT LIKE 'gormflake\_%', true)
  AND coalesce(o.relkind NOT IN ('i', 'I', 'S'), true)
  AND (ad.oid IS NULL OR (ad.adrelid, ad.adnum) <> (d.refobjid, d.refobjsubid) OR g.attgenerated <> '')
  AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = d.refobjid AND d.objsubid = d.refobjsubid)
ORDER BY 1, 3, 2`

// Dependents are what uses columns and would stay on them if others took their
// place.
func (q QualifiedReader) Dependents(ctx context.Context, table int64, columns []int64) ([]Dependent, error) {
	return Read[Dependent](ctx, q.Reader, dependentsSQL, table, Array(columns))
}

// Users describes all that uses columns. A statement that asks again, later, knows
// what has come.
func (q QualifiedReader) Users(ctx context.Context, table int64, columns []int64) ([]string, error) {
	var found Texts
	err := q.row(ctx, `
SELECT json_agg(DISTINCT pg_describe_object(classid, objid, objsubid))::text FROM pg_catalog.pg_depend
WHERE refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = $1::bigint::oid AND refobjsubid = ANY ($2::text::int2[])`,
		[]any{table, Array(columns)}, &found)
	return found, err
}
