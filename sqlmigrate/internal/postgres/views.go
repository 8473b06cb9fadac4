package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// viewCost is how many locks a view may take.
const viewCost = 12

// A viewed column is used by a view.
type viewed struct {
	view   int64
	column *column
}

// A view is dropped before a column changes its type, and created again.
type view struct {
	OID                 int64
	Schema, Name, Owner string
	Materialized        bool
	Definition          string
	Options             []string // name=value
	Populated           bool
	Tablespace, Method  string
	Comment             *string
	Columns             []viewColumn
	Rules, Triggers     []commented
	Uses                []int64 // views
	Blocked             []string

	columns []*column // that it uses, itself or by other views
	indexes []string  // statements that create them
	rights  []string
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

// viewsSQL finds views and those above them. What uses one otherwise blocks.
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
SELECT jsonb_build_object('OID', c.oid::bigint, 'Schema', n.nspname, 'Name', c.relname, 'Owner', pg_get_userbyid(c.relowner),
  'Materialized', c.relkind = 'm', 'Definition', pg_get_viewdef(c.oid), 'Options', c.reloptions, 'Populated', c.relispopulated,
  'Tablespace', (SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace),
  'Method', (SELECT amname FROM pg_catalog.pg_am am WHERE am.oid = c.relam),
  'Comment', obj_description(c.oid, 'pg_class'),
  'Columns', (SELECT jsonb_agg(jsonb_build_object('Name', a.attname, 'Comment', col_description(c.oid, a.attnum),
       'Default', pg_get_expr(ad.adbin, ad.adrelid), 'Target', coalesce(a.attstattarget, -1), 'Options', (SELECT jsonb_agg(o) FROM unnest(a.attoptions) AS o WHERE o ~ '^n_distinct' AND c.relkind = 'm'),
       'Storage', CASE WHEN c.relkind = 'm' AND a.attstorage <> t.typstorage
                       THEN CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END ELSE '' END) ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
     LEFT JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'Rules', (SELECT jsonb_agg(jsonb_build_object('Name', r.rulename, 'Definition', pg_get_ruledef(r.oid), 'Comment', obj_description(r.oid, 'pg_rewrite')) ORDER BY r.rulename)
     FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.rulename <> '_RETURN'),
  'Triggers', (SELECT jsonb_agg(jsonb_build_object('Name', g.tgname, 'Definition', pg_get_triggerdef(g.oid), 'Comment', obj_description(g.oid, 'pg_trigger')) ORDER BY g.tgname)
     FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal),
  'Uses', (SELECT jsonb_agg(DISTINCT d.refobjid::bigint)
     FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
     WHERE r.ev_class = c.oid AND r.rulename = '_RETURN' AND d.refclassid = 'pg_catalog.pg_class'::regclass
       AND d.refobjid <> c.oid AND d.refobjid IN (SELECT oid FROM view)),
  'Blocked', (SELECT jsonb_agg(DISTINCT b.text) FROM (
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
   ) AS b (text)))::text
FROM view
JOIN pg_catalog.pg_class c ON c.oid = view.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid`

// findViews reads them when names have their schemas.
func (p *inspection) findViews(ctx context.Context) error {
	found := map[int64]*view{}
	var oids []int64
	for _, v := range p.viewed {
		oids = append(oids, v.view)
	}
	if len(oids) == 0 {
		return nil
	}
	var views []*view
	err := each(ctx, p.tx, viewsSQL, []any{arrayLiteral(oids)}, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		v := &view{}
		found[v.OID] = v
		if err := json.Unmarshal([]byte(text), v); err != nil {
			return err
		}
		found[v.OID] = v
		views = append(views, v)
		return nil
	})
	if err != nil {
		return err
	}
	for _, use := range p.viewed {
		found[use.view].columns = append(found[use.view].columns, use.column)
	}
	p.orderViews(views, found)
	if err := p.viewIndexes(ctx, found); err != nil {
		return err
	}
	return p.viewRights(ctx, found)
}

// orderViews puts a view after those that it uses, and gives it their columns.
func (p *inspection) orderViews(views []*view, found map[int64]*view) {
	seen := map[*view]bool{}
	var visit func(v *view)
	visit = func(v *view) {
		if seen[v] {
			return
		}
		seen[v] = true
		p.blockView(v)
		for _, used := range v.Uses {
			visit(found[used])
			v.columns = append(v.columns, found[used].columns...)
		}
		p.views = append(p.views, v)
	}
	for _, v := range views {
		visit(v)
	}
}

// blockView is for views that cannot be recreated, or would not do afterwards.
// At this point the columns are those that the view uses itself.
func (p *inspection) blockView(v *view) {
	tables := map[string]bool{}
	table, object := "", "view "+p.display(v.Schema, v.Name)
	for _, c := range v.columns {
		tables[p.display(c.schema, c.table)] = true
		table = p.display(c.schema, c.table)
		if cast := regexp.MustCompile(`\b` + regexp.QuoteMeta(quoteIfNeeded(c.name)) + `\)::(integer|smallint)`); cast.MatchString(v.Definition) {
			p.blocker(table, object, "its definition makes column "+c.name+" an integer, which fails with a larger key",
				"drop it before, and create it again afterwards without that")
		}
	}
	for _, reason := range v.Blocked {
		p.blocker(table, object, "it has to be dropped, and "+reason, "drop what is in the way before, and create it again afterwards")
	}
}

var simpleName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// quoteIfNeeded is the name as the server writes it, unless it is a reserved word.
func quoteIfNeeded(name string) string {
	if simpleName.MatchString(name) {
		return name
	}
	return pgsql.Quote(name)
}

// viewsOf are the views above the tables' columns.
func (p *inspection) viewsOf(tables []*table) []*view {
	byOID := p.tablesByOID()
	return slices.DeleteFunc(slices.Clone(p.views), func(v *view) bool {
		return !slices.ContainsFunc(v.columns, func(c *column) bool { return slices.Contains(tables, byOID[c.root.node.table]) })
	})
}

func (v *view) kind() string {
	if v.Materialized {
		return "MATERIALIZED VIEW"
	}
	return "VIEW"
}

func (v *view) target() string { return pgsql.Qualified(v.Schema, v.Name) }

// create are the statements that make the view what it was, but for its rules.
func (v *view) create() []string {
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	head := "CREATE " + v.kind() + " " + v.target()
	definition := keepNameless(strings.TrimSuffix(strings.TrimSpace(v.Definition), ";"))
	if v.Materialized {
		say("%s", noTablespace)
		head += " USING " + pgsql.Quote(v.Method)
	}
	if len(v.Options) > 0 {
		head += " WITH (" + optionList(v.Options) + ")"
	}
	if v.Materialized && v.Tablespace != "" {
		head += " TABLESPACE " + pgsql.Quote(v.Tablespace)
	}
	switch {
	case v.Materialized && v.Populated:
		definition += "\n WITH DATA"
	case v.Materialized:
		definition += "\n WITH NO DATA"
	}
	say("%s AS\n%s", head, definition)
	say("ALTER %s %s OWNER TO %s", v.kind(), v.target(), pgsql.Quote(v.Owner))
	for _, c := range v.Columns {
		texts = append(texts, v.column(c)...)
	}
	texts = append(texts, v.indexes...)
	for _, t := range v.Triggers {
		texts = append(texts, t.create("TRIGGER", v.target())...)
	}
	if v.Comment != nil {
		say("COMMENT ON %s %s IS %s", v.kind(), v.target(), pgsql.Literal(*v.Comment))
	}
	return append(texts, v.rights...)
}

func (v *view) column(c viewColumn) []string {
	var texts []string
	alter := "ALTER " + v.kind() + " " + v.target() + " ALTER COLUMN " + pgsql.Quote(c.Name)
	if c.Default != nil {
		texts = append(texts, alter+" SET DEFAULT "+*c.Default)
	}
	if c.Target >= 0 {
		texts = append(texts, fmt.Sprintf("%s SET STATISTICS %d", alter, c.Target))
	}
	if len(c.Options) > 0 {
		texts = append(texts, alter+" SET ("+optionList(c.Options)+")")
	}
	if c.Storage != "" {
		texts = append(texts, alter+" SET STORAGE "+c.Storage)
	}
	if c.Comment != nil {
		texts = append(texts, "COMMENT ON COLUMN "+v.target()+"."+pgsql.Quote(c.Name)+" IS "+pgsql.Literal(*c.Comment))
	}
	return texts
}

func (c *commented) create(kind, on string) []string {
	texts := []string{strings.TrimSuffix(c.Definition, ";")}
	if c.Comment != nil {
		texts = append(texts, "COMMENT ON "+kind+" "+pgsql.Quote(c.Name)+" ON "+on+" IS "+pgsql.Literal(*c.Comment))
	}
	return texts
}

// optionList is for names and values as the catalog has them.
func optionList(options []string) string {
	texts := make([]string, len(options))
	for i, option := range options {
		name, value, _ := strings.Cut(option, "=")
		texts[i] = name + " = " + pgsql.Literal(value)
	}
	return strings.Join(texts, ", ")
}

// viewIndexes are the indexes and statistics of materialized views.
func (p *inspection) viewIndexes(ctx context.Context, found map[int64]*view) error {
	err := each(ctx, p.tx, `
SELECT i.indrelid::bigint, pg_get_indexdef(c.oid), `+indexJSON+`
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
WHERE i.indrelid = ANY ($1::text::oid[])
ORDER BY c.oid`, []any{p.viewOIDs()}, func(rows *sql.Rows) error {
		var oid int64
		var definition, text string
		if err := rows.Scan(&oid, &definition, &text); err != nil {
			return err
		}
		var i index
		if err := json.Unmarshal([]byte(text), &i); err != nil {
			return err
		}
		found[oid].indexes = slices.Concat(found[oid].indexes, []string{definition}, i.keep())
		return nil
	})
	if err != nil {
		return err
	}
	return each(ctx, p.tx, `
SELECT s.stxrelid::bigint, pg_get_statisticsobjdef(s.oid), n.nspname, s.stxname, pg_get_userbyid(s.stxowner),
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext')
FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
WHERE s.stxrelid = ANY ($1::text::oid[])
ORDER BY s.oid`, []any{p.viewOIDs()}, func(rows *sql.Rows) error {
		var oid int64
		var definition string
		var s keptStatistics
		err := rows.Scan(&oid, &definition, &s.schema, &s.name, &s.owner, &s.target, &s.comment)
		if err == nil {
			found[oid].indexes = slices.Concat(found[oid].indexes, []string{definition}, s.keep())
		}
		return err
	})
}

func (p *inspection) viewOIDs() string {
	oids := make([]int64, len(p.views))
	for i, v := range p.views {
		oids[i] = v.OID
	}
	return arrayLiteral(oids)
}

// viewRightsSQL has what the owner lost, and what others got, in its order.
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

func (p *inspection) viewRights(ctx context.Context, found map[int64]*view) error {
	var defaults bool
	if err := p.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_default_acl WHERE defaclobjtype = 'r')").Scan(&defaults); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	if defaults {
		for _, v := range p.views {
			v.rights = []string{v.revokeDefaults()}
		}
	}
	return each(ctx, p.tx, viewRightsSQL, []any{p.viewOIDs()}, func(rows *sql.Rows) error {
		var oid int64
		var revoke, grantable bool
		var column, grantee, privileges string
		if err := rows.Scan(&oid, &revoke, &column, &grantee, &privileges, &grantable); err != nil {
			return err
		}
		v := found[oid]
		if column != "" {
			privileges = strings.ReplaceAll(privileges, ", ", " ("+pgsql.Quote(column)+"), ") + " (" + pgsql.Quote(column) + ")"
		}
		text := "GRANT " + privileges + " ON TABLE " + v.target() + " TO " + grantee
		switch {
		case revoke:
			text = "REVOKE " + privileges + " ON TABLE " + v.target() + " FROM " + grantee
		case grantable:
			text += " WITH GRANT OPTION"
		}
		v.rights = append(v.rights, text)
		return nil
	})
}

// revokeDefaults takes away what others get on a new view by default,
// whichever role creates it.
func (v *view) revokeDefaults() string {
	revoke := "REVOKE ALL ON " + strings.ReplaceAll(v.target(), "%", "%%") + " FROM %s"
	return doBlock("  EXECUTE coalesce((SELECT pg_catalog.string_agg(pg_catalog.format(" + pgsql.Literal(revoke) + ",\n" +
		"      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END), '; ')\n" +
		"    FROM pg_catalog.pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = " + pgsql.Literal(v.target()) + "::regclass AND a.grantee <> c.relowner), 'SELECT');\n")
}

// withoutViews puts the steps between two that drop views and create them again.
// The views are dropped before the tables are locked, for a reader of a view
// locks the view first.
func (p *inspection) withoutViews(batch []*table, steps []engine.Step, views []*view) []engine.Step {
	var names, drops, lenient, creates []string
	for _, v := range views {
		names = append(names, p.display(v.Schema, v.Name))
		creates = append(creates, v.create()...)
		drops = append(drops, "DROP "+v.kind()+" "+v.target())
		lenient = append(lenient, "DROP "+v.kind()+" IF EXISTS "+v.target())
	}
	for _, v := range views { // rules can refer to any view
		for _, r := range v.Rules {
			creates = append(creates, r.create("RULE", v.target())...)
			drops = append(drops, "DROP RULE "+pgsql.Quote(r.Name)+" ON "+v.target())
			lenient = append(lenient, "DROP RULE IF EXISTS "+pgsql.Quote(r.Name)+" ON "+v.target())
		}
	}
	slices.Reverse(drops)
	slices.Reverse(lenient)
	locks := p.locksOf(p.widenModes(batch))
	var columns []*column
	for _, t := range batch {
		columns = append(columns, t.narrow()...)
	}
	narrow := has(columns, "atttypid <> 'bigint'::regtype")
	begin, end := steps[0].Transaction, "until the end of the transaction"
	text := engine.Count(len(views), "view") + " that would block it: " + strings.Join(names, ", ")
	before := engine.Step{
		Table: "views", Text: "drop " + text, Transaction: begin,
		Locks: "ACCESS EXCLUSIVE on the views " + end,
		Up:    statementsUnless("SELECT NOT "+narrow, withinTimeout(slices.Concat(drops, locks))),
		Down:  statementsUnless("SELECT "+narrow, creates...),
		Check: statementsUnless("", checkAll([]string{p.rejectNewViews(views)})),
	}
	after := engine.Step{
		Table: "views", Text: "create again " + text, Transaction: begin,
		Locks: "ACCESS EXCLUSIVE on the views " + end,
		Up:    statementsUnless("SELECT NOT "+narrow, creates...),
		Down:  statementsUnless("SELECT "+narrow, withinTimeout(slices.Concat(lenient, locks))),
	}
	return slices.Concat([]engine.Step{before}, steps, []engine.Step{after})
}

// rejectNewViews is for what has come to use the views that are to be dropped.
func (p *inspection) rejectNewViews(views []*view) string {
	known := regclasses(views)
	return rejectAll(`SELECT pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
      FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
      WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid IN (`+known+`) AND r.ev_class NOT IN (SELECT v FROM unnest(ARRAY[`+known+`]) AS v WHERE v IS NOT NULL)`,
		"sqlmigrate: %s: uses a view that has to be dropped when phase widen is taken back: drop it before, and create it again afterwards")
}

// regclasses are the OIDs of the views, or NULL for one that is gone.
func regclasses(views []*view) string {
	texts := make([]string, len(views))
	for i, v := range views {
		texts[i] = "to_regclass(" + pgsql.Literal(v.target()) + ")::oid"
	}
	if len(texts) == 0 {
		return "NULL::oid"
	}
	return strings.Join(texts, ", ")
}

// rejectAll raises an error that names what a query finds.
func rejectAll(query, message string) string {
	return "  IF EXISTS (" + query + ") THEN\n" +
		"    RAISE EXCEPTION USING ERRCODE = 'dependent_objects_still_exist', MESSAGE = pg_catalog.format(" + pgsql.Literal(message) + ",\n" +
		"      (SELECT string_agg(DISTINCT found.object, ', ') FROM (" + query + ") AS found (object)));\n" +
		"  END IF;\n"
}

// rejectNewDependents is for what has come to use the columns since, because of
// which PostgreSQL would not change their type back.
func (p *inspection) rejectNewDependents(columns []*column) string {
	var of []string
	for _, c := range columns {
		for _, m := range c.members {
			of = append(of, "att.attrelid = to_regclass("+pgsql.Literal(m.target())+") AND att.attname = "+pgsql.Literal(m.name))
		}
	}
	known := regclasses(p.views)
	c := columns[0]
	return rejectAll(`SELECT CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
                 WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
                 ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
      FROM pg_catalog.pg_attribute att
      JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = att.attrelid AND d.refobjsubid = att.attnum
      LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
      LEFT JOIN pg_catalog.pg_trigger tg ON d.classid = 'pg_catalog.pg_trigger'::regclass AND tg.oid = d.objid
      LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
      LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
      WHERE (`+strings.Join(of, " OR ")+`)
        AND d.classid NOT IN ('pg_catalog.pg_constraint'::regclass, 'pg_catalog.pg_statistic_ext'::regclass)
        AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND (d.objsubid = 0 OR (d.objid, d.objsubid) = (att.attrelid, att.attnum)))
        AND (ad.oid IS NULL OR a.attgenerated <> '' AND (ad.adrelid, ad.adnum) <> (att.attrelid, att.attnum))
        AND coalesce((to_jsonb(tg) ->> 'tgparentid')::oid, 0) = 0
        AND coalesce(r.ev_class NOT IN (SELECT v FROM unnest(ARRAY[`+known+`]) AS v WHERE v IS NOT NULL), true)`,
		"sqlmigrate: %s: uses a column of table "+strings.ReplaceAll(p.display(c.root.schema, c.root.table), "%", "%%")+", whose type PostgreSQL then does not change back: drop it before, and create it again afterwards")
}
