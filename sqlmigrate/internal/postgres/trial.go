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

// beginTrial sets up the transaction of a trial, even if transactions are read-only by
// default. It fails on a standby, where no temporary table can be created. If a lock is
// not free, or if a key makes an expression run endlessly, the timeouts end the attempt,
// and the table is reported as not tried. They are much longer than an attempt usually
// takes, so that the result does not depend on the load of the server. Without jit, the
// short queries do not wait for a compiler.
const beginTrial = `SET TRANSACTION READ WRITE;
SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '10s'; SET LOCAL jit = off; SET LOCAL client_min_messages = error;
`

// createAttempts creates a function that makes many attempts in one call, so that a
// distant server needs only one round trip. An attempt runs the statements of Prepare,
// for example to create a copy of a table, and then each try on its own, for example to
// insert a row. The exception at the end of each block rolls its changes back, also after
// success, which the SQLSTATE GF000 marks. GET DIAGNOSTICS returns the number of rows of
// the last statement. If Prepare fails, all its tries get that error.
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

// Try implements [engine.Engine]. It tries whether the tables accept rows with the keys
// that are issued today, and whether their triggers and views work with them. It returns
// those that do not as findings. For most tables, it evaluates a condition
// (tableCopy.Screen) on constant rows with the keys, because that is fast. The tables
// whose condition is false or fails are copied to temporary tables of the same name, each
// of which is rolled back before the next is created.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (engine.Findings, error) {
	if len(t.Tables) == 0 {
		return engine.Findings{}, nil
	}
	return pgsql.Repeat(func() (engine.Findings, error) { return try(ctx, conn, t) })
}

// try tries the keys once, and returns the findings of Try.
func try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return found, fmt.Errorf("%s: %w", inspecting, err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, beginTrial+createAttempts); pgsql.State(err) != "" && ctx.Err() == nil {
		found.NotTried(plan.TableName{}, err) // for example on a standby, or without the right to create temporary objects
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

// readCopies reads the tables to copy and their triggers. It adds a further copy for each
// trigger that can be tried, so that an error shows which trigger refuses the key.
func (r *trial) readCopies(ctx context.Context, f *engine.Findings) error {
	tables := []map[string]any{}
	for _, t := range r.Trial.Tables {
		tables = append(tables, map[string]any{"name": pgsql.Qualified(t.Schema, t.Name), "keys": columnNames(t.Columns)})
	}
	found, err := rows.Read[tableCopy](ctx, r.tx, copiesSQL, asJSON(tables))
	if err != nil {
		return err
	}
	oids := []int64{}
	byOID := map[int64]*tableCopy{}
	for i := range found {
		c := &found[i]
		t := r.Trial.Tables[c.Number]
		if c.Name == "" { // to_regclass has not found the table
			f.NotTried(t.TableName(), errors.New("it is not in the search path of this connection"))
			continue
		}
		// The table of a trial may be a partition that has fewer columns with keys.
		c.table = plan.Table{Schema: c.Display.Schema, Name: c.Display.Name, MaxKey: t.MaxKey, Columns: keepIf(t.Columns, func(k plan.Column) bool {
			return slices.ContainsFunc(c.Columns, func(column copyColumn) bool { return column.Name == k.Name })
		})}
		r.copies, oids, byOID[c.OID] = append(r.copies, c), append(oids, c.OID), c
	}
	r.triggers, err = rows.Read[trigger](ctx, r.tx, insertTriggersSQL, asJSON(oids))
	for i := range r.triggers {
		t := &r.triggers[i]
		c := *byOID[t.Table]                                                        // a further copy of the table, with this trigger
		c.Screen, c.Partitions, c.UnrelatedChecks, c.trigger = "false", nil, nil, t // no condition replaces a trigger
		written, ok := writtenBy(t, c.Name, found)
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
// them. table is the name of the trigger's own table. writtenBy returns false if copies
// cannot take the place of the tables, because the function names a schema, finds temporary
// tables last, or needs an index.
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

// asJSON returns a list as a parameter of a query.
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

// runAttempts makes attempts, and returns the outcomes of all tries, in their order. If
// the server reports an error for the whole call, such as a timeout, it makes each
// attempt alone.
func (r *trial) runAttempts(ctx context.Context, attempts []attempt) (outcomes []outcome, err error) {
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
	if len(attempts) == 1 { // all its tries get the error; an error of the driver counts as a canceled query
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

// err returns nil if the try succeeded. It returns an [engine.Unanswered] error if the
// server could not judge the key. The first two characters of the SQLSTATE then give the
// cause, which is the connection (08), a write that is not allowed (25), a conflict with
// another transaction (40), lack of resources (53), a lock (55), a timeout or shutdown
// (57), or the system (58).
func (o outcome) err() error {
	if o.State == trySucceeded {
		return nil
	}
	err := fmt.Errorf("ERROR: %s (SQLSTATE %s)", o.Refusal, o.State)
	if slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58"}, o.State[:2]) {
		// The server writes the key to its copy before it reaches a write that the trial
		// does not allow, so it has accepted the key.
		return engine.Unanswered{Cause: err, Written: o.State == readOnlyTransaction}
	}
	return err
}

// Enter implements [engine.Copies]. It tries to insert each row, and returns for each row
// the error of the server, or nil. It creates copies only of the tables for which
// passScreens has not shown already that they accept their rows.
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
		// Successive rows of a table share a copy, because each try is rolled back.
		prepare := c.create(r.Moved && !row.AsIs)
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

// passScreens returns the tables that accept the rows, and therefore need no copy, by
// their number in r.copies. It only checks rows that have keys in all columns. The
// screenQuery of a table covers both fills, so each table is checked once. It saves time
// because a copy takes about twelve milliseconds, and in some schemas most tables have a
// CHECK.
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
