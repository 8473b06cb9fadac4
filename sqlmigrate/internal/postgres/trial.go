package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// beginTrial sets up the transaction of a trial. It fails on a standby. If a lock is not
// free, or if a key makes an expression run endlessly, the timeouts end the attempt, and
// the table is reported as not tried. They are much longer than any other attempt takes,
// so that the result does not depend on the load of the server.
const beginTrial = `SET TRANSACTION READ WRITE;
SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '10s'; SET LOCAL jit = off; SET LOCAL client_min_messages = error;
`

// attempts creates a function that makes many attempts in one call, so that a distant
// server needs only one round trip. An attempt runs the statements of Prepare, and then
// each try on its own. The exception at the end of each block rolls its changes back.
// GF000 marks success; GET DIAGNOSTICS returns the number of rows of the last statement.
// If Prepare fails, all its tries get that error.
const attempts = `
CREATE FUNCTION pg_temp.snowflake_attempts(attempts json) RETURNS TABLE (state text, refusal text, shown bigint) LANGUAGE plpgsql AS $attempts$
DECLARE attempt json; try json; statement text; done integer;
BEGIN
  FOR attempt IN SELECT json_array_elements(attempts) LOOP
    done := 0;
    BEGIN
      FOR statement IN SELECT json_array_elements_text(attempt -> 'Prepare') LOOP
        EXECUTE statement;
      END LOOP;
      FOR try IN SELECT json_array_elements(attempt -> 'Tries') LOOP
        BEGIN
          FOR statement IN SELECT json_array_elements_text(try) LOOP
            EXECUTE statement;
            GET DIAGNOSTICS shown = ROW_COUNT;
          END LOOP;
          RAISE SQLSTATE 'GF000';
        EXCEPTION WHEN OTHERS THEN state := SQLSTATE; refusal := SQLERRM;
        END;
        done := done + 1;
        RETURN NEXT;
      END LOOP;
      RAISE SQLSTATE 'GF000';
    EXCEPTION WHEN OTHERS THEN state := SQLSTATE; refusal := SQLERRM;
    END;
    FOR i IN done + 1 .. json_array_length(attempt -> 'Tries') LOOP
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $attempts$`

// readOnlyTransaction is the SQLSTATE of a write that the trial does not allow.
const readOnlyTransaction = "25006"

// taken is the SQLSTATE of a try that succeeded.
const taken = "GF000"

// Try implements [engine.Engine]. For most tables, it evaluates the conditions of a table
// on constant rows. The other tables are copied to temporary tables of the same name,
// each of which is rolled back before the next is created.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	if len(t.Tables) == 0 {
		return found, nil
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return found, fmt.Errorf("%s: %w", inspecting, err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, beginTrial+attempts); pgsql.State(err) != "" && ctx.Err() == nil {
		found.NotTried(plan.TableName{}, err)
		return found, nil
	} else if err != nil {
		return found, fmt.Errorf("%s: try keys: %w", inspecting, err)
	}
	r := &trial{Trial: t, tx: tx}
	if err := r.readCopies(ctx, &found); err != nil {
		return found, fmt.Errorf("%s: try keys: %w", inspecting, err)
	}
	copied := make([]plan.Table, len(r.copies))
	for i, c := range r.copies {
		copied[i] = c.table
	}
	tried, err := t.Run(ctx, r, copied)
	found.Add(tried)
	if len(r.untried) > 0 {
		found.Note("No key was tried in these triggers, because of what their functions call, read or write: %s.", pgsql.Join(r.untried, ", ", func(s string) string { return s }))
	}
	if err != nil {
		err = fmt.Errorf("%s: try keys: %w", inspecting, err)
	}
	return found, err
}

// A trial is the transaction of Try.
type trial struct {
	engine.Trial
	tx       *sql.Tx
	copies   []*copied
	triggers []trigger
	untried  []string // triggers that cannot be tried
}

