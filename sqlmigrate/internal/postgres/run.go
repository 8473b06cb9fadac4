package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Run implements [engine.Engine]. It runs all statements in one transaction, because
// PostgreSQL supports transactions for all statements of a plan. Run skips a statement that
// an earlier run has done, but calls done after it too.
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s engine.Settings, done func(plan.Statement)) (err error) {
	session, err := begin(ctx, conn, s.Pool)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = session.rollback(ctx, err)
		}
	}()
	if err := session.lockTimeout(ctx, s.LockTimeout); err != nil {
		return err
	}
	if err := session.watchClient(ctx); err != nil {
		return err
	}
	doneBefore, err := alreadyDone(ctx, conn, statements)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if !doneBefore[statement.Unless] {
			if err := session.exec(ctx, statement.SQL); err != nil {
				return explain(err)
			}
		}
		done(statement)
	}
	return session.exec(ctx, "COMMIT")
}

// alreadyDone returns the answer of each Unless query, which is true if an earlier run has
// done the statement. The key of the result is the query. alreadyDone evaluates all queries
// before the first statement, because the statements of this transaction would change their
// answers. That is enough, because an earlier run has committed either the whole
// transaction or no statement of it. A statement without a query always runs.
func alreadyDone(ctx context.Context, conn *sql.Conn, statements []plan.Statement) (map[string]bool, error) {
	done := map[string]bool{"": false}
	for _, statement := range statements {
		if _, known := done[statement.Unless]; known {
			continue
		}
		var isDone bool
		if err := conn.QueryRowContext(ctx, statement.Unless).Scan(&isDone); err != nil {
			return nil, err
		}
		done[statement.Unless] = isDone
	}
	return done, nil
}

// scriptTimeout sets the lock timeout at the beginning of a migration file. It is short
// because later sessions wait behind the file while it waits for a lock.
const scriptTimeout = "SET LOCAL lock_timeout = '5s'"

// Script implements [engine.Engine]. It returns the text of a migration file that runs
// the statements. It does not write BEGIN. golang-migrate sends the whole file at once,
// which makes it one transaction, and goose begins a transaction itself.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	return format.Script(append([]string{scriptTimeout}, engine.SQLOf(statements)...))
}

// A session is a transaction on a connection. It is not an [sql.Tx], because database/sql
// rolls an sql.Tx back as soon as its context ends.
type session struct {
	conn    *sql.Conn
	pool    *sql.DB
	backend pgsql.Backend
}

// begin begins a transaction on conn. The transaction takes an advisory lock with a random
// key, which the server releases with the transaction. If a rollback fails, another
// connection ends the session, which it recognizes by this lock (see [pgsql.Backend]). That
// connection comes from pool, which may be nil.
func begin(ctx context.Context, conn *sql.Conn, pool *sql.DB) (*session, error) {
	s := &session{conn, pool, pgsql.Backend{Key: strconv.FormatInt(rand.Int64(), 10)}}
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_backend_pid() FROM pg_catalog.pg_advisory_xact_lock("+s.backend.Key+")").Scan(&s.backend.PID)
	if err != nil {
		return nil, s.rollback(ctx, err)
	}
	return s, nil
}

// lockTimeout sets the lock timeout for the transaction to d. If d is zero or less, the
// setting of the server stays. The timeout is at least a millisecond, because the server
// takes 0 for no timeout.
func (s *session) lockTimeout(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", max(1, int64(d/time.Millisecond))))
}

// watchClient makes the server notice within a second that the client has gone, for example
// because the program was killed, and end its statement, even while the statement waits for
// a lock. If the setting has another value than 0, a user has chosen it, and it stays.
// Servers before PostgreSQL 14 and some platforms do not support the setting, so errors are
// ignored.
func (s *session) watchClient(ctx context.Context) error {
	return s.exec(ctx, `DO $$ BEGIN
  IF current_setting('client_connection_check_interval', true) = '0' THEN
    PERFORM pg_catalog.set_config('client_connection_check_interval', '1s', true);
  END IF;
EXCEPTION WHEN OTHERS THEN NULL;
END $$`)
}

// exec runs a statement. It checks the context first, because pgx reports a bad
// connection if the context has ended, and database/sql would then close the connection.
func (s *session) exec(ctx context.Context, statement string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// rollback rolls the transaction back after err, and returns err. It does so even if ctx
// has ended. If the rollback fails, it ends the server's session over another connection of
// the pool, so that no statement of the session continues to hold locks.
func (s *session) rollback(ctx context.Context, err error) error {
	rollbackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
	defer cancel()
	if _, rollbackErr := s.conn.ExecContext(rollbackCtx, "ROLLBACK"); rollbackErr == nil {
		return err
	}
	return engine.EndBackend(ctx, s.conn, s.pool, s.backend, err)
}

// fixes maps the SQLSTATE of an error to advice for the user, which explain appends to the
// error.
var fixes = map[string]string{
	pgsql.LockNotAvailable:      "another transaction holds a lock on the table; end it, or try again with a longer lock timeout or at a quieter time",
	pgsql.DeadlockDetected:      "another transaction took its locks in another order; try again",
	pgsql.InsufficientPrivilege: "the tables' owner may do this",
}

// explain adds the server's detail and hint to an error, because the texts of the drivers'
// errors leave them out, and the advice of fixes if there is one. After a lock timeout, it
// also adds the first line of the context (Where), which names the LOCK TABLE statement
// that waited.
func explain(err error) error {
	var server interface {
		error
		SQLState() string
	}
	if !errors.As(err, &server) {
		return err
	}
	for _, field := range []string{"Detail", "Hint"} {
		if text := fieldOf(server, field); text != "" {
			err = fmt.Errorf("%w: %s: %s", err, field, text)
		}
	}
	if where, _, _ := strings.Cut(fieldOf(server, "Where"), "\n"); where != "" && server.SQLState() == pgsql.LockNotAvailable {
		err = fmt.Errorf("%w: %s", err, where)
	}
	if fix := fixes[server.SQLState()]; fix != "" {
		err = fmt.Errorf("%w: %s", err, fix)
	}
	return err
}

// fieldOf returns a field of a driver's error by reflection, because this package imports
// neither driver. pgx and pq use the same names for the fields. It returns "" if there is
// no such field.
func fieldOf(err error, name string) string {
	value := reflect.Indirect(reflect.ValueOf(err))
	if value.Kind() != reflect.Struct {
		return ""
	}
	if field := value.FieldByName(name); field.IsValid() && field.Kind() == reflect.String {
		return field.String()
	}
	return ""
}
