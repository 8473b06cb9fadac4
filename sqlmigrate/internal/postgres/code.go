package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// codesSQL returns the code in the database that may insert rows. This code is the
// functions and procedures (prokind 'f' and 'p') whose text contains INSERT, with the
// triggers that call them, and the rules whose text contains INSERT, except the rules
// _RETURN of views. The columns are the description of the object, whether the server runs
// the code by itself, as it does for triggers and rules, the text, and the schema of the
// function. The schema is empty if the function has a search path of its own. It is also
// empty for a rule, because the text of a rule has the schema of every table that is not in
// the search path of this session.
//
// The query excludes the objects of the server and of extensions (deptype 'e'), and
// disabled triggers and rules ('D'). The CASE prevents pg_get_functiondef from being called
// for an aggregate, which would be an error.
const codesSQL = `
SELECT coalesce(t.object, CASE f.prokind WHEN 'p' THEN 'procedure ' ELSE 'function ' END || f.oid::regprocedure), t.object IS NOT NULL, pg_get_functiondef(f.oid),
       CASE WHEN f.proconfig::text ~* 'search_path=' THEN '' ELSE n.nspname END
FROM pg_catalog.pg_proc f
JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
CROSS JOIN LATERAL (
  SELECT string_agg(format('trigger %s on table %s', g.tgname, g.tgrelid::regclass), ', ' ORDER BY g.tgrelid::regclass::text, g.tgname)
  FROM pg_catalog.pg_trigger g
  WHERE g.tgfoid = f.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D') AS t (object)
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_' AND l.lanname NOT IN ('c', 'internal') AND f.prokind IN ('f', 'p')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
  AND CASE WHEN f.prokind IN ('f', 'p') THEN pg_get_functiondef(f.oid) ~* '\minsert\M' END
UNION ALL
SELECT format('rule %s on %s', r.rulename, r.ev_class::regclass), true, pg_get_ruledef(r.oid), ''
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN' AND r.ev_enabled <> 'D' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND pg_get_ruledef(r.oid) ~* '\minsert\M'
ORDER BY 1`

// insertViewsSQL returns the views into which the server lets programs insert, because they
// select from a single relation (bit 8 of pg_relation_is_updatable is INSERT). For each
// view, it returns that relation, and the columns of the relation that the view's query
// uses. Views with a trigger or rule do not count, because these decide what is inserted.
const insertViewsSQL = `
SELECT format('view %s', v.oid::regclass), n.nspname, c.relname, json_agg(a.attname)::text
FROM pg_catalog.pg_class v
JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.rulename = '_RETURN'
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjsubid > 0
JOIN pg_catalog.pg_class c ON c.oid = d.refobjid AND c.oid <> v.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
WHERE v.relkind = 'v' AND v.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = v.oid)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite o WHERE o.ev_class = v.oid AND o.rulename <> '_RETURN')
  AND pg_relation_is_updatable(v.oid, false) & 8 <> 0
GROUP BY v.oid, n.nspname, c.relname
ORDER BY 1`

// Codes implements [engine.Copies]. It returns the functions, triggers and rules whose code
// inserts rows, and the views through which programs can insert rows into a table. It
// leaves out each INSERT that is certainly into a table outside the trial. Package sqltext
// finds the INSERT statements in the texts.
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	texts, err := rows.Read[struct {
		Object string
		Fires  bool // whether the server runs the code by itself, as for a trigger or rule
		Text   string
		Schema string
	}](ctx, r.tx, codesSQL)
	if err != nil {
		return nil, err
	}
	namesakes, err := r.readNamesakes(ctx)
	if err != nil {
		return nil, err
	}
	// add removes the INSERTs into tables outside the trial from code. Then it appends code to
	// the result, unless no INSERT is left. schema is the schema of the object.
	add := func(code engine.Code, schema string) {
		code.Inserts = slices.DeleteFunc(code.Inserts, func(in sqltext.Insert) bool { return r.isElsewhere(in, schema, namesakes) })
		if len(code.Inserts) > 0 {
			codes = append(codes, code)
		}
	}
	for _, t := range texts {
		// Nested is true because PostgreSQL allows comments within comments.
		add(engine.Code{Object: t.Object, Fires: t.Fires, Inserts: sqltext.Inserts(t.Text, sqltext.Rules{Nested: true})}, t.Schema)
	}
	views, err := rows.Read[struct {
		Object, Schema, Table string
		Columns               []string
	}](ctx, r.tx, insertViewsSQL)
	for _, v := range views {
		insert := sqltext.Insert{Schema: v.Schema, Table: v.Table, Columns: v.Columns}
		add(engine.Code{Object: v.Object, View: true, Inserts: []sqltext.Insert{insert}}, v.Schema)
	}
	return codes, err
}

// readNamesakes returns the tables, in any schema, that have the same name as a table of the
// trial, for example a.orders and b.orders. With these tables, isElsewhere finds out which
// table an INSERT without a schema means. Views are left out, because an INSERT into a view
// may go to a table of the trial.
func (r *trial) readNamesakes(ctx context.Context) ([]plan.TableName, error) {
	names := make([]string, len(r.copies))
	for i, c := range r.copies {
		names[i] = c.Name
	}
	return rows.Read[plan.TableName](ctx, r.tx, "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'f') AND c.relname IN (SELECT json_array_elements_text($1::text::json))", asJSON(names))
}

// isElsewhere reports whether an INSERT in the code of an object is certainly into a table
// that is not in the trial. schema is the schema of the object, or empty if the schema does
// not show which tables the code means. namesakes is the result of readNamesakes.
//
// An INSERT that names no schema counts as an INSERT into the table of this name in the
// object's schema. A database with a schema for each tenant usually has the same tables and
// functions in each schema, and each function uses the tables of its own schema. If the
// object's schema has no table of this name, the search path of a session decides. The table
// may then be in the trial, so the result is false.
func (r *trial) isElsewhere(in sqltext.Insert, schema string, namesakes []plan.TableName) bool {
	if in.Schema == "" {
		if !slices.ContainsFunc(namesakes, func(t plan.TableName) bool { return t.Schema == schema && strings.EqualFold(t.Name, in.Table) }) {
			return false
		}
		in.Schema = schema
	}
	return !slices.ContainsFunc(r.copies, func(c *tableCopy) bool {
		return strings.EqualFold(c.Schema, in.Schema) && strings.EqualFold(c.Name, in.Table)
	})
}

// Assigning implements [engine.Copies]. It returns the triggers that assign keys to rows
// without a key. These are the BEFORE triggers that set a column to which programs must give
// the key after the move (Unassigned). It analyzes the texts of the trigger functions
// instead of calling the functions, because a call would advance a sequence. The Fix of a
// result has the statements that drop and create the trigger. It begins with a colon, because
// the caller appends it to the text "drop it once programs assign the keys".
func (r *trial) Assigning(context.Context) (found []engine.Assigning, err error) {
	for _, t := range r.triggers {
		// Take the first copy of the trigger's table, because a later copy of the same table
		// only serves to try a trigger. There always is a first copy, because readCopies reads
		// the triggers of the copied tables only.
		c := r.copies[slices.IndexFunc(r.copies, func(c *tableCopy) bool { return c.OID == t.Table })]
		if t.Before && sqltext.Sets(t.Text, sqltext.Rules{Nested: true}, r.Unassigned(c.table)) {
			found = append(found, engine.Assigning{Table: c.Display, Trigger: t.Name, Fix: ": " + t.Drop + "; to restore it: " + t.Create})
		}
	}
	return found, nil
}