// readCopies reads the tables to copy, and adds a further copy for each trigger that can
// be tried.
func (r *trial) readCopies(ctx context.Context, f *engine.Findings) error {
	tables := []map[string]any{}
	for _, t := range r.Trial.Tables {
		tables = append(tables, map[string]any{"name": pgsql.Qualified(t.Schema, t.Name), "keys": columnNames(t.Columns)})
	}
	found, err := rows.Read[copied](ctx, r.tx, copiesSQL, asJSON(tables))
	if err != nil {
		return err
	}
	oids := []int64{}
	byOID := map[int64]*copied{}
	for i := range found {
		c := &found[i]
		t := r.Trial.Tables[c.Number]
		if c.Name == "" {
			f.NotTried(t.TableName(), errors.New("it is not in the search path of this connection"))
			continue
		}
		c.table = plan.Table{Schema: c.Display.Schema, Name: c.Display.Name, MaxKey: t.MaxKey, Columns: keepIf(t.Columns, func(k plan.Column) bool {
			return slices.ContainsFunc(c.Columns, func(column copiedColumn) bool { return column.Name == k.Name })
		})}
		r.copies, oids, byOID[c.OID] = append(r.copies, c), append(oids, c.OID), c
	}
	r.triggers, err = rows.Read[trigger](ctx, r.tx, insertTriggersSQL, asJSON(oids))
	for i := range r.triggers {
		t := &r.triggers[i]
		c := *byOID[t.Table]
		c.Screen, c.Partitions, c.Unrelated, c.trigger = "false", nil, nil, t
		if t.Confined {
			r.copies = append(r.copies, &c)
		} else {
			r.untried = append(r.untried, t.Name+" on "+c.Display.String())
		}
	}
	return err
}

