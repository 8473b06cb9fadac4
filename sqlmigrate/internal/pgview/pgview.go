// Package pgview reads PostgreSQL views with all their properties, and returns the
// statements that drop them before their columns change and create them again unchanged.
// Packages postgres and pgonline use it.
package pgview

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A View is a view with all its properties.
type View struct {
	OID          int64
	Schema, Name string
	Owner        string
	Materialized bool
	Definition   string
	Options      []string // in the form name=value
	Populated    bool     // false if it was created WITH NO DATA
	Tablespace   string   // empty for the default tablespace of the database
	Method       string   // access method of a materialized view
	Comment      *string
	Columns      []viewColumn
	Rules        []ruleOrTrigger
	Triggers     []ruleOrTrigger
	Uses         []int64  // OIDs of other views in the result that it uses
	Blocked      []string // reasons why it cannot be dropped and created again

	Display plan.TableName `row:"-"` // the name for messages
	Parts   []string       `row:"-"` // statements that create the indexes and statistics of a materialized view
	rights  []string       `row:"-"` // statements that restore the rights on it
}

// Target returns the quoted name with its schema, for statements.
func (v *View) Target() string { return pgsql.Qualified(v.Schema, v.Name) }

// kind returns the words for the view in statements.
func (v *View) kind() string {
	if v.Materialized {
		return "MATERIALIZED VIEW"
	}
	return "VIEW"
}

// A viewColumn is a column of a view with the properties that a user can set.
type viewColumn struct {
	Name             string
	Comment, Default *string
	Target           int // of its statistics; negative for the default target
	Options          []string
	Storage          string // empty for the default of the type
}

// A ruleOrTrigger is a rule or trigger of a view.
type ruleOrTrigger struct {
	Name, Definition string
	Comment          *string
}

// viewsSQL returns the views whose OIDs are in $1, and all views that use them, with all
// their properties. The columns have the order of the fields of View. The relation view
// collects the OIDs of these views (relkind 'v') and materialized views ('m'), over any
// number of levels. A view uses another by its rule _RETURN (in pg_rewrite), which is its
// query.
//
// The last column, Blocked, lists the reasons why a view cannot be dropped and created
// again. Such a reason is an object that uses the view or its row type, alone or in an
// array, by a normal dependency (deptype 'n'). The rules of views in the relation view, and
// the triggers of the view itself, are no such objects, because they are created again too.
// The other reasons are missing rights, membership in an extension (deptype 'e'), and the
// rights and labels that [pgcatalog.LostSQL] returns.
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
     WHERE d.deptype = 'n' AND (d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid
            OR d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid IN (c.reltype, (SELECT typarray FROM pg_catalog.pg_type WHERE oid = c.reltype)))
       AND coalesce(r.ev_class NOT IN (SELECT oid FROM view), g.tgrelid <> c.oid, true)
     UNION ALL
     SELECT 'role ' || current_user || ' may not: do this as ' || pg_get_userbyid(c.relowner) WHERE NOT pg_has_role(c.relowner, 'USAGE')
     UNION ALL
     SELECT 'its owner may not create it again in schema ' || n.nspname
     WHERE NOT has_schema_privilege(c.relowner, n.oid, 'CREATE') AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)
     UNION ALL
     SELECT 'it belongs to ' || pg_describe_object(d.refclassid, d.refobjid, 0)
     FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
     UNION ALL
` + pgcatalog.LostSQL + `
   ) AS b (text))::text
