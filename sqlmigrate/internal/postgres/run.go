package postgres

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
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
