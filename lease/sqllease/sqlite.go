package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

var sqliteDialect = &dialect{
	name:   "sqlite",
	quote:  `"`,
	text:   "VARCHAR(%d)",
	load:   loadSQL + "?",
	insert: insertSQL,
	update: updateSQL,
	silence: "a transaction of the application, or of another process, holds SQLite's writer lock: " +
		"end it sooner, or make the window longer",
	classify: classifySQLite,
	inspect:  inspectSQLite,
	rollBack: "ROLLBACK", // closing would drop a database in memory
	shape:    sqliteShape,
	addKey:   addKeySQLite,
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
		found.findings = []finding{{slog.LevelError, "PRAGMA synchronous is OFF, which forgets (or ruins the file) when the machine loses power: set it to FULL"}}
	}
	_, err = conn.ExecContext(ctx, "PRAGMA synchronous = "+strconv.Itoa(synchronous))
	if err != nil && strings.Contains(err.Error(), "inside a transaction") {
		found.dirt, err = err, nil
	}
	return found, err
}

// synchronousExtra is the one setting under which SQLite loses no commit when
// the power fails, whatever the journal is. FULL is as much with a write-ahead
// log, but not with a journal whose deletion commits, and may be undone.
const synchronousExtra = 3

// durably calls write so that the disk has what it writes. Other databases wait for
// that by their statements, or their settings.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t table, write func() error) error {
	if s.dialect() != sqliteDialect || s.volatile {
		return write()
	}
	pragma := `PRAGMA "` + t.schema + `".synchronous`
	extra := func(level int) int { return max(level, synchronousExtra) }
	return while(ctx, conn, pragma, pragma+" = %d", extra, write)
}

func addKeySQLite(d *dialect, t table) string {
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (namespace, worker_id)",
		d.qualified(t.schema, t.name+"_key").quoted, d.qualified("", t.name).quoted)
}
