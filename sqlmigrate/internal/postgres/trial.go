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
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// beginTrial sets up the transaction of a trial. The transaction may write even if
// transactions are read-only by default, but not on a standby, where no temporary table can
// be created. If a lock is not free, or if a key makes an expression run endlessly, the
// timeouts end the attempt, and the table is reported as not tried. The timeouts are much
// longer than an attempt usually takes, so that the result does not depend on the load of
// the server. Without jit, the short queries do not wait for a compiler.
const beginTrial = `SET TRANSACTION READ WRITE;
SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '10s'; SET LOCAL jit = off; SET LOCAL client_min_messages = error;
`

// createAttempts creates a function that makes many attempts in one call, so that a distant
// server needs only one round trip. An attempt is an object with the lists Prepare and
// Tries. For each attempt, the function runs the statements of Prepare, for example to create
// a copy of a table. Then it runs the statements of each try, for example to insert a row,
// and rolls them back before the next try.
//
// The function returns a row for each try, with the SQLSTATE and text of its error, and the
// number of rows of its last statement (GET DIAGNOSTICS). The exception at the end of each
// block rolls the changes of the block back, also after success, which the SQLSTATE GF000
// marks. If Prepare fails, all tries of the attempt get that error.
const createAttempts = `
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

// readOnlyTransaction is the SQLSTATE of a write to a permanent table, which the trial
// does not allow.
const readOnlyTransaction = "25006"

// trySucceeded is the SQLSTATE of a try that succeeded.
const trySucceeded = "GF000"

// Try implements [engine.Engine]. It tries whether the tables accept rows with Snowflake IDs
// of today as keys, and whether the triggers and views on the tables work with these keys.
// The findings report the tables, triggers and views that fail. For most tables, Try
// evaluates a condition (tableCopy.Screen) on constant rows with the keys, because that is
// fast. If the condition is false or fails, Try inserts the rows into a temporary copy of the
// table, which has the name of the table. Each copy is rolled back before the next is
// created.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (engine.Findings, error) {
	if len(t.Tables) == 0 {
		return engine.Findings{}, nil
	}
	return pgsql.Repeat(func() (engine.Findings, error) { return try(ctx, conn, t) })
}

// try tries the keys in one transaction, and returns the findings of Try, which calls it
// again if another session has dropped an object in the meantime.
func try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return found, fmt.Errorf("%s: %w", inspecting, err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, beginTrial+createAttempts); pgsql.State(err) != "" && ctx.Err() == nil {
		// The name is empty because no table can be tried, for example on a standby, or without
		// the right to create temporary objects.
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
		found.Note("No key was tried in these triggers, because of what their functions call, read or write: %s.", engine.List(r.untried))
	}
	if err != nil {
		err = fmt.Errorf("%s: try keys: %w", inspecting, err)
	}
	return found, err
}

// A trial is the transaction of Try. It implements [engine.Copies], which [engine.Trial]
// calls to insert rows with keys of today into copies of tables, to find a constraint,
// trigger or view that fails for them.
type trial struct {
	engine.Trial
	tx       *sql.Tx
	copies   []*tableCopy // the tables, and then a further copy for each trigger that can be tried
	triggers []trigger    // all triggers of the tables
	untried  []string     // the triggers that cannot be tried, for a note
}

// readCopies reads the tables of the trial, and their triggers, into r.copies and
// r.triggers. A table that is not found becomes a note in f.
func (r *trial) readCopies(ctx context.Context, f *engine.Findings) error {
	tables := []map[string]any{}
	for _, t := range r.Trial.Tables {
		tables = append(tables, map[string]any{"name": pgsql.Qualified(t.Schema, t.Name), "keys": columnNames(t.Columns)})
	}
	found, err := rows.Read[tableCopy](ctx, r.tx, copiesSQL, asJSON(tables))
	if err != nil {
		return err
	}
	for i := range found {
		c := &found[i]
		t := r.Trial.Tables[c.Number]
		if c.Name == "" { // to_regclass has not found the table
			f.NotTried(t.TableName(), errors.New("it is not in the search path of this connection"))
			continue
		}
		// Keep the columns that an INSERT can give a key. c.Columns has no generated columns.
		c.table = plan.Table{Schema: c.Display.Schema, Name: c.Display.Name, MaxKey: t.MaxKey, Columns: keepIf(t.Columns, func(k plan.Column) bool {
			return slices.ContainsFunc(c.Columns, func(column copyColumn) bool { return column.Name == k.Name })
		})}
		r.copies = append(r.copies, c)
	}
	return r.readTriggers(ctx, found)
}

// readTriggers reads the triggers of the tables in r.copies. It adds a further copy to
// r.copies for each trigger that can be tried, so that an error shows which trigger refuses
// the key. tables has the tables that a trigger may write.
func (r *trial) readTriggers(ctx context.Context, tables []tableCopy) (err error) {
	oids := []int64{}
	byOID := map[int64]*tableCopy{}
	for _, c := range r.copies {
		oids, byOID[c.OID] = append(oids, c.OID), c
	}
	r.triggers, err = rows.Read[trigger](ctx, r.tx, insertTriggersSQL, asJSON(oids))
	for i := range r.triggers {
		t := &r.triggers[i]
		c := *byOID[t.Table] // a further copy of the table, which gets only columns and this trigger
		c.trigger, c.Partitions, c.UnrelatedChecks = t, nil, nil
		c.Screen = "false" // a real copy is needed, because no condition can replace a trigger
		written, ok := writtenBy(t, c.Name, tables)
		c.written = written
		if t.CanBeTried && ok {
			r.copies = append(r.copies, &c)
		} else {
			r.untried = append(r.untried, t.Name+" on "+c.Display.String())
		}
	}
	return err
}

// writtenBy returns the tables that the trigger may write, because its function mentions
// them. table is the name of the trigger's own table, which is left out. ok is false if
// copies cannot take the place of the tables, because the function names a schema, finds
// temporary tables last, or needs an index.
func writtenBy(t *trigger, table string, tables []tableCopy) (written []*tableCopy, ok bool) {
	text := columnOfRow.ReplaceAllString(t.Text, "")
	for i := range tables {
		c := &tables[i]
		if !c.Root || c.Name == "" || c.Name == table { // "" is a table that was not found
			continue
		}
		named, qualified := mentions(text, c.Name)
		switch {
		case !named:
		case qualified || t.TempLast || t.upserts():
			return nil, false
		case !slices.ContainsFunc(written, func(w *tableCopy) bool { return w.Name == c.Name }):
			written = append(written, c)
		}
	}
	return written, true
}

// columnNames returns the names of the columns.
func columnNames(columns []plan.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// asJSON returns a list as JSON, which is the form in which queries take a list as a
// parameter.
func asJSON(list any) string {
	text, _ := json.Marshal(list) // Marshal does not fail for strings and numbers
	return string(text)
}

// An attempt is an element of the argument of the function snowflake_attempts, which the
// statement createAttempts creates.
type attempt struct {
	Prepare []string
	Tries   [][]string
}

// An outcome is the result of one try. Refusal is the text of the error, and Rows the
// number of rows of the last statement.
type outcome struct {
	State, Refusal string
	Rows           int64
}

// runAttempts makes attempts, and returns the outcomes of all tries, in their order. All
// attempts are made in one call of the function snowflake_attempts. If the server reports
// an error for the whole call, such as a timeout, runAttempts makes each attempt in a call
// of its own. If such a call fails too, all tries of its attempt get the error.
func (r *trial) runAttempts(ctx context.Context, attempts []attempt) (outcomes []outcome, err error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	// The savepoint keeps the transaction usable after an error of the whole call.
	if _, err := r.tx.ExecContext(ctx, "SAVEPOINT attempts"); err != nil {
		return nil, err
	}
	outcomes, failure := rows.Read[outcome](ctx, r.tx, "SELECT state, refusal, coalesce(shown, 0) FROM pg_temp.snowflake_attempts($1::text::json)", asJSON(attempts))
	if _, err := r.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT attempts; RELEASE SAVEPOINT attempts"); err != nil || failure == nil {
		return outcomes, err
	}
	if len(attempts) == 1 { // an error of the driver has no SQLSTATE, and counts as a canceled query
		return slices.Repeat([]outcome{{cmp.Or(pgsql.State(failure), pgsql.QueryCanceled), failure.Error(), 0}}, len(attempts[0].Tries)), nil
	}
	outcomes = nil
	for i := range attempts {
		alone, err := r.runAttempts(ctx, attempts[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, alone...)
	}
	return outcomes, nil
}

// err returns nil if the try succeeded, and otherwise the error of the server. If the error
// does not mean that the server rejects the key, err wraps it in an [engine.Unanswered].
// The first two characters of the SQLSTATE then give the cause, which is the connection
// (08), a write that is not allowed (25), a conflict with another transaction (40), lack of
// resources (53), a lock (55), a timeout or shutdown (57), or the system (58).
func (o outcome) err() error {
	if o.State == trySucceeded {
		return nil
	}
	err := fmt.Errorf("ERROR: %s (SQLSTATE %s)", o.Refusal, o.State)
	if slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58"}, o.State[:2]) {
		// Written is true if a trigger or another function has tried a write that the trial
		// does not allow. The column has then accepted the key, because the server converts
		// the key to the type of the column before it calls a function.
		return engine.Unanswered{Cause: err, Written: o.State == readOnlyTransaction}
	}
	return err
}

// Enter implements [engine.Copies]. It tries to insert each row into a copy of its table,
// and returns for each row the error of the server, or nil. It leaves out the tables that
// accept their rows according to passScreens, because creating a copy takes longer. A copy
// has the column types after the plan if the trial's Moved is true and the row's AsIs is
// false, and otherwise the present types of the table.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) ([]error, error) {
	refusals := make([]error, len(rows))
	passed, err := r.passScreens(ctx, rows)
	if err != nil {
		return nil, err
	}
	var attempts []attempt
	var rowOf []int // the index of the row of each try
	for i, row := range rows {
		c := r.copies[row.Table]
		if passed[row.Table] {
			continue
		}
		prepare := c.create(r.Moved && !row.AsIs)
		// Successive rows of a table share a copy, because each try is rolled back.
		if n := len(attempts) - 1; n >= 0 && slices.Equal(attempts[n].Prepare, prepare) {
			attempts[n].Tries = append(attempts[n].Tries, c.insertRow(row))
		} else {
			attempts = append(attempts, attempt{prepare, [][]string{c.insertRow(row)}})
		}
		rowOf = append(rowOf, i)
	}
	outcomes, err := r.runAttempts(ctx, attempts)
	for i, o := range outcomes {
		c, refusal := r.copies[rows[rowOf[i]].Table], o.err()
		if refusal != nil && c.trigger != nil {
			refusal = fmt.Errorf("trigger %s: %w", c.trigger.Name, refusal)
		}
		refusals[rowOf[i]] = refusal
	}
	return refusals, err
}

// passScreens returns the tables that certainly accept the rows, so that they need no copy,
// by their index in r.copies. It evaluates the condition Screen of a table for the keys of
// a row, which saves time, because a copy takes about twelve milliseconds, and in some
// schemas most tables have a CHECK. It evaluates the condition once for each table, because
// screenQuery tests the keys in all fills, which are the ways to fill the columns without
// keys. It skips rows that lack a key, or are for the present types (AsIs). The trial passes
// such rows only for a single table, of which a copy takes no longer than the condition.
func (r *trial) passScreens(ctx context.Context, rows []engine.Row) (passed map[int]bool, err error) {
	var attempts []attempt
	var tables []int
	passed = map[int]bool{}
	for _, row := range rows {
		c := r.copies[row.Table]
		switch {
		case len(row.Keys) < len(c.table.Columns) || row.AsIs || slices.Contains(tables, row.Table): // needs a copy, or is checked already
		case c.Screen == "":
			passed[row.Table] = true
		default:
			attempts, tables = append(attempts, attempt{[]string{}, [][]string{{c.screenQuery(r.Moved, row.Keys)}}}), append(tables, row.Table)
		}
	}
	if len(tables) > 0 && len(passed)+len(tables) == 1 {
		return passed, nil // for a single table, its copy is as fast
	}
	outcomes, err := r.runAttempts(ctx, attempts)
	for i, o := range outcomes {
		passed[tables[i]] = o.err() == nil && o.Rows == 1
	}
	return passed, err
}
