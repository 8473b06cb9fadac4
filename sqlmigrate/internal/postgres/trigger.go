package postgres

import (
	"regexp"
	"strings"
)

// A trigger is a row-level trigger that fires for INSERT, and may therefore refuse or
// change a key.
type trigger struct {
	Table              int64
	Name, Drop, Create string // Drop and Create are statements
	Before             bool   // whether it fires before the row is written, and so can change the row
	Copied             string // the statement that creates it on the copy
	Text               string // the body of its function
	TempLast           bool   // whether its function finds a temporary table only if there is no other of the name
	CanBeTried         bool   // whether a try has no side effects, and fails only because of the key
}

// columnOfRow matches a column of NEW or OLD in the text of a trigger function, for example
// NEW.orders. Such a column may have the name of a table, but does not mean the table.
var columnOfRow = regexp.MustCompile(`(?i)\b(new|old)\s*\.\s*("[^"]*"|\w+)`)

// mentions returns whether the text of a function contains the name of the table as a word,
// and whether it contains the name after a schema, for example in shop.orders. The caller
// has removed the columns of NEW and OLD from the text.
func mentions(text, table string) (named, qualified bool) {
	if !strings.Contains(strings.ToLower(text), strings.ToLower(table)) {
		return false, false // nearly always, and without the cost of compiling the expressions
	}
	name := regexp.QuoteMeta(table)
	named = regexp.MustCompile(`(?i)(^|\W)` + name + `($|\W)`).MatchString(text)
	qualified = regexp.MustCompile(`(?i)\.\s*"?` + name + `($|\W)`).MatchString(text)
	return named, qualified
}

// upserts reports whether the function may contain ON CONFLICT. Such a clause may need a
// unique index, and the copies of the tables that a trigger writes have no indexes.
func (t *trigger) upserts() bool { return onConflict.MatchString(t.Text) }

// onConflict matches the beginning of the clause ON CONFLICT.
var onConflict = regexp.MustCompile(`(?i)\bon\s+conflict\b`)

// insertTriggersSQL returns the enabled row-level triggers for INSERT that can change or
// refuse a row. In tgtype, bit 1 is FOR EACH ROW, bit 2 is BEFORE and bit 4 is INSERT.
// Enabled triggers have tgenabled 'O' or 'A'. It excludes a partition's trigger that
// comes from its parent (tgparentid, which PostgreSQL 12 does not have), and deferred
// triggers, which never run in a trial, because it does not commit.
//
// The column TempLast looks for pg_temp in the function's own search_path, because without
// it the server searches temporary tables first.
//
// The last column, CanBeTried, reports whether a try of the trigger has no side effects, and
// fails only because of the key. The patterns require that the function is in PL/pgSQL
// and does not call a function outside pg_catalog. It must not use statements or
// functions with effects that a rollback does not undo. It must not read a table either,
// because a row with the key may be missing there. The replacement of "distinct from" and
// "extract(… from …)" keeps these from looking like a FROM clause.
const insertTriggersSQL = `
SELECT t.tgrelid::bigint, t.tgname, format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), d.text, t.tgtype & 2 <> 0,
       replace(d.text, format(' ON %I.%I ', n.nspname, c.relname), format(' ON pg_temp.%I ', c.relname)), f.prosrc,
       coalesce(array_to_string(f.proconfig, ' ') ~* 'search_path=.*pg_temp', false),
       l.lanname = 'plpgsql'
         AND f.prosrc !~* '\m(execute|copy|lock|load|notify|listen|lo_\w+|pg_(?!catalog)\w+|set_config)\M'
         AND regexp_replace(f.prosrc, '\mdistinct\s+from\M|\m(extract|trim|substring|overlay|position)\s*\([^()]*\mfrom\M', '', 'gi') !~* '\m(from|join)\M'
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
