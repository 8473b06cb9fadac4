package pgcatalog

import (
	"context"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A Recreated object uses columns by their numbers. Dropped, and created again with the
// same text, it uses those that have their names then.
type Recreated struct {
	Drop   string
	Create []string
}

// recreatedSQL asks for triggers, policies and statistics that use columns, as statements,
// with what CREATE does not state.
const recreatedSQL = `
WITH used AS (
  SELECT DISTINCT classid, objid FROM pg_catalog.pg_depend
  WHERE refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = $1::bigint::oid AND refobjsubid = ANY ($2::text::int2[])
)
SELECT format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), to_json(array_remove(ARRAY[
  pg_get_triggerdef(t.oid),
  format('ALTER TABLE %s ' || CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' END || ' TRIGGER %I', t.tgrelid::regclass, t.tgname),
  'COMMENT ON ' || format('TRIGGER %I ON %s IS ', t.tgname, t.tgrelid::regclass) || quote_literal(obj_description(t.oid, 'pg_trigger'))
], NULL))::text
FROM used JOIN pg_catalog.pg_trigger t ON classid = 'pg_catalog.pg_trigger'::regclass AND objid = t.oid
UNION ALL
SELECT format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass), to_json(array_remove(ARRAY[
  format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', p.polname, p.polrelid::regclass, CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
         CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
         coalesce((SELECT string_agg(quote_ident(r.rolname), ', ' ORDER BY r.rolname) FROM pg_catalog.pg_roles r WHERE r.oid = ANY (p.polroles)), 'PUBLIC'))
    || coalesce(' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', '') || coalesce(' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', ''),
  'COMMENT ON ' || format('POLICY %I ON %s IS ', p.polname, p.polrelid::regclass) || quote_literal(obj_description(p.oid, 'pg_policy'))
], NULL))::text
FROM used JOIN pg_catalog.pg_policy p ON classid = 'pg_catalog.pg_policy'::regclass AND objid = p.oid
UNION ALL
SELECT format('DROP STATISTICS %I.%I', n.nspname, s.stxname), to_json(array_remove(ARRAY[
  pg_get_statisticsobjdef(s.oid),
  format('ALTER STATISTICS %I.%I OWNER TO %I', n.nspname, s.stxname, pg_get_userbyid(s.stxowner)),
  format('ALTER STATISTICS %I.%I SET STATISTICS ', n.nspname, s.stxname) || nullif(to_jsonb(s) ->> 'stxstattarget', '-1'),
  'COMMENT ON ' || format('STATISTICS %I.%I IS ', n.nspname, s.stxname) || quote_literal(obj_description(s.oid, 'pg_statistic_ext'))
], NULL))::text
FROM used JOIN pg_catalog.pg_statistic_ext s ON classid = 'pg_catalog.pg_statistic_ext'::regclass AND objid = s.oid JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
ORDER BY 1`

// RecreatedQuery is the query of [QualifiedReader.Recreated] with names in the place of
// numbers: it finds the same after other columns have taken the names.
func RecreatedQuery(t *Relation, columns []string) string {
	table := pgsql.Literal(t.Target()) + "::regclass"
	return strings.NewReplacer("$1::bigint::oid", table, "$2::text::int2[]",
		"ARRAY(SELECT attnum FROM pg_catalog.pg_attribute WHERE attrelid = "+table+" AND attname IN ("+pgsql.Join(columns, ", ", pgsql.Literal)+"))").
		Replace(recreatedSQL)
}

// Recreated returns what a table's columns are used by that can be dropped and created
// again in a moment.
func (q QualifiedReader) Recreated(ctx context.Context, table int64, columns []int64) []Recreated {
	return Read[Recreated](ctx, q.Reader, recreatedSQL, table, columns)
}
