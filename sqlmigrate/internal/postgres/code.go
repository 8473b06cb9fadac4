package postgres

import (
	"context"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// codesSQL returns the functions and procedures (prokind 'f' and 'p') whose text contains
// INSERT, with the triggers that call them, and the rules whose text contains INSERT,
// except the rules _RETURN of views. The second column reports whether the server runs
// the code by itself, which it does for triggers and rules. It excludes the objects of
// the server and of extensions (deptype 'e'), and disabled triggers and rules ('D'). The
// CASE prevents pg_get_functiondef from being called for an aggregate, which would be an
// error.
const codesSQL = `
SELECT coalesce(t.object, CASE f.prokind WHEN 'p' THEN 'procedure ' ELSE 'function ' END || f.oid::regprocedure), t.object IS NOT NULL, pg_get_functiondef(f.oid)
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
SELECT format('rule %s on %s', r.rulename, r.ev_class::regclass), true, pg_get_ruledef(r.oid)
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN' AND r.ev_enabled <> 'D' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND pg_get_ruledef(r.oid) ~* '\minsert\M'
ORDER BY 1`

// insertViewsSQL returns the views into which the server lets programs insert, because
// they select from a single relation (bit 8 of pg_relation_is_updatable is INSERT). For
// each, it returns that relation and those of its columns that the view's query uses.
// Views with a trigger or rule do not count, because these decide what is inserted.
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

// Codes implements [engine.Copies]. It returns the functions, triggers and rules whose
// code inserts rows, and the views into which programs can insert. Package sqltext finds
// the INSERT statements in the texts.
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	texts, err := rows.Read[struct {
		Object string
		Fires  bool
		Text   string
	}](ctx, r.tx, codesSQL)
	for _, t := range texts {
		codes = append(codes, engine.Code{Object: t.Object, Fires: t.Fires, Inserts: sqltext.Inserts(t.Text, sqltext.Rules{})})
	}
	if err != nil {
		return nil, err
	}
	views, err := rows.Read[struct {
		Object, Schema, Table string
		Columns               []string
	}](ctx, r.tx, insertViewsSQL)
	for _, v := range views {
		insert := sqltext.Insert{Schema: v.Schema, Table: v.Table, Columns: v.Columns}
		codes = append(codes, engine.Code{Object: v.Object, View: true, Inserts: []sqltext.Insert{insert}})
	}
	return codes, err
}

// Assigning implements [engine.Copies]. It returns the triggers that assign keys to rows
// without a key, with the statements that drop and create each of them. It analyzes the
// texts of the functions of BEFORE triggers instead of calling them, because a call would
// advance their sequences.
func (r *trial) Assigning(context.Context) (found []engine.Assigning, err error) {
	for _, t := range r.triggers {
		// The first copy of the table of the trigger; further copies are for triggers.
		c := r.copies[slices.IndexFunc(r.copies, func(c *tableCopy) bool { return c.OID == t.Table })]
		if t.Before && sqltext.Sets(t.Text, sqltext.Rules{}, r.Unassigned(c.table)) {
			found = append(found, engine.Assigning{Table: c.Display, Trigger: t.Name, Fix: ": " + t.Drop + "; to restore it: " + t.Create})
		}
	}
	return found, nil
}
