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

// dependentsSQL asks for objects that would go on using a column after another one
// has taken its name. Defaults, sequences, indexes and constraints are left out: the
// swap moves them; and views, and what [QualifiedReader.Recreated] returns.
const dependentsSQL = `
SELECT DISTINCT d.classid::regclass::text, a.attname,
       CASE WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_attribute g ON g.attrelid = ad.adrelid AND g.attnum = ad.adnum
LEFT JOIN pg_catalog.pg_constraint c ON d.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = d.objid
LEFT JOIN pg_catalog.pg_class o ON d.classid = 'pg_catalog.pg_class'::regclass AND o.oid = d.objid AND d.objsubid = 0
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid AND d.refobjsubid = ANY ($2::text::int2[])
  AND d.classid NOT IN ('pg_catalog.pg_trigger'::regclass, 'pg_catalog.pg_policy'::regclass, 'pg_catalog.pg_statistic_ext'::regclass)
  AND coalesce(r.rulename <> '_RETURN', true)
  AND coalesce(c.contype NOT IN ('p', 'u', 'f', 'x', 'c'), true)
  AND coalesce(o.relkind NOT IN ('i', 'I', 'S'), true)
  AND (ad.oid IS NULL OR (ad.adrelid, ad.adnum) <> (d.refobjid, d.refobjsubid) OR g.attgenerated <> '')
  AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = d.refobjid AND d.objsubid = d.refobjsubid)
ORDER BY 1, 3, 2`

// Dependents returns the objects that would stay on the columns if others took their
// names.
func (q QualifiedReader) Dependents(ctx context.Context, table int64, columns []int64) []Dependent {
	return Read[Dependent](ctx, q.Reader, dependentsSQL, table, columns)
}

// Views returns the views that use the columns themselves.
func (q QualifiedReader) Views(ctx context.Context, table int64, columns []int64) []int64 {
	return Read[int64](ctx, q.Reader, `
SELECT DISTINCT r.ev_class::bigint FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid AND r.rulename = '_RETURN'
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid AND d.refobjsubid = ANY ($2::text::int2[]) ORDER BY 1`,
		table, columns)
}

// Users describes all objects that use the columns. A statement that asks for the
// same later finds what has been added.
func (q QualifiedReader) Users(ctx context.Context, table int64, columns []int64) []string {
	return Read[string](ctx, q.Reader, `
SELECT DISTINCT coalesce(pg_describe_object(classid, objid, objsubid), '') FROM pg_catalog.pg_depend
WHERE refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = $1::bigint::oid AND refobjsubid = ANY ($2::text::int2[]) ORDER BY 1`,
		table, columns)
}
