package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A view is dropped before a column changes its type, and created again.
type view struct {
	OID int64
	pgcatalog.Named
	Owner        string
	Materialized bool
	Definition   string
	Options      []string // name=value
	Populated    bool
	Tablespace   string
	Method       string
	Comment      *string
	Columns      []viewColumn
	Rules        []commented
	Triggers     []commented
	Uses         []int64 // views
	Blocked      []string

	columns []*column `row:"-"` // that it uses, itself or by other views
	indexes []string  `row:"-"` // statements that create them
	rights  []string  `row:"-"`
}

func (v *view) kind() string {
	if v.Materialized {
		return "MATERIALIZED VIEW"
	}
	return "VIEW"
}

type viewColumn struct {
	Name             string
	Comment, Default *string
	Target           int
	Options          []string
	Storage          string // unless it is the type's
}

// A commented object belongs to a view.
type commented struct {
	Name, Definition string
	Comment          *string
}

// viewsSQL asks for views and those above them, which go first, with all that
// makes them what they are. Whatever else uses one blocks, and so does a
// right that only another role can grant again.
const viewsSQL = `
WITH RECURSIVE view (oid) AS (
  SELECT oid FROM unnest($1::text::oid[]) AS oid
  UNION
  SELECT r.ev_class
  FROM view
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = view.oid
  JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
  JOIN pg_catalog.pg_class c ON c.oid = r.ev_class AND c.relkind IN ('v', 'm')
)
SELECT c.oid::bigint, n.nspname, c.relname, pg_get_userbyid(c.relowner), c.relkind = 'm', pg_get_viewdef(c.oid), to_json(c.reloptions)::text, c.relispopulated,
  coalesce((SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace), ''),
  coalesce((SELECT amname FROM pg_catalog.pg_am am WHERE am.oid = c.relam), ''), obj_description(c.oid, 'pg_class'),
  (SELECT json_agg(json_build_object('Name', a.attname, 'Comment', col_description(c.oid, a.attnum),
       'Default', pg_get_expr(ad.adbin, ad.adrelid), 'Target', coalesce(a.attstattarget, -1), 'Options', (SELECT json_agg(o) FROM unnest(a.attoptions) AS o WHERE o ~ '^n_distinct' AND c.relkind = 'm'),
       'Storage', CASE WHEN c.relkind = 'm' AND a.attstorage <> t.typstorage
                       THEN CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END ELSE '' END) ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
     LEFT JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text,
  (SELECT json_agg(json_build_object('Name', r.rulename, 'Definition', pg_get_ruledef(r.oid), 'Comment', obj_description(r.oid, 'pg_rewrite')) ORDER BY r.rulename)
     FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.rulename <> '_RETURN')::text,
  (SELECT json_agg(json_build_object('Name', g.tgname, 'Definition', pg_get_triggerdef(g.oid), 'Comment', obj_description(g.oid, 'pg_trigger')) ORDER BY g.tgname)
     FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal)::text,
  (SELECT jsonb_agg(DISTINCT d.refobjid::bigint)
     FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
     WHERE r.ev_class = c.oid AND r.rulename = '_RETURN' AND d.refclassid = 'pg_catalog.pg_class'::regclass
       AND d.refobjid <> c.oid AND d.refobjid IN (SELECT oid FROM view))::text,
  (SELECT jsonb_agg(DISTINCT b.text) FROM (
     SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ' uses it'
     FROM pg_catalog.pg_depend d
     LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
     LEFT JOIN pg_catalog.pg_trigger g ON d.classid = 'pg_catalog.pg_trigger'::regclass AND g.oid = d.objid
     LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
     LEFT JOIN pg_catalog.pg_index i ON d.classid = 'pg_catalog.pg_class'::regclass AND i.indexrelid = d.objid
     LEFT JOIN pg_catalog.pg_statistic_ext s ON d.classid = 'pg_catalog.pg_statistic_ext'::regclass AND s.oid = d.objid
     LEFT JOIN pg_catalog.pg_type own ON d.classid = 'pg_catalog.pg_type'::regclass AND own.oid = d.objid
     WHERE (d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid
            OR d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid IN (c.reltype, (SELECT typarray FROM pg_catalog.pg_type WHERE oid = c.reltype)))
       AND coalesce(r.ev_class, g.tgrelid, ad.adrelid, i.indrelid, s.stxrelid, own.typrelid, 0) <> c.oid
       AND coalesce(r.ev_class NOT IN (SELECT oid FROM view), true)
       AND NOT (d.classid = 'pg_catalog.pg_type'::regclass AND d.objid = (SELECT typarray FROM pg_catalog.pg_type WHERE oid = c.reltype))
       AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND d.objid IN (c.oid, c.reltoastrelid))
     UNION ALL
     SELECT 'it belongs to ' || pg_describe_object(d.refclassid, d.refobjid, 0)
     FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
     UNION ALL
     SELECT 'its security label of provider ' || l.provider || ' would be lost'
     FROM pg_catalog.pg_seclabel l WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = c.oid
     UNION ALL
     SELECT 'rights on it were granted by ' || pg_get_userbyid(a.grantor) || ', who would have to do it again'
     FROM (SELECT c.relacl UNION ALL SELECT attacl FROM pg_catalog.pg_attribute WHERE attrelid = c.oid) AS acl (acl), aclexplode(acl.acl) AS a
     WHERE a.grantor <> c.relowner
   ) AS b (text))::text
FROM view
JOIN pg_catalog.pg_class c ON c.oid = view.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid`