func columnNames(columns []plan.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// asJSON returns a list as a parameter of a query.
func asJSON(list any) string {
	text, _ := json.Marshal(list) // Marshal does not fail for strings and numbers
	return string(text)
}

// An attempt is an argument of the function snowflake_attempts.
type attempt struct {
	Prepare []string
	Tries   [][]string
}

// An outcome is the result of one try.
type outcome struct {
	State, Refusal string
	Shown          int64
}

// ask makes attempts, and returns the outcomes of all tries. If the server reports an
// error, such as a timeout, which ends all attempts, it makes each attempt alone.
func (r *trial) ask(ctx context.Context, attempts []attempt) (outcomes []outcome, err error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	if _, err := r.tx.ExecContext(ctx, "SAVEPOINT attempts"); err != nil {
		return nil, err
	}
	outcomes, failure := rows.Read[outcome](ctx, r.tx, "SELECT state, refusal, coalesce(shown, 0) FROM pg_temp.snowflake_attempts($1::text::json)", asJSON(attempts))
	if _, err := r.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT attempts; RELEASE SAVEPOINT attempts"); err != nil || failure == nil {
		return outcomes, err
	}
	if len(attempts) == 1 {
		return slices.Repeat([]outcome{{cmp.Or(pgsql.State(failure), pgsql.QueryCanceled), failure.Error(), 0}}, len(attempts[0].Tries)), nil
	}
	outcomes = nil
	for i := range attempts {
		one, err := r.ask(ctx, attempts[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

// err returns nil if the try succeeded. It returns an [engine.Unanswered] error if the
// server could not judge the key, because of a timeout, a lock, a shutdown, lack of
// resources, or a write that is not allowed.
func (o outcome) err() error {
	if o.State == taken {
		return nil
	}
	err := fmt.Errorf("ERROR: %s (SQLSTATE %s)", o.Refusal, o.State)
	if slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58"}, o.State[:2]) {
		return engine.Unanswered{Cause: err, Written: o.State == readOnlyTransaction}
	}
	return err
}

// Enter implements [engine.Copies]. It copies only the tables that screen does not clear.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) ([]error, error) {
	refusals := make([]error, len(rows))
	screened, err := r.screen(ctx, rows)
	if err != nil {
		return nil, err
	}
	var asked []attempt
	var places []int
	for i, row := range rows {
		c := r.copies[row.Table]
		if screened[row.Table] {
			continue
		}
		prepare := c.create(r.Moved && !row.AsIs)
		if n := len(asked) - 1; n >= 0 && slices.Equal(asked[n].Prepare, prepare) {
			asked[n].Tries = append(asked[n].Tries, c.enter(row))
		} else {
			asked = append(asked, attempt{prepare, [][]string{c.enter(row)}})
		}
		places = append(places, i)
	}
	outcomes, err := r.ask(ctx, asked)
	for i, o := range outcomes {
		c, refusal := r.copies[rows[places[i]].Table], o.err()
		if refusal != nil && c.trigger != nil {
			refusal = fmt.Errorf("trigger %s: %w", c.trigger.Name, refusal)
		}
		refusals[places[i]] = refusal
	}
	return refusals, err
}

// screen returns the tables that accept the rows, and therefore need no copy. It only
// checks rows that have keys in all columns. It saves time because a copy takes about
// twelve milliseconds, and in some schemas most tables have a CHECK.
func (r *trial) screen(ctx context.Context, rows []engine.Row) (passed map[int]bool, err error) {
	var asked []attempt
	var tables []int
	passed = map[int]bool{}
	for _, row := range rows {
		c := r.copies[row.Table]
		switch {
		case len(row.Keys) < len(c.table.Columns) || row.AsIs || slices.Contains(tables, row.Table):
		case c.Screen == "":
			passed[row.Table] = true
		default:
			asked, tables = append(asked, attempt{[]string{}, [][]string{{c.screen(r.Moved, row.Keys)}}}), append(tables, row.Table)
		}
	}
	if len(tables) > 0 && len(passed)+len(tables) == 1 {
		return passed, nil // for a single table, its copy is as fast
	}
	outcomes, err := r.ask(ctx, asked)
	for i, o := range outcomes {
		passed[tables[i]] = o.err() == nil && o.Shown == 1
	}
	return passed, err
}

// A trigger is a row-level trigger that fires for INSERT.
type trigger struct {
	Table              int64
	Name, Drop, Create string
	Before             bool
	Copied             string // the statement that creates it on the copy
	Text               string // the body of its function
	Confined           bool
}

// insertTriggersSQL returns the enabled row-level triggers for INSERT (tgtype & 5 = 5)
// that can change or refuse a row. It excludes a partition's trigger that comes from its
// parent, and deferred triggers, which never run in a trial.
//
// The last column reports whether the trigger can be tried without side effects, and
// judges only the key. The patterns require that the function is in PL/pgSQL and does not
// call a function outside pg_catalog. It must not use statements or functions with
// effects that a rollback does not undo. It must not read a table either, because a row
// with the key may be missing there. The replacement of "distinct from" and "extract(…
// from …)" keeps these from looking like a FROM clause.
const insertTriggersSQL = `
SELECT t.tgrelid::bigint, t.tgname, format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), d.text, t.tgtype & 2 <> 0,
       replace(d.text, format(' ON %I.%I ', n.nspname, c.relname), format(' ON pg_temp.%I ', c.relname)), f.prosrc,
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

// codesSQL returns the functions and procedures whose text contains INSERT, with the
// triggers that call them, and such rules. It excludes the objects of the server and of
// extensions (deptype 'e'). The CASE prevents pg_get_functiondef from being called for an
// aggregate, which would be an error.
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

// Codes implements [engine.Copies].
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

// Assigning implements [engine.Copies]. It analyzes the texts of the functions instead of
// calling them, because a call would advance their sequences.
func (r *trial) Assigning(context.Context) (found []engine.Assigning, err error) {
	for _, t := range r.triggers {
		c := r.copies[slices.IndexFunc(r.copies, func(c *copied) bool { return c.OID == t.Table })]
		if t.Before && sqltext.Sets(t.Text, sqltext.Rules{}, r.Unassigned(c.table)) {
			found = append(found, engine.Assigning{Table: c.Display, Trigger: t.Name, Fix: ": " + t.Drop + "; to restore it: " + t.Create})
		}
	}
	return found, nil
}
