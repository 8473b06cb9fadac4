package pgcatalog

import (
	"context"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A Use is an object that uses a column, for example a view or a trigger. PostgreSQL does
// not change the type of a column that such an object uses. An online move instead gives the
// name of the column to a new column, but the object would continue to use the old column.
type Use struct {
	Node    Node
	Column  string // the name of the column
	Catalog string // the catalog that lists the object, for example pg_trigger
	View    int64  // OID of the object if it is a view, otherwise 0
	Object  string // the server's description, for example trigger g on table t

	// Drop is a statement that drops the object. Create has the statements that create the
	// object again with the same text. The text has the names of columns, so if columns are
	// renamed after Drop and before Create, the new object uses the columns that have these
	// names then. Drop and Create are empty for a view, which package pgview recreates, and
	// for kinds of objects for which usesSQL has no statements.
	Drop   string
	Create []string
}

// Recreated reports whether an online move can drop the object and create it again in a
// moment. It returns true for a trigger, a policy and extended statistics.
func (u Use) Recreated() bool {
	return slices.Contains([]string{"pg_trigger", "pg_policy", "pg_statistic_ext"}, u.Catalog)
}

// Parts of a query for the objects that use the columns in the relation att, which has rows
// of pg_attribute. Each object is a row d of pg_depend.
const (
	// DescribeUse is an expression for the description of the object d, for example trigger
	// g on table t. In place of a rule _RETURN it describes the view, and in place of the
	// default of a generated column it describes the column.
	DescribeUse = `CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
                 WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
                 ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END`

	// JoinUses joins the objects d that depend on a column. A view depends on a column by its
	// rule _RETURN, and a generated column by its default.
	JoinUses = `      JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = att.attrelid AND d.refobjsubid = att.attnum
      LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
      LEFT JOIN pg_catalog.pg_trigger tg ON d.classid = 'pg_catalog.pg_trigger'::regclass AND tg.oid = d.objid
      LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
      LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum`

	// IsUse, which begins with AND, excludes objects that follow a column automatically.
	// These are constraints and statistics, indexes and sequences (whole relations, with
	// objsubid 0), defaults of columns that are not generated, and triggers that a partition
	// has from its parent. It reads tgparentid from JSON, because PostgreSQL 12 does not have
	// it.
	IsUse = `        AND d.classid NOT IN ('pg_catalog.pg_constraint'::regclass, 'pg_catalog.pg_statistic_ext'::regclass)
        AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND (d.objsubid = 0 OR (d.objid, d.objsubid) = (att.attrelid, att.attnum)))
        AND (ad.oid IS NULL OR a.attgenerated <> '' AND (ad.adrelid, ad.adnum) <> (att.attrelid, att.attnum))
        AND coalesce((to_jsonb(tg) ->> 'tgparentid')::oid, 0) = 0`
)

// usesSQL returns the objects that use the columns in the relation att, and also extended
// statistics on these columns, in the order of the fields of Use. The relation made has the
// statements that drop an object and create it again, by a query for each kind of object.
// The statements also restore the properties that the server's definition of an object
// leaves out, such as its comment, and whether a trigger is enabled. A statement whose text
// is NULL, for example because there is no comment, is not needed, and array_remove removes
// it. IsUse begins with AND, so a true stands before it.
const usesSQL = `
SELECT DISTINCT att.attrelid::bigint, att.attnum, att.attname, (SELECT relname FROM pg_catalog.pg_class WHERE oid = d.classid),
       coalesce((SELECT v.oid FROM pg_catalog.pg_class v WHERE v.oid = r.ev_class AND v.relkind IN ('v', 'm')), 0)::bigint,
       ` + DescribeUse + ` AS object, coalesce(made.drop, '') AS drop, made.creates::text
FROM att
` + JoinUses + `
LEFT JOIN pg_catalog.pg_policy p ON d.classid = 'pg_catalog.pg_policy'::regclass AND p.oid = d.objid
LEFT JOIN pg_catalog.pg_statistic_ext s ON d.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = d.objid
LEFT JOIN pg_catalog.pg_namespace sn ON sn.oid = s.stxnamespace
LEFT JOIN LATERAL (
  SELECT format('DROP RULE %I ON %s', r.rulename, r.ev_class::regclass), json_build_array(pg_get_ruledef(r.oid)) WHERE r.rulename <> '_RETURN'
  UNION ALL
  SELECT format('ALTER TABLE %s DROP COLUMN %I', ad.adrelid::regclass, a.attname), json_build_array(
    format('ALTER TABLE %s ADD COLUMN %I %s GENERATED ALWAYS AS (%s) %s', ad.adrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
           pg_get_expr(ad.adbin, ad.adrelid), CASE a.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END)) WHERE ad.oid IS NOT NULL
  UNION ALL
  SELECT format('DROP ROUTINE %s', d.objid::regprocedure), json_build_array(pg_get_functiondef(d.objid)) WHERE d.classid = 'pg_catalog.pg_proc'::regclass
  UNION ALL
  SELECT format('DROP TRIGGER %I ON %s', tg.tgname, tg.tgrelid::regclass), to_json(array_remove(ARRAY[
    pg_get_triggerdef(tg.oid),
    format('ALTER TABLE %s ' || CASE tg.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' END || ' TRIGGER %I', tg.tgrelid::regclass, tg.tgname),
    'COMMENT ON ' || format('TRIGGER %I ON %s IS ', tg.tgname, tg.tgrelid::regclass) || quote_literal(obj_description(tg.oid, 'pg_trigger'))
  ], NULL)) WHERE tg.oid IS NOT NULL
  UNION ALL
  SELECT format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass), to_json(array_remove(ARRAY[
    format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', p.polname, p.polrelid::regclass, CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
           CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
           (SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END, ', ') FROM unnest(p.polroles) AS role))
      || coalesce(' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', '') || coalesce(' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', ''),
    'COMMENT ON ' || format('POLICY %I ON %s IS ', p.polname, p.polrelid::regclass) || quote_literal(obj_description(p.oid, 'pg_policy'))
  ], NULL)) WHERE p.oid IS NOT NULL
  UNION ALL
  SELECT format('DROP STATISTICS %I.%I', sn.nspname, s.stxname), to_json(array_remove(ARRAY[
    pg_get_statisticsobjdef(s.oid),
    format('ALTER STATISTICS %I.%I OWNER TO %I', sn.nspname, s.stxname, pg_get_userbyid(s.stxowner)),
    format('ALTER STATISTICS %I.%I SET STATISTICS ', sn.nspname, s.stxname) || nullif(to_jsonb(s) ->> 'stxstattarget', '-1'),
    'COMMENT ON ' || format('STATISTICS %I.%I IS ', sn.nspname, s.stxname) || quote_literal(obj_description(s.oid, 'pg_statistic_ext'))
  ], NULL)) WHERE s.oid IS NOT NULL
) AS made (drop, creates) ON true
WHERE (s.oid IS NOT NULL OR true
` + IsUse + `) AND ` + DescribeUse + ` IS NOT NULL -- not dropped since the query began
ORDER BY 1, 2, 4, 6`

// Uses returns the uses of the columns, sorted by table and column.
func (r *Reader) Uses(ctx context.Context, nodes []Node) []Use {
	return Read[Use](ctx, r, `
WITH att AS (
  SELECT a.* FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att) JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att
)`+usesSQL, nodes)
}

// RecreatedQuery returns a query for the statements that drop and create the objects that
// use the columns and are [Use.Recreated]. The result of the query changes if such an object
// is changed, added or dropped. columns is a list of names of columns as literals. The query
// finds the columns by name. If an online move gives the names to new columns and creates the
// objects again, the result is therefore the same as before.
func RecreatedQuery(t *Relation, columns string) string {
	return `WITH att AS (
  SELECT * FROM pg_catalog.pg_attribute WHERE attrelid = ` + pgsql.Literal(t.Target()) + `::regclass AND attname IN (` + columns + `)
), found (rel, number, name, catalog, view, object, drop, creates) AS (` + usesSQL + `)
SELECT DISTINCT drop, creates FROM found WHERE catalog IN ('pg_trigger', 'pg_policy', 'pg_statistic_ext')`
}

// Users returns the server's descriptions of all objects that depend on the columns. An
// online move calls Users when it makes its plan. When it replaces the columns, it reads the
// descriptions again, and compares both lists to find objects that were created in the
// meantime.
func (q QualifiedReader) Users(ctx context.Context, table int64, columns []int64) []string {
	return Read[string](ctx, q.Reader, `
SELECT DISTINCT coalesce(pg_describe_object(classid, objid, objsubid), '') FROM pg_catalog.pg_depend
WHERE refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = $1::bigint::oid AND refobjsubid = ANY ($2::text::int2[]) ORDER BY 1`,
		table, columns)
}
