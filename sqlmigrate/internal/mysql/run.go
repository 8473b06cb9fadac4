package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
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

// The statements of a script that save, change and restore the settings of the
// connection. If a script fails, it does not restore the settings. When it is run again
// on the same connection, COALESCE keeps the original values.
const (
	scriptSet = "SET @sqlmigrate_mode = COALESCE(@sqlmigrate_mode, @@SESSION.sql_mode), " +
		"@sqlmigrate_checks = COALESCE(@sqlmigrate_checks, @@SESSION.foreign_key_checks)" +
		" /*!80000, @sqlmigrate_expiry = COALESCE(@sqlmigrate_expiry, " + expiry + ") */"
	scriptUse  = "SET SESSION sql_mode = '" + sqlMode + "', SESSION foreign_key_checks = 1 /*!80000, " + expiry + " = 0 */"
	scriptBack = "SET SESSION sql_mode = @sqlmigrate_mode, SESSION foreign_key_checks = @sqlmigrate_checks" +
		" /*!80000, " + expiry + " = CAST(@sqlmigrate_expiry AS UNSIGNED) */"
	scriptEnd = "SET @sqlmigrate_mode = NULL, @sqlmigrate_checks = NULL, @sqlmigrate_expiry = NULL, @sqlmigrate = NULL"
)

// Script implements [engine.Engine]. All statements must run on the same connection,
// which the tools ensure.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	var lines []string
	guarded := false
	for _, s := range statements {
		guarded = guarded || s.Unless != ""
		lines = append(lines, scripted(s)...)
	}
	if guarded {
		lines = append(append([]string{scriptSet, scriptUse}, lines...), scriptBack, scriptEnd)
	}
	return format.Script(lines)
}

// scripted returns the statements that run s unless it has been done. It uses PREPARE,
// because the servers have no IF outside of procedures, and a failed script would leave a
// procedure behind.
func scripted(s plan.Statement) []string {
	if s.Unless == "" {
		return []string{s.SQL}
	}
	sql := s.SQL
	if message, ok := strings.CutPrefix(sql, signal); ok {
		// MySQL cannot prepare a SIGNAL. An invalid SQL mode fails with an error that
		// contains the text up to a comma.
		sql = "SET SESSION sql_mode = " + strings.ReplaceAll(message, ",", ";")
	}
	return []string{
		"SET @sqlmigrate = IF((" + s.Unless + "),\n'DO 0',\n" + mycatalog.Literal(sql) + ")",
		"PREPARE sqlmigrate FROM @sqlmigrate",
		"EXECUTE sqlmigrate",
		"DEALLOCATE PREPARE sqlmigrate",
	}
}
