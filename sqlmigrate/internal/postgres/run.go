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

// Run takes one transaction: PostgreSQL has it for all that a plan does.
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
	over, err := alreadyDone(ctx, conn, statements)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if !over[statement.Unless] {
			if err := session.exec(ctx, statement.SQL); err != nil {
				return explain(err)
			}
		}
		done(statement)
	}
	return session.exec(ctx, "COMMIT")
}

// alreadyDone asks before the first statement what has been done: all of it or
// nothing, since an earlier run was one transaction too.
func alreadyDone(ctx context.Context, conn *sql.Conn, statements []plan.Statement) (map[string]bool, error) {
	over := map[string]bool{"": false}
	for _, statement := range statements {
		if _, asked := over[statement.Unless]; asked {
			continue
		}
		var is bool
		if err := conn.QueryRowContext(ctx, statement.Unless).Scan(&is); err != nil {
			return nil, err
		}
		over[statement.Unless] = is
	}
	return over, nil
}

// scriptTimeout is what files wait for a lock: while they do, everybody who
// comes later waits too.
const scriptTimeout = "SET LOCAL lock_timeout = '5s'"

// Script writes no BEGIN: golang-migrate sends the file at once, which makes it
// one transaction, and goose has its own.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	return format.Script(append([]string{scriptTimeout}, engine.SQLOf(statements)...))
}

// A session is one transaction. It is not an [sql.Tx], because that is rolled
// back with the context that it began with, or behind the caller's back.
type session struct {
	conn    *sql.Conn
	pool    *sql.DB
	backend pgsql.Backend
}

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

func (s *session) lockTimeout(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", max(1, int64(d/time.Millisecond))))
}

// watchClient makes the server end a statement whose client is gone, such as a
// program that was killed, also while it waits for a lock. Servers before
// PostgreSQL 14, and some platforms, cannot.
func (s *session) watchClient(ctx context.Context) error {
	return s.exec(ctx, `DO $$ BEGIN
  IF current_setting('client_connection_check_interval', true) = '0' THEN
    PERFORM pg_catalog.set_config('client_connection_check_interval', '1s', true);
  END IF;
EXCEPTION WHEN OTHERS THEN NULL;
END $$`)
}

// exec asks the context itself: of one that has ended, pgx reports that the
// connection is bad, which database/sql then closes.
func (s *session) exec(ctx context.Context, statement string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// rollback returns err when the server has done so, or is told to over another
// connection.
func (s *session) rollback(ctx context.Context, err error) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
	defer cancel()
	if _, failed := s.conn.ExecContext(own, "ROLLBACK"); failed == nil {
		return err
	}
	return engine.EndBackend(ctx, s.conn, s.pool, s.backend, err)
}

// fixes of errors, by their state.
var fixes = map[string]string{
	pgsql.LockNotAvailable:      "another transaction holds a lock on the table; end it, or try again with a longer lock timeout or at a quieter time",
	pgsql.DeadlockDetected:      "another transaction took its locks in another order; try again",
	pgsql.InsufficientPrivilege: "the tables' owner may do this",
}

// explain adds what the server has said of the cause, which the text of the
// drivers' errors leaves out, and the fix to errors that ask for one.
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

// fieldOf reads a field that both drivers' errors have under the same name: this
// package imports neither.
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
