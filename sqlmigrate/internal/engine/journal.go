package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Journal reads and writes the journal of online moves, which is the table
// sqlmigrate_online. A database stores its online moves and their progress in this table, a
// row for each move. The ID of a move is the name of its first table. A table can be in one
// move only. The drivers of online moves embed a Journal, and set its fields for their
// database.
//
// Do not confuse it with the table sqlmigrate_journal, in which the [Engine] of MySQL and
// MariaDB keeps definitions that an interrupted phase would lose.
type Journal struct {
	Table func(m *Move) string      // returns the name of the journal, as SQL writes it
	Mark  func(argument int) string // returns the placeholder of an argument; arguments are counted from 1
	Began string                    // an SQL expression for the start of the move in nanoseconds since 1970
	Parts string                    // the objects that a move adds, except triggers, in words for an error
}

// Find returns the stored move that contains any of the tables, or nil if there is none.
// table is the name of the journal, as SQL writes it. Find reads all moves, because a move
// is stored under the name of its first table only.
func (j Journal) Find(ctx context.Context, from rows.Querier, table string, tables []plan.TableName) (*Move, error) {
	found, err := rows.Read[struct {
		Move
		Began int64
	}](ctx, from, "SELECT plan, back, stage, done, position, until, copied, rate, waits, steering, "+j.Began+" FROM "+table+" ORDER BY id")
	for _, row := range found { // there are no rows after an error
		m := row.Move
		m.Began = time.Unix(0, row.Began)
		if slices.ContainsFunc(tables, func(t plan.TableName) bool { return slices.Contains(m.Plan.Tables, t) }) {
			return &m, nil
		}
	}
	return nil, JournalError("read", table, err)
}

// JournalError wraps err with the operation that failed, for example "read", and table,
// the name of the journal. It returns nil if err is nil.
func JournalError(operation, table string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlmigrate: online: %s table %s: %w", operation, table, err)
}

// Begin records a new move. It runs two statements: create creates the journal if the table
// does not exist, and insert adds the row of the move. The parameters of insert are the ID
// of the move, its plan as JSON, and began, which is the present time in the type of the
// column began.
func (j Journal) Begin(ctx context.Context, conn *sql.Conn, m *Move, create, insert string, began any) error {
	plan, err := json.Marshal(m.Plan)
	if err == nil {
		_, err = conn.ExecContext(ctx, create)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, insert, m.Plan.ID(), string(plan), began)
	}
	return JournalError("write", j.Table(m), err)
}

// Set sets columns in the row of the move, and returns the number of rows that the database
// counts as changed. It writes even if ctx has ended, because work that is complete must be
// recorded.
func (j Journal) Set(ctx context.Context, conn Conn, m *Move, columns []string, values ...any) (n int64, err error) {
	set := make([]string, len(columns))
	for i, column := range columns {
		set[i] = column + " = " + j.Mark(i+1)
	}
	statement := "UPDATE " + j.Table(m) + " SET " + strings.Join(set, ", ") + " WHERE id = " + j.Mark(len(columns)+1)
	result, err := conn.ExecContext(context.WithoutCancel(ctx), statement, append(values, m.Plan.ID())...)
	if err == nil {
		n, err = result.RowsAffected()
	}
	return n, JournalError("write", j.Table(m), err)
}

// SaveMove implements [Online]. It records the progress of the move in its row, and
// returns an error if the row does not exist any more.
func (j Journal) SaveMove(ctx context.Context, conn Conn, m *Move) error {
	n, err := j.Set(ctx, conn, m, []string{"back", "stage", "done", "position", "until", "copied", "rate", "waits"},
		m.Back, m.From, m.Done, m.Position, m.Until, m.Copied, m.Rate, m.Waits)
	if err != nil || n > 0 {
		return err
	}
	return j.Check(ctx, conn, m) // n is 0 also if the row has had these values before, because MariaDB does not count such a row
}

// Check returns an error if the journal has no row of the move any more, for example
// because a user has restored the table from a backup. Without the row, the progress of
// the move is unknown, so no further step may run.
func (j Journal) Check(ctx context.Context, conn Conn, m *Move) error {
	var exists bool
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM "+j.Table(m)+" WHERE id = "+j.Mark(1), m.Plan.ID()).Scan(&exists)
	if err == nil && !exists {
		return fmt.Errorf("sqlmigrate: online: table %s has lost the move of table %s: restore it from a backup, or drop %s and triggers by hand", j.Table(m), m.Plan.ID(), j.Parts)
	}
	return JournalError("read", j.Table(m), err)
}

// Steer implements [Online]. It records m.Steering in the row of the move. These are the
// requests of an operator, such as a pause, to the process that runs the move.
func (j Journal) Steer(ctx context.Context, conn *sql.Conn, m *Move) error {
	text, err := json.Marshal(m.Steering)
	if err == nil {
		_, err = j.Set(ctx, conn, m, []string{"steering"}, string(text))
	}
	return err
}