FROM view
JOIN pg_catalog.pg_class c ON c.oid = view.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid`

// StateQuery returns a query for the properties of the views. Its result changes if a user
// changes a view. An online move compares the result before it drops the views with the
// result at the time of its plan, because a change in between would be lost. The query
// finds the views by their names, because a view that was dropped and created again has
// another OID. It must run with an empty search path, because the server then writes the
// definitions with schemas.
func StateQuery(views []*View) string {
	return `SELECT c.relname, pg_get_viewdef(c.oid), c.relowner, c.reloptions, obj_description(c.oid, 'pg_class'), ARRAY(SELECT a::text FROM unnest(c.relacl) AS a ORDER BY 1),
    ARRAY(SELECT row(a.attname, a.attacl, col_description(c.oid, a.attnum))::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid ORDER BY a.attnum),
    ARRAY(SELECT pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid ORDER BY 1),
    ARRAY(SELECT pg_get_triggerdef(g.oid) FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid ORDER BY 1)
  FROM pg_catalog.pg_class c WHERE c.oid IN (` + pgsql.Join(views, ", ", func(v *View) string { return pgsql.Literal(v.Target()) + "::regclass" }) + ")"
}

// Lock returns statements that lock the views, which are not materialized, in ACCESS
// EXCLUSIVE mode. Each statement makes the owner of a view its owner again, which changes
// nothing. LOCK TABLE is not used, because it would also lock the tables that the views
// read.
func Lock(views []*View) []string {
	statements := make([]string, len(views))
	for i, v := range views {
		statements[i] = "ALTER VIEW " + v.Target() + " OWNER TO " + pgsql.Quote(v.Owner)
	}
	return statements
}

// Read returns the views with these OIDs, and all views that use them directly or through
// other views. A view comes after the views that it uses, so that the views can be created
// in this order.
func Read(ctx context.Context, q pgcatalog.QualifiedReader, oids []int64) []*View {
	var views []*View
	byOID, targets := map[int64]*View{}, map[int64]string{}
	for _, v := range pgcatalog.Read[View](ctx, q.Reader, viewsSQL, oids) {
		v.Display = q.Display(v.Schema, v.Name)
		views, byOID[v.OID], targets[v.OID] = append(views, &v), &v, v.Target()
	}
	for oid, rights := range q.Rights(ctx, "TABLE", targets) {
		byOID[oid].rights = rights
	}
	return pgcatalog.ParentsFirst(views, func(v *View) (used []*View) {
		for _, oid := range v.Uses {
			used = append(used, byOID[oid])
		}
		return used
	})
}

// create returns the statements that create the view with all its properties, except its
// rules, which CreateAll creates after all views.
func (v *View) create() []string {
	var texts []string
	addf := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if v.Materialized {
		addf("SET LOCAL default_tablespace = ''") // for a view without TABLESPACE, whatever the connection's default is
	}
	head := "CREATE " + v.kind() + " " + v.Target() +
		pgsql.If(v.Materialized, " USING "+pgsql.Quote(v.Method)) +
		pgsql.If(len(v.Options) > 0, " WITH ("+optionList(v.Options)+")") +
		pgsql.If(v.Tablespace != "", " TABLESPACE "+pgsql.Quote(v.Tablespace))
	// The definition that the server returns ends with a semicolon.
	definition := NameConstants(strings.TrimSuffix(strings.TrimSpace(v.Definition), ";"))
	data := pgsql.If(v.Materialized, "\n WITH "+pgsql.If(!v.Populated, "NO ")+"DATA")
	addf("%s AS\n%s%s", head, definition, data)
	addf("ALTER %s %s OWNER TO %s", v.kind(), v.Target(), pgsql.Quote(v.Owner))
	for _, c := range v.Columns {
		texts = append(texts, v.alterColumn(c)...)
	}
	texts = append(texts, v.Parts...)
	for _, t := range v.Triggers {
		texts = append(texts, t.create("TRIGGER", v.Target())...)
	}
	return slices.Concat(texts, pgsql.Comment(v.kind()+" "+v.Target(), v.Comment), v.rights)
}

// alterColumn returns the statements that restore the properties which a user has set for a
// column of the view.
func (v *View) alterColumn(c viewColumn) []string {
	var texts []string
	alter := "ALTER " + v.kind() + " " + v.Target() + " ALTER COLUMN " + pgsql.Quote(c.Name)
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
	return append(texts, pgsql.Comment("COLUMN "+v.Target()+"."+pgsql.Quote(c.Name), c.Comment)...)
}

// create returns the statements that create the rule or trigger, and set its comment. kind
// is RULE or TRIGGER, and view is the quoted name of its view.
func (r *ruleOrTrigger) create(kind, view string) []string {
	definition := strings.TrimSuffix(r.Definition, ";") // the server's definition of a rule ends with it
	return append([]string{definition}, pgsql.Comment(kind+" "+pgsql.Quote(r.Name)+" ON "+view, r.Comment)...)
}

// optionList converts options from the form of the catalog to the syntax of WITH (…) and
// SET (…). For example, security_barrier=true becomes security_barrier = 'true'.
func optionList(options []string) string {
	return pgsql.Join(options, ", ", func(option string) string {
		name, value, _ := strings.Cut(option, "=")
		return name + " = " + pgsql.Literal(value)
	})
}

// CreateAll returns the statements that create the views, and then their rules, because a
// rule can refer to every view.
func CreateAll(views []*View) []string {
	var texts []string
	for _, v := range views {
		texts = append(texts, v.create()...)
	}
	for _, v := range views {
		for _, r := range v.Rules {
			texts = append(texts, r.create("RULE", v.Target())...)
		}
	}
	return texts
}

// Drops returns the statements that drop the rules of the views, and then the views, in
// the reverse order of their creation, because no view can be dropped before the rules
// and views that use it. ifExists is "IF EXISTS ", or empty.
func Drops(views []*View, ifExists string) []string {
	var texts []string
	for _, v := range views {
		texts = append(texts, "DROP "+v.kind()+" "+ifExists+v.Target())
	}
	for _, v := range views {
		for _, r := range v.Rules {
			texts = append(texts, "DROP RULE "+ifExists+pgsql.Quote(r.Name)+" ON "+v.Target())
		}
	}
	slices.Reverse(texts)
	return texts
}

// nameless matches a line of a view's definition that holds a constant without a name in a
// SELECT list, for example
//
//	NULL::integer,
//
// PostgreSQL writes such a constant with its type and without AS. The groups are the line
// up to the end of the constant, its type, and the rest of the line, which is empty or
// begins with a comma or a parenthesis.
var nameless = regexp.MustCompile(`^(\s*(?:SELECT (?:DISTINCT )?)?(?:NULL|E?'(?:[^']|'')*')::([\w. ]+(?:\([\d,]+\)[\w ]*)?(?:\[\])*))((?:[,)].*)?)$`)

// NameConstants adds AS "?column?" to the constants in SELECT lists of a view's definition
// that have no name. "?column?" is the name that PostgreSQL gives to a column without a
// name. Without this addition, a view that is created from the definition would name the
// column after the type of the constant, for example int4. NameConstants does not recognize
// a constant whose type has a quoted name.
func NameConstants(definition string) string {
	lines := linesOutsideQuotes(definition)
	for i, line := range lines {
		if m := nameless.FindStringSubmatch(line); m != nil && !strings.Contains(m[2], " AS ") { // the pattern of a type also matches a name after it
			lines[i] = m[1] + ` AS "?column?"` + m[3]
		}
	}
	return strings.Join(lines, "\n")
}

// linesOutsideQuotes splits a text at the ends of lines that are not within a literal or
// a quoted name.
func linesOutsideQuotes(text string) []string {
	var lines []string
	begin, at := 0, 0
	// Search for line breaks between tokens; the last, empty token stands for the end of
	// the text. The server writes definitions in standard SQL, so no Rules apply.
	for _, token := range append(sqltext.Scan(text, sqltext.Rules{}), sqltext.Token{Start: len(text)}) {
		for ; at < token.Start; at++ {
			if text[at] == '\n' {
				lines = append(lines, text[begin:at])
				begin = at + 1
			}
		}
		at = token.End
	}
	return append(lines, text[begin:])
}
