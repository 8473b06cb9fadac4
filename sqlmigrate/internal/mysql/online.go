package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

var _ engine.Online = Online{}

// onlineTable has a row for each move that is under way.
const onlineTable = "sqlmigrate_online"

const createOnline = "CREATE TABLE IF NOT EXISTS `" + onlineTable + "` (began bigint NOT NULL PRIMARY KEY, move longtext NOT NULL) " +
	"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: an online widening that is under way'"

// LoadMove implements [engine.Online].
func (Online) LoadMove(ctx context.Context, conn *sql.Conn, tables []engine.TableName) (*engine.Move, error) {
	in := &inspection{ctx: ctx, conn: conn}
	if err := in.readServer(); err != nil {
		return nil, err
	}
	var there bool
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE "+whereTable(engine.TableName{Name: onlineTable})).Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	var found *engine.Move
	err = in.query("SELECT move FROM "+quote(onlineTable)+" ORDER BY began", func(scan func(...any) error) error {
		var text []byte
		m := &engine.Move{Recorded: true}
		if err := errors.Join(scan(&text), json.Unmarshal(text, m)); err != nil {
			return err
		}
		if slices.ContainsFunc(m.Plan.Tables, func(t engine.TableName) bool {
			return slices.ContainsFunc(tables, func(wanted engine.TableName) bool { return in.normal(wanted) == t })
		}) {
			found = m
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: read table %s, which has what is under way: %w", onlineTable, err)
	}
	return found, nil
}

// OpenMove implements [engine.Online].
func (Online) OpenMove(ctx context.Context, conn *sql.Conn, m *engine.Move, s engine.OnlineSettings) (func(error) error, error) {
	session, err := openSession(ctx, conn, inspectWait)
	if err != nil {
		return nil, err
	}
	release := func(err error) error {
		if session.restore() != nil {
			return engine.EndBackend(ctx, conn, s.Pool, backend{session.id, session.name}, err)
		}
		return err
	}
	if err := session.setTimeouts(1, 1); err != nil {
		return nil, release(err)
	}
	if m.Recorded {
		return release, nil
	}
	if m.Began.IsZero() {
		m.Began = time.Now()
	}
	_, err = conn.ExecContext(ctx, createOnline)
	if err == nil {
		err = saveMove(ctx, conn, m)
	}
	if err != nil {
		return nil, release(err)
	}
	return release, nil
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func saveMove(ctx context.Context, conn execer, m *engine.Move) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO "+quote(onlineTable)+fmt.Sprintf(" VALUES (%d, ", m.Began.UnixNano())+literal(string(text))+
		") ON DUPLICATE KEY UPDATE move = VALUES(move)")
	return err
}

// SaveMove implements [engine.Online].
func (Online) SaveMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	return saveMove(ctx, conn, m)
}

// CloseMove implements [engine.Online].
func (Online) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s WHERE began = %d", quote(onlineTable), m.Began.UnixNano())); err != nil {
		return err
	}
	return carryOut(ctx, conn, engine.Statement{SQL: "DROP TABLE " + quote(onlineTable), Unless: "SELECT COUNT(*) > 0 FROM " + quote(onlineTable)})
}

// RunStep implements [engine.Online].
//
// The end of ctx does not interrupt what is short: MariaDB 10.11 that is told to
// end a connection while that reads the triggers of a table keeps them as
// unreadable, and every write of other programs fails with error 1064.
func (Online) RunStep(ctx context.Context, conn *sql.Conn, step *engine.OnlineStep, next *engine.Move, s engine.OnlineSettings) error {
	var err error
	switch step.Kind {
	case engine.Verify:
		err = runVerify(ctx, conn, step)
	case engine.Short:
		err = short(context.WithoutCancel(ctx), conn, step, s)
	default:
		err = runAll(ctx, conn, step)
	}
	if err != nil {
		return err
	}
	return saveMove(context.WithoutCancel(ctx), conn, next)
}

// short ends what waits for a lock for too long, and leaves no setting of a step
// behind.
func short(ctx context.Context, conn *sql.Conn, step *engine.OnlineStep, s engine.OnlineSettings) error {
	stop, err := watch(ctx, conn, s)
	if err != nil {
		return err
	}
	defer stop()
	err = runAll(ctx, conn, step)
	_, checks := conn.ExecContext(ctx, "SET SESSION foreign_key_checks = 1")
	return firstOf(err, checks)
}

// watch ends a statement of conn that is found waiting for a lock, at intervals of
// s.LockWait: the servers' own timeout counts in seconds. Without another
// connection there is that one alone.
func watch(ctx context.Context, conn *sql.Conn, s engine.OnlineSettings) (stop func(), err error) {
	if s.Pool == nil {
		return func() {}, nil
	}
	var id int64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return nil, err
	}
	other, err := s.Pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer other.Close() //nolint:errcheck // it only watched
		ticker := time.NewTicker(s.LockWait)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				endWaiting(ctx, other, id)
			}
		}
	}()
	return func() { close(over); <-ended }, nil
}

