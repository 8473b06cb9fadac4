package myonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// claimWait is how long a run waits until the session of a previous run has ended. The server
// may still run the last statement of that session, a batch or a change of a table, although
// its client is gone.
const claimWait = 10 * time.Second

// OpenMove implements [engine.Online]. It acquires a named lock of the server, so that only one
// run works in the database. It records the move if it is new, and marks it as open. The end
// of ctx kills no statement, because MariaDB could then keep a table open with only some of its
// triggers, as the package comment explains. The caller passes the error of its work to the
// returned function, which returns this error, or its own error if the caller has none.
func (d Driver) OpenMove(ctx context.Context, conn *sql.Conn, m *engine.Move, _ engine.Settings) (func(error) error, error) {
	session, err := mysql.OpenSession(context.WithoutCancel(ctx), conn, claimWait)
	if err != nil {
		return nil, err
	}
	// restore restores the connection, even if ctx has ended. If the connection is lost, its
	// session on the server may still run a statement. restore does not kill that session,
	// because the session holds the named lock of OpenSession until the statement has ended,
	// and the next run waits for this lock.
	restore := func(err, restoreErr error) error {
		if restoreErr = errors.Join(restoreErr, session.Restore(ctx)); restoreErr != nil {
			engine.Discard(conn)
		}
		if err == nil {
			return restoreErr
		}
		return err
	}
	if err := d.begin(ctx, conn, session, m); err != nil {
		// Do not change column open. If an interrupted run has left it true, begin may have
		// failed before it made MariaDB read the triggers again, and the next run must do so.
		return nil, restore(err, nil)
	}
	return func(err error) error { return restore(err, d.markOpen(ctx, conn, m, false)) }, nil
}

// begin limits the waits of the session for locks to a second, records m if it is a new move,
// and marks it as open. If the move is open already, an earlier run was interrupted, and
// MariaDB may have kept a table open without some of its triggers. So begin makes MariaDB read
// the triggers again.
func (d Driver) begin(ctx context.Context, conn *sql.Conn, session *mysql.Session, m *engine.Move) error {
	if err := session.SetTimeouts(context.WithoutCancel(ctx), 1, 1); err != nil {
		return err
	}
	if m.Began.IsZero() { // not recorded yet
		// If another process has recorded the move since LoadMove, the statement keeps the row
		// of that process.
		err := d.Begin(ctx, conn, m, createJournal, "INSERT INTO "+journal+" (id, plan, began, beat) VALUES (?, ?, ?, began) ON DUPLICATE KEY UPDATE id = id", time.Now().UnixNano())
		if err != nil {
			return err
		}
	}
	var open bool // always false on MySQL, because of the comment in the query
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(open), FALSE) /*!80000 AND FALSE */ FROM "+journal+" WHERE id = ?", m.Plan.ID()).Scan(&open)
	if err != nil {
		return engine.JournalError("open", journal, err)
	}
	if open {
		if err := closeTables(ctx, conn, m); err != nil {
			return fmt.Errorf("sqlmigrate: online: %w", err)
		}
	}
	return d.markOpen(ctx, conn, m, true)
}

// markOpen sets column open of the move in the journal, by which a later run notices that
// this run was interrupted. If open is false, and the journal does not exist, the move has been
// completed, and markOpen returns no error.
func (d Driver) markOpen(ctx context.Context, conn *sql.Conn, m *engine.Move, open bool) error {
	_, err := d.Set(ctx, conn, m, []string{"open"}, open)
	if err != nil && !open && (mysql.Engine{}).Absent(err) {
		return nil
	}
	return err
}

// closeTables makes MariaDB read the triggers of the move's tables again. It blocks a table for
// at most a second.
func closeTables(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	return mysql.CloseTables(ctx, conn, engine.Converted(m.Plan.Tables, func(t plan.TableName) string { return t.Name }))
}
