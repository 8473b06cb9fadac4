package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Run implements [engine.Engine]. It runs the statements in one transaction. It sets
// busy_timeout, which limits the wait for locks, and restores it at the end. The
// transaction takes the writer lock at its beginning (BEGIN IMMEDIATE). If it took the lock
// after it has read, SQLite could return an error at once instead of waiting for the lock.
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s engine.Settings, done func(plan.Statement)) (err error) {
	restore := func() error { return nil }
	if s.LockTimeout > 0 {
		// A busy_timeout of 0 would mean not to wait at all.
		restore, err = setPragma(ctx, conn, "busy_timeout", max(1, s.LockTimeout.Milliseconds()))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if ctx.Err() != nil { // the transaction may have begun nevertheless
			err = errors.Join(err, endTransaction(ctx, conn))
		}
		return fmt.Errorf("take the writer lock: %w", err)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement.SQL); err != nil {
			return errors.Join(err, rollback(ctx, conn))
		}
		done(statement)
	}
	// After ctx has ended, the transaction is not committed, even if the driver did not
	// notice it in a short statement. But a COMMIT that has begun is not interrupted,
	// because its outcome would be unknown.
	err = ctx.Err()
	if err == nil {
		err = runToEnd(ctx, conn, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	return nil
}

// rollback rolls the transaction back, and turns off writable_schema. The statements of
// rewrite turn this pragma on, and a rollback does not turn it off.
func rollback(ctx context.Context, conn *sql.Conn) error {
	return errors.Join(endTransaction(ctx, conn), runToEnd(ctx, conn, "PRAGMA writable_schema = RESET"))
}

// endTransaction rolls the transaction back. If SQLite has already ended the transaction
// because of an error, endTransaction returns nil. If the rollback fails, it closes the
// connection, because a connection must not return to its pool within a transaction.
func endTransaction(ctx context.Context, conn *sql.Conn) error {
	err := runToEnd(ctx, conn, "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	if err != nil {
		engine.Discard(conn)
	}
	return err
}

// runToEnd runs a statement to its end, even if ctx ends.
func runToEnd(ctx context.Context, conn *sql.Conn, statement string) error {
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// setPragma sets a setting of the connection, such as busy_timeout, and returns a function
// that restores its previous value.
func setPragma(ctx context.Context, conn *sql.Conn, name string, value int64) (restore func() error, err error) {
	var before int64
	if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&before); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	set := func(value int64) error {
		return runToEnd(ctx, conn, fmt.Sprintf("PRAGMA %s = %d", name, value))
	}
	return func() error { return set(before) }, set(value)
}
