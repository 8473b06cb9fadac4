package postgres

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A trigger is called for each row that is inserted.
type trigger struct {
	Table              int64
	Name, Drop, Create string
	Before             bool
	Copied             string // Create, for the copy
	Text               string // of the function
	Confined           bool
}

// insertTriggersSQL asks for triggers that can change or refuse a row. A partition's
// that comes from its parent is not asked for again. A function is confined if what it
// does is rolled back, or cannot be done in a transaction that is read only: it is in
// PL/pgSQL, and names no function that is not the server's, and none that reaches out.
const insertTriggersSQL = `
SELECT t.tgrelid::bigint, t.tgname, format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), d.text, t.tgtype & 2 <> 0,
       replace(d.text, format(' ON %I.%I ', n.nspname, c.relname), format(' ON pg_temp.%I ', c.relname)), f.prosrc,
       l.lanname = 'plpgsql'
         AND f.prosrc !~* '\m(execute|copy|lock|load|notify|listen|lo_\w+|pg_(?!catalog)\w+|set_config)\M'
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace <> 'pg_catalog'::regnamespace
                         AND position(p.proname IN lower(f.prosrc)) > 0 AND (p.proname !~ '^\w+$' OR f.prosrc ~* ('\m' || p.proname || '\M"?\s*\(')))
FROM json_array_elements_text($1::text::json) AS k (oid)
JOIN pg_catalog.pg_trigger t ON t.tgrelid = k.oid::oid
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
CROSS JOIN LATERAL pg_get_triggerdef(t.oid) AS d (text)
WHERE t.tgtype & 5 = 5 AND t.tgenabled IN ('O', 'A') AND NOT t.tgisinternal AND NOT t.tgdeferrable AND coalesce((to_jsonb(t) ->> 'tgparentid')::oid, 0) = 0
ORDER BY c.relname, n.nspname, t.tgname`

// tryTriggers calls functions for copies, and never for a table.
func (r *trial) tryTriggers(copies []*copied) {
	byOID, oids := map[int64]*copied{}, make([]int64, len(copies))
	for i, c := range copies {
		byOID[c.OID], oids[i] = c, c.OID
	}
	for _, t := range read[trigger](r, insertTriggersSQL, asJSON(oids)) {
		c := byOID[t.Table]
		p := part{Object: "trigger " + t.Name, SQL: t.Copied, Early: true, Confined: true}
		if t.Confined {
			r.examinePart(c, p)
		}
		switch {
		case t.Before && r.assigns(c, p, t):
			r.Omit(plan.Detach, c.Display, p.Object, "it assigns keys to rows that have none",
				"once programs assign the keys: "+t.Drop+"; to restore it: "+t.Create)
		case !t.Confined:
			r.untried = append(r.untried, t.Name+" on "+c.Display)
		}
	}
	if len(r.untried) > 0 {
		r.Note("No key was tried in these triggers, because of what their functions call, write or want: %s.", strings.Join(r.untried, ", "))
	}
}

// keyAssigned is the error of a row that has a key without being given one.
const keyAssigned = "GF001"

// assigns inserts a row without a key. Where that has another end, as with a key from
// a sequence, the function's text has to do.
func (r *trial) assigns(c *copied, p part, t trigger) bool {
	keys := keepIf(c.keys, func(k plan.Column) bool { return k.Key })
	if len(keys) == 0 {
		return false
	}
	var err error
	if t.Confined {
		given := pgsql.Join(keys, " OR ", func(k plan.Column) string { return pgsql.Quote(k.Name) + " IS NOT NULL" })
		err = r.attempt(append(c.fill(r.Moved, []row{{}}, c.with(p)),
			doBlock("  IF EXISTS (SELECT FROM "+c.target()+" WHERE "+given+") THEN\n    RAISE SQLSTATE '"+keyAssigned+"';\n  END IF;\n"))...)
	}
	return pgsql.State(err) == keyAssigned || (err != nil || !t.Confined) && setsColumn(t.Text, columnNames(keys))
}

// setsColumn reports whether a function in PL/pgSQL sets one of the columns of NEW, or NEW.
func setsColumn(text string, columns []string) bool {
	tokens := sqltext.Scan(text, sqltext.Rules{})
	is := func(i int, words ...string) bool {
		return i >= 0 && i < len(tokens) && tokens[i].Kind != sqltext.Text && slices.Contains(words, strings.ToLower(tokens[i].Text))
	}
	for i := range tokens {
		if !is(i, "new") {
			continue
		}
		end := i + 1
		if is(end, ".") {
			if end+1 == len(tokens) || !slices.ContainsFunc(columns, names(tokens[end+1])) {
				continue
			}
			end += 2
		}
		begins := i == 0 || is(i-1, ";", "begin", "then", "else", "loop", ">")
		if begins && is(end, ":=", "=") || into(is, i) {
			return true
		}
	}
	return false
}

// into reports whether token i is in a list of targets.
func into(is func(int, ...string) bool, i int) bool {
	for is(i-1, ",") {
		i -= 2
		for is(i-1, ".") {
			i -= 2
		}
	}
	return is(i-1, "into", "strict")
}

// names reports whether a token is the name of a column.
func names(t sqltext.Token) func(column string) bool {
	return func(column string) bool {
		return t.Text == column || t.Kind == sqltext.Word && strings.ToLower(t.Text) == column
	}
}
