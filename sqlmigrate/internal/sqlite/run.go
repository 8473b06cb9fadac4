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

// Run is one transaction, which begins with the writer lock: one that took it
// later could not wait for it.
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s engine.Settings, done func(plan.Statement)) (err error) {
	restore := func() error { return nil }
	if s.LockTimeout > 0 {
		restore, err = setPragma(ctx, conn, "busy_timeout", max(1, s.LockTimeout.Milliseconds()))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if ctx.Err() != nil { // it may have begun all the same
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
	// Once begun, a commit is not cancelled: nobody would know how it ended. A
	// driver can miss that the context ended during a short statement.
	err = ctx.Err()
	if err == nil {
		err = uncancelled(ctx, conn, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	return nil
}

// rollback ends the transaction, and puts back what does not end with it.
func rollback(ctx context.Context, conn *sql.Conn) error {
	return errors.Join(endTransaction(ctx, conn), uncancelled(ctx, conn, "PRAGMA writable_schema = RESET"))
}

// endTransaction does not mind that an error has ended the transaction itself. A
// connection that stays in one does not return to its pool.
func endTransaction(ctx context.Context, conn *sql.Conn) error {
	err := uncancelled(ctx, conn, "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	if err != nil {
		engine.Discard(conn)
	}
	return err
}

func uncancelled(ctx context.Context, conn *sql.Conn, statement string) error {
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// setPragma returns what sets the pragma back.
func setPragma(ctx context.Context, conn *sql.Conn, name string, value int64) (restore func() error, err error) {
	var before int64
	if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&before); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	set := func(value int64) error {
		return uncancelled(ctx, conn, fmt.Sprintf("PRAGMA %s = %d", name, value))
	}
	return func() error { return set(before) }, set(value)
}

// Script needs no transaction of its own: either tool makes one by default, and
// without one each statement can be repeated.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	return format.Script(engine.SQLOf(statements))
}
