package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// run is one transaction, which begins with the writer lock: one that took it
// later could not wait for it.
func (sqliteEngine) run(ctx context.Context, conn *sql.Conn, statements []Statement, s settings, done func(Statement)) (err error) {
	restore, err := sqliteBusyTimeout(ctx, conn, s.lockTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if ctx.Err() != nil { // it may have begun all the same
			err = errors.Join(err, sqliteEnd(ctx, conn))
		}
		return fmt.Errorf("take the writer lock: %w", err)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement.SQL); err != nil {
			return errors.Join(err, sqliteRollback(ctx, conn))
		}
		done(statement)
	}
	// Once begun, a commit is not cancelled: nobody would know how it ended. A
	// driver can miss that the context ended during a short statement.
	err = ctx.Err()
	if err == nil {
		err = sqliteUncancelled(ctx, conn, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, sqliteRollback(ctx, conn))
	}
	return nil
}

// sqliteRollback ends the transaction, and puts back what does not end with it.
func sqliteRollback(ctx context.Context, conn *sql.Conn) error {
	return errors.Join(sqliteEnd(ctx, conn), sqliteUncancelled(ctx, conn, "PRAGMA writable_schema = RESET"))
}

// sqliteEnd does not mind that an error has ended the transaction itself.
func sqliteEnd(ctx context.Context, conn *sql.Conn) error {
	err := sqliteUncancelled(ctx, conn, "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return err
}

func sqliteUncancelled(ctx context.Context, conn *sql.Conn, statement string) error {
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// sqliteBusyTimeout sets how long a statement waits, and returns what sets it
// back.
func sqliteBusyTimeout(ctx context.Context, conn *sql.Conn, d time.Duration) (restore func() error, err error) {
	if d == 0 {
		return func() error { return nil }, nil
	}
	var before int64
	if err := conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&before); err != nil {
		return nil, fmt.Errorf("read busy_timeout: %w", err)
	}
	set := func(milliseconds int64) error {
		return sqliteUncancelled(ctx, conn, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds))
	}
	return func() error { return set(before) }, set(max(1, d.Milliseconds()))
}

// script needs no transaction of its own: either tool makes one by default, and
// without one each statement can be repeated.
func (sqliteEngine) script(statements []Statement, format Format) string {
	return format.script(sqlOf(statements))
}