// endWaiting ends it only while it waits, not while it works.
func endWaiting(ctx context.Context, other *sql.Conn, id int64) {
	var waits bool
	err := other.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d AND STATE LIKE 'Waiting for table%%'", id)).Scan(&waits)
	if err == nil && waits {
		_, _ = other.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", id)) // it may have ended by now
	}
}

func runAll(ctx context.Context, conn *sql.Conn, step *engine.OnlineStep) error {
	if step.Unless != "" {
		var over bool
		if err := conn.QueryRowContext(ctx, step.Unless).Scan(&over); err != nil || over {
			return err
		}
	}
	for _, s := range step.SQL {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// A differError is the result of a comparison.
type differError struct{ rows int64 }

func (e differError) Error() string { return engine.Count(e.rows, "row") + " found, want none" }

func runVerify(ctx context.Context, conn *sql.Conn, step *engine.OnlineStep) error {
	var rows int64
	if err := conn.QueryRowContext(ctx, step.SQL[0]).Scan(&rows); err != nil || rows == 0 {
		return err
	}
	if strings.Contains(step.SQL[0], differing) {
		return differError{rows}
	}
	if strings.HasPrefix(step.SQL[0], countOrphans) {
		return fmt.Errorf("%s, found by: %s", engine.Count(rows, "row"), step.SQL[0])
	}
	return errors.New(step.Text)
}

// Differs implements [engine.Online].
func (Online) Differs(err error) bool { return errors.As(err, &differError{}) }

// RunBatch implements [engine.Online]. For ctx, see [Online.RunStep].
func (Online) RunBatch(ctx context.Context, conn *sql.Conn, step *engine.OnlineStep, next *engine.Move, rows int, _ engine.OnlineSettings) (b engine.Batch, err error) {
	ctx = context.WithoutCancel(ctx)
	if next.Position == 0 && next.Until == 0 {
		if err := conn.QueryRowContext(ctx, step.SQL[2]).Scan(&next.Position, &next.Until); err != nil {
			return b, err
		}
	}
	to := next.Until
	err = conn.QueryRowContext(ctx, step.SQL[1], next.Position, rows-1).Scan(&to)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return b, err
	}
	to = min(to, next.Until)
	b.Last = to >= next.Until
	begun := time.Now()
	copied, err := batch(ctx, conn, step.SQL[0], next, to, &b)
	b.Took, b.Copied = time.Since(begun), int(copied)
	return b, err
}

// batch copies and records in one transaction. READ COMMITTED locks no gaps, so
// new rows can come; a trigger copies them.
func batch(ctx context.Context, conn *sql.Conn, statement string, next *engine.Move, to int64, b *engine.Batch) (int64, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	result, err := tx.ExecContext(ctx, statement, next.Position, to)
	if err != nil {
		return 0, err
	}
	copied, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if err := noWarnings(ctx, tx); err != nil {
		return 0, err
	}
	next.Position, next.Copied = to, next.Copied+copied
	if err := saveMove(ctx, tx, next); err != nil {
		return 0, err
	}
	begun := time.Now()
	err = tx.Commit()
	b.Commit = time.Since(begun)
	return copied, err
}

// noWarnings refuses a batch of which the server says that a value was changed.
func noWarnings(ctx context.Context, tx *sql.Tx) error {
	var level, text string
	var code int
	err := tx.QueryRowContext(ctx, "SHOW WARNINGS LIMIT 1").Scan(&level, &code, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && level == "Note":
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the copy has a warning: %s %d: %s", level, code, text)
}

// Retry implements [engine.Online].
func (Online) Retry(ctx context.Context, conn *sql.Conn, _ *engine.OnlineStep, err error) (bool, string) {
	for _, code := range []string{"Error 1205", "Error 1213", "Error 1317"} { // no lock in time, deadlock, ended by watch
		if strings.Contains(err.Error(), code) {
			return true, holderOf(ctx, conn)
		}
	}
	return false, ""
}

// holderOf is the oldest transaction, if the account may see it.
func holderOf(ctx context.Context, conn *sql.Conn) string {
	var text string
	err := conn.QueryRowContext(ctx, "SELECT CONCAT('connection ', trx_mysql_thread_id, ' has a transaction since ', trx_started) "+
		"FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY trx_started LIMIT 1").Scan(&text)
	if err != nil {
		return ""
	}
	return text
}

// Lag implements [engine.Online]. A primary does not know it.
func (Online) Lag(context.Context, *sql.Conn) (time.Duration, error) { return 0, nil }
