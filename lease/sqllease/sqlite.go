package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

var sqliteDialect = &dialect{
	name:    "sqlite",
	quote:   `"`,
	create:  fmt.Sprintf(createSQL, "VARCHAR(64)", "VARCHAR(128)", ""),
	insert:  insertSQL,
	update:  updateSQL,
	durably: durablySQLite,
	standby: "0",
	silence: "a transaction of the application, or of another process, holds SQLite's writer lock: " +
		"end it sooner, or make the window longer",
	rebind:   unchanged,
	classify: classifySQLite,
	inspect:  inspectSQLite,
	rollBack: "ROLLBACK", // closing would drop a database in memory
	repairs:  sqliteRepairs,
	shape:    sqliteShape,
}

// classifySQLite goes by SQLite's own texts, which the drivers pass on. Both
// have error types of their own, and this package imports neither.
func classifySQLite(err error) kind {
	switch text := err.Error(); {
	case strings.Contains(text, "no such table"):
		return missing
	case strings.Contains(text, "UNIQUE constraint failed"):
		return duplicate
	case strings.Contains(text, "database") && strings.Contains(text, " is locked"):
		return conflict // SQLITE_BUSY, or SQLITE_LOCKED of a shared cache
	}
	return unknown
}

// inspectSQLite sets what is set already, which SQLite refuses within a transaction.
func inspectSQLite(ctx context.Context, conn *sql.Conn, _ table) (found session, err error) {
	var synchronous int
	if err := conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return found, err
	}
	if synchronous == 0 {
		found.findings = []finding{{true, "PRAGMA synchronous is OFF, which forgets (or ruins the file) when the machine loses power: set it to FULL"}}
	}
	_, err = conn.ExecContext(ctx, "PRAGMA synchronous = "+strconv.Itoa(synchronous))
	if err != nil && strings.Contains(err.Error(), "inside a transaction") {
		found.dirt, err = err, nil
	}
	return found, err
}