// readViews reads the views that use narrow columns, in the order in which they
// are created, and finds those that cannot be.
func readViews(ctx context.Context, q pgcatalog.QualifiedReader, g *graph, uses []use) ([]*view, engine.Findings) {
	if len(uses) == 0 {
		return nil, engine.Findings{}
	}
	oids := make([]int64, len(uses))
	for i, u := range uses {
		oids[i] = u.View
	}
	var views []*view
	var found engine.Findings
	byOID := map[int64]*view{}
	for _, v := range pgcatalog.Read[view](ctx, q.Reader, viewsSQL, oids) {
		v.Display = q.Display(v.Schema, v.Name)
		views, byOID[v.OID] = append(views, &v), &v
	}
	for _, u := range uses {
		if v := byOID[u.View]; v != nil {
			v.columns = append(v.columns, g.columns[u.Node])
		}
	}
	for _, v := range views {
		found.Add(v.block())
	}
	readViewParts[index](ctx, q, byOID, viewIndexesSQL)
	readViewParts[keptStatistics](ctx, q, byOID, viewStatisticsSQL)
	readViewRights(ctx, q, byOID)
	return usedFirst(views, byOID), found
}

// usedFirst puts a view after those that it uses, and gives it their columns.
func usedFirst(views []*view, byOID map[int64]*view) []*view {
	sorted := pgcatalog.ParentsFirst(views, func(v *view) (used []*view) {
		for _, oid := range v.Uses {
			used = append(used, byOID[oid])
		}
		return used
	})
	for _, v := range sorted {
		for _, oid := range v.Uses {
			v.columns = append(v.columns, byOID[oid].columns...)
		}
	}
	return sorted
}

// block is for views that cannot be recreated. At this point the columns are those
// that the view uses itself.
func (v *view) block() engine.Findings {
	var found engine.Findings
	table, object := "", "view "+v.Display
	for _, c := range v.columns {
		table = c.relation.Display
	}
	for _, reason := range v.Blocked {
		found.Block(table, object, "it has to be dropped, and "+reason, "drop what is in the way before, and create it again afterwards")
	}
	return found
}

// viewIndexesSQL asks for the indexes of materialized views, which go with them,
// as statements and with what these leave out.
const viewIndexesSQL = `
SELECT i.indrelid::bigint, pg_get_indexdef(c.oid), ` + indexColumns + `
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
WHERE i.indrelid = ANY ($1::text::oid[])
ORDER BY c.oid`

// viewStatisticsSQL asks the same about extended statistics.
const viewStatisticsSQL = `
SELECT s.stxrelid::bigint, pg_get_statisticsobjdef(s.oid), n.nspname, s.stxname, pg_get_userbyid(s.stxowner), false, '', '',
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext')
FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
WHERE s.stxrelid = ANY ($1::text::oid[])
ORDER BY s.oid`

