package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Run takes one transaction: PostgreSQL has it for all that a plan does.
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []engine.Statement, s engine.Settings, done func(engine.Statement)) (err error) {
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
func alreadyDone(ctx context.Context, conn *sql.Conn, statements []engine.Statement) (map[string]bool, error) {
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

// explain adds the fix to errors that ask for one. Both drivers for
// PostgreSQL give errors with an SQLSTATE.
func explain(err error) error {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return err
	}
	switch state.SQLState() {
	case "55P03": // lock_not_available
		return fmt.Errorf("%w: another transaction holds a lock on the table; end it, or try again with a longer lock timeout or at a quieter time", err)
	case "40P01": // deadlock_detected
		return fmt.Errorf("%w: another transaction took its locks in another order; try again", err)
	case "42501": // insufficient_privilege
		return fmt.Errorf("%w: the tables' owner may do this", err)
	}
	return err
}

// scriptTimeout is what files wait for a lock: while they do, everybody who
// comes later waits too.
const scriptTimeout = "SET LOCAL lock_timeout = '5s'"

// Script writes no BEGIN: golang-migrate sends the file at once, which makes it
// one transaction, and goose has its own.
func (Engine) Script(statements []engine.Statement, format engine.Format) string {
	return format.Script(append([]string{scriptTimeout}, engine.SQLOf(statements)...))
}
