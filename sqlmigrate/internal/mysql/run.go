package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Run implements [engine.Engine].
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s engine.Settings, done func(plan.Statement)) (err error) {
	session, err := OpenSession(ctx, conn, s.LockTimeout)
	if err != nil {
		return err
	}
	defer func() {
		if session.Restore(ctx) != nil {
			err = session.end(ctx, conn, s.Pool, err)
		}
	}()
	if seconds := wholeSeconds(s.LockTimeout); seconds > 0 {
		if err := session.SetTimeouts(ctx, seconds, seconds); err != nil {
			return err
		}
	}
	for _, statement := range statements {
		if err := carryOut(ctx, conn, statement); err != nil {
			return err
		}
		done(statement)
	}
	return nil
}

func carryOut(ctx context.Context, conn *sql.Conn, s plan.Statement) error {
	if s.Unless != "" {
		var over bool
		if err := conn.QueryRowContext(ctx, s.Unless).Scan(&over); err != nil {
			return fmt.Errorf("ask whether that has been done: %w", err)
		}
		if over {
			return nil
		}
	}
	if _, err := conn.ExecContext(ctx, s.SQL); err != nil {
		return explain(ctx, conn, s, err)
	}
	return nil
}
