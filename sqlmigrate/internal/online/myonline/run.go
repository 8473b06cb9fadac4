package myonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// RunStep implements [engine.Online]. It runs a step, and then records next, the move with the
// step done. A statement runs to its end even if ctx ends, because MariaDB can damage a table
// if a statement is killed, as the package comment explains. If ctx ends during a comparison,
// which has many statements, RunStep stops between two of them.
func (d Driver) RunStep(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *engine.Move, s engine.Settings) error {
	stoppable, ctx := ctx, context.WithoutCancel(ctx)
	if err := d.Check(ctx, conn, next); err != nil { // for example because the journal has lost the move
		return err
	}
	if strings.HasPrefix(step.SQL[0], renamePrefix) { // the step of stage swap that renames the tables
		if err := checkTriggers(ctx, conn, next.Plan.Tables); err != nil {
			return err
		}
	}
	var err error
	switch {
	case step.Kind == plan.Short:
		err = runShort(ctx, conn, step, s)
	case step.Kind == plan.Verify && len(step.SQL) > 1: // only comparisons have further queries
		err = compare(stoppable, conn, step)
	default:
		err = engine.RunLong(ctx, conn, step)
	}
	if err != nil {
		return err
	}
	return d.SaveMove(ctx, conn, next)
}

// checkTriggers returns an error if triggers of the move are missing just before a RENAME. The
// step of unchangedStep has checked them already. But since then an earlier attempt of the
// RENAME may have been killed, after which MariaDB may have lost the triggers of a table.
func checkTriggers(ctx context.Context, conn *sql.Conn, tables []plan.TableName) error {
	names := mycatalog.Join(tables, ", ", func(t plan.TableName) string { return mycatalog.Literal(t.Name) })
	var n int
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE IN ("+names+")").Scan(&n)
	if want := len(events) * len(tables); err == nil && n != want {
		return fmt.Errorf("the tables have %d triggers that can be read, want %d, the move's own: writes since then are in the old tables alone: take the move back and plan it again", n, want)
	}
	return err
}

// runShort runs the statements of a short step, each with limited waits for locks. Even after
// an error, it releases the locks that a LOCK TABLES of the step has taken, and turns the
// check of foreign keys on again, which some steps turn off.
func runShort(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, s engine.Settings) error {
	w, err := newWaiter(ctx, conn, s)
	if err != nil {
		return err
	}
	for _, statement := range step.SQL {
		if err = w.runPolitely(ctx, statement); err != nil {
			break
		}
	}
	for _, statement := range []string{"UNLOCK TABLES", "SET SESSION foreign_key_checks = 1"} {
		_, failed := conn.ExecContext(ctx, statement)
		err = errors.Join(err, failed)
	}
	return err
}

// RunBatch implements [engine.Online]. A position is a value of the first column of the
// primary key. The batch copies about rows rows, from the first row after next.Position on.
// next.Until is the largest value of the column before the first batch. Rows with larger
// values need no copy, because triggers have copied them.
//
// The statements of the step are, in order, the copy of the rows between two positions, the
// query for the position a number of rows later, and the query for the first and the last
// position.
func (d Driver) RunBatch(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *engine.Move, rows int, _ engine.Settings) (b engine.Batch, err error) {
	ctx = context.WithoutCancel(ctx)
	if next.Position == 0 && next.Until == 0 { // before the first batch
		if err := conn.QueryRowContext(ctx, step.SQL[2]).Scan(&next.Position, &next.Until); err != nil {
			return b, err
		}
	}
	// The second query returns no row if fewer rows are left than the batch may have. Then the
	// batch ends at Until.
	to := next.Until
	err = conn.QueryRowContext(ctx, step.SQL[1], next.Position, rows-1).Scan(&to)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return b, err
	}
	to = min(to, next.Until)
	b.Last = to >= next.Until
	begun := time.Now()
	err = d.copyBatch(ctx, conn, step.SQL[0], next, to, &b)
	b.Took = time.Since(begun)
	return b, err
}

// copyBatch copies the rows after next.Position up to position to, and records the batch, in
// one transaction. It sets next.Position, next.Copied, b.Copied and b.Commit. The isolation
// level READ COMMITTED does not lock the gaps between keys, so programs can insert
// rows there, which a trigger copies.
func (d Driver) copyBatch(ctx context.Context, conn *sql.Conn, statement string, next *engine.Move, to int64, b *engine.Batch) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	result, err := tx.ExecContext(ctx, statement, next.Position, to)
	if err != nil {
		return err
	}
	copied, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if err := noWarnings(ctx, tx); err != nil {
		return err
	}
	b.Copied, next.Position, next.Copied = int(copied), to, next.Copied+copied
	if err := d.SaveMove(ctx, tx, next); err != nil {
		return err
	}
	begun := time.Now()
	err = tx.Commit()
	b.Commit = time.Since(begun)
	return err
}

// valuesDeprecated is the code of MySQL's warning that the function VALUES in an upsert is
// deprecated. The copy uses this function on both servers, because MariaDB does not support
// its replacement.
const valuesDeprecated = 1287

// noWarnings returns an error if the last statement has left a warning. Such a statement may
// have stored or returned another value than it should, for example a text that the server has
// cut. After a statement of copyBatch, the copy could differ from the table. After a query of
// equalInRanges, the compared texts might not contain all values. noWarnings ignores warnings
// of level Note, and of the code valuesDeprecated, because they do not concern values.
func noWarnings(ctx context.Context, conn rows.Querier) error {
	warnings, err := rows.Read[struct {
		Level string
		Code  int
		Text  string
	}](ctx, conn, "SHOW WARNINGS")
	for _, w := range warnings {
		if w.Level != "Note" && w.Code != valuesDeprecated {
			return fmt.Errorf("the server has warned: %s %d: %s", w.Level, w.Code, w.Text)
		}
	}
	return err
}
