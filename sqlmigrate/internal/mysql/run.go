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

// Run implements [engine.Engine]. It runs the statements in a [Session], skips a statement
// that has been done already, and calls done after each. If the settings of the connection
// cannot be restored at the end, the connection counts as lost, and Run kills its session
// on the server, which may still be running a statement.
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
	if seconds := wholeSeconds(s.LockTimeout); seconds > 0 { // otherwise the timeouts of the connection stay
		if err := session.SetTimeouts(ctx, seconds, seconds); err != nil {
			return err
		}
	}
	for _, statement := range statements {
		if err := runUnlessDone(ctx, conn, statement); err != nil {
			return err
		}
		done(statement)
	}
	return nil
}

// runUnlessDone runs a statement, unless its Unless query returns that it has been done.
// If the statement looks for rows that violate a foreign key, the error has an example of
// such a row.
func runUnlessDone(ctx context.Context, conn *sql.Conn, s plan.Statement) error {
	if s.Unless != "" {
		var isDone bool
		if err := conn.QueryRowContext(ctx, s.Unless).Scan(&isDone); err != nil {
			return fmt.Errorf("ask whether that has been done: %w", err)
		}
		if isDone {
			return nil
		}
	}
	if _, err := conn.ExecContext(ctx, s.SQL); err != nil {
		return explainOrphans(ctx, conn, s, err)
	}
	return nil
}

// These statements of a script save, change and restore the settings of the connection, and
// delete the variables in which the settings are saved. A script that fails does not
// restore the settings. When it is run again on the same connection, COALESCE keeps the
// original values. Only MySQL runs the content of the comments /*!80000 … */, because
// MariaDB does not have the setting expiry.
const (
	scriptSave = "SET @sqlmigrate_mode = COALESCE(@sqlmigrate_mode, @@SESSION.sql_mode), " +
		"@sqlmigrate_checks = COALESCE(@sqlmigrate_checks, @@SESSION.foreign_key_checks)" +
		" /*!80000, @sqlmigrate_expiry = COALESCE(@sqlmigrate_expiry, " + expiry + ") */"
	scriptUse     = "SET SESSION sql_mode = '" + sqlMode + "', SESSION foreign_key_checks = 1 /*!80000, " + expiry + " = 0 */"
	scriptRestore = "SET SESSION sql_mode = @sqlmigrate_mode, SESSION foreign_key_checks = @sqlmigrate_checks" +
		" /*!80000, " + expiry + " = CAST(@sqlmigrate_expiry AS UNSIGNED) */"
	scriptForget = "SET @sqlmigrate_mode = NULL, @sqlmigrate_checks = NULL, @sqlmigrate_expiry = NULL, @sqlmigrate = NULL"
)

// Script implements [engine.Engine]. The text runs each statement unless it has been done.
// The tool must run the whole text on the same connection, because settings and variables
// belong to the connection.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	var lines []string
	// Whether a statement has an Unless query. A script without one does not change the settings.
	conditional := false
	for _, s := range statements {
		conditional = conditional || s.Unless != ""
		lines = append(lines, scriptLines(s)...)
	}
	if conditional {
		lines = append(append([]string{scriptSave, scriptUse}, lines...), scriptRestore, scriptForget)
	}
	return format.Script(lines)
}

// scriptLines returns the statements of a script that run s unless its Unless query is
// true. The servers have no IF outside of procedures, and a script that fails would leave
// a procedure behind. Therefore the query chooses between the texts of two statements, s
// and 'DO 0', which does nothing, and the server prepares and executes the chosen text.
func scriptLines(s plan.Statement) []string {
	if s.Unless == "" {
		return []string{s.SQL}
	}
	sql := s.SQL
	if message, ok := strings.CutPrefix(sql, signalSQL); ok {
		// MySQL cannot prepare a SIGNAL, which fails with a message. Instead, the script sets
		// the SQL mode to the message. This fails with an error that contains the message up
		// to the first comma, so commas become semicolons.
		sql = "SET SESSION sql_mode = " + strings.ReplaceAll(message, ",", ";")
	}
	return []string{
		"SET @sqlmigrate = IF((" + s.Unless + "),\n'DO 0',\n" + mycatalog.Literal(sql) + ")",
		"PREPARE sqlmigrate FROM @sqlmigrate",
		"EXECUTE sqlmigrate",
		"DEALLOCATE PREPARE sqlmigrate",
	}
}