// readViewParts reads what goes with views, and the statements that make it what it was.
func readViewParts[T any, P interface {
	*T
	keep() []string
}](ctx context.Context, q pgcatalog.QualifiedReader, views map[int64]*view, query string) {
	for _, x := range pgcatalog.Read[struct {
		View       int64
		Definition string
		Part       T
	}](ctx, q.Reader, query, slices.Sorted(maps.Keys(views))) {
		v := views[x.View]
		v.indexes = slices.Concat(v.indexes, []string{x.Definition}, P(&x.Part).keep())
	}
}

// viewRightsSQL asks which rights the owner lost, and which others got, on views
// and their columns, in the order in which that was granted.
const viewRightsSQL = `
SELECT view.oid::bigint, g.revoke, g.column_name, g.grantee, g.privileges, g.grantable
FROM unnest($1::text::oid[]) AS view (oid)
JOIN pg_catalog.pg_class c ON c.oid = view.oid
CROSS JOIN LATERAL (
  SELECT true AS revoke, '' AS column_name, quote_ident(pg_get_userbyid(c.relowner)) AS grantee,
         string_agg(o.privilege_type, ', ') AS privileges, false AS grantable, 0 AS attnum, min(o.number) AS number
  FROM aclexplode(acldefault('r', c.relowner)) WITH ORDINALITY AS o (grantor, grantee, privilege_type, is_grantable, number)
  WHERE c.relacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee = c.relowner AND a.privilege_type = o.privilege_type)
  HAVING count(*) > 0
  UNION ALL
  SELECT false, '', CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
         string_agg(a.privilege_type, ', ' ORDER BY a.number), a.is_grantable, 0, min(a.number)
  FROM aclexplode(c.relacl) WITH ORDINALITY AS a (grantor, grantee, privilege_type, is_grantable, number)
  WHERE a.grantee <> c.relowner
  GROUP BY a.grantee, a.is_grantable
  UNION ALL
  SELECT false, att.attname, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
         string_agg(a.privilege_type, ', ' ORDER BY a.number), a.is_grantable, att.attnum, min(a.number)
  FROM pg_catalog.pg_attribute att, aclexplode(att.attacl) WITH ORDINALITY AS a (grantor, grantee, privilege_type, is_grantable, number)
  WHERE att.attrelid = c.oid
  GROUP BY att.attname, att.attnum, a.grantee, a.is_grantable
) AS g
ORDER BY view.oid, g.attnum, g.revoke DESC, g.number`

func readViewRights(ctx context.Context, q pgcatalog.QualifiedReader, views map[int64]*view) {
	// Does anybody get rights on a new view without being granted them?
	if len(pgcatalog.Read[bool](ctx, q.Reader, "SELECT true FROM pg_catalog.pg_default_acl WHERE defaclobjtype = 'r' LIMIT 1")) > 0 {
		for _, v := range views {
			v.rights = []string{v.revokeDefaults()}
		}
	}
	for _, x := range pgcatalog.Read[struct {
		View                        int64
		Revoke                      bool
		Column, Grantee, Privileges string
		Grantable                   bool
	}](ctx, q.Reader, viewRightsSQL, slices.Sorted(maps.Keys(views))) {
		v := views[x.View]
		if x.Column != "" {
			column := " (" + pgsql.Quote(x.Column) + ")"
			x.Privileges = strings.ReplaceAll(x.Privileges, ", ", column+", ") + column
		}
		on := x.Privileges + " ON TABLE " + v.Target()
		text := "GRANT " + on + " TO " + x.Grantee + pgsql.If(x.Grantable, " WITH GRANT OPTION")
		if x.Revoke {
			text = "REVOKE " + on + " FROM " + x.Grantee
		}
		v.rights = append(v.rights, text)
	}
}

// revokeDefaults takes away what others get on a new view by default,
// whichever role creates it.
func (v *view) revokeDefaults() string {
	revoke := "REVOKE ALL ON " + strings.ReplaceAll(v.Target(), "%", "%%") + " FROM %s"
	return doBlock("  EXECUTE coalesce((SELECT pg_catalog.string_agg(pg_catalog.format(" + pgsql.Literal(revoke) + ",\n" +
		"      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END), '; ')\n" +
		"    FROM pg_catalog.pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = " + pgsql.Literal(v.Target()) + "::regclass AND a.grantee <> c.relowner), 'SELECT');\n")
}
