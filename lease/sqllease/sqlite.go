package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
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
func inspectSQLite(ctx context.Context, on asker, _ table) (found session, err error) {
	var synchronous int
	var journal, file string
	err = errors.Join(on.ask(ctx, "PRAGMA synchronous", &synchronous), on.ask(ctx, "PRAGMA journal_mode", &journal))
	if err == nil && (journal == "off" || journal == "memory") {
		err = on.ask(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'", &file)
	}
	if err != nil {
		return found, err
	}
	if file != "" { // a database in memory has no other
		found.findings = []finding{{slog.LevelError, "PRAGMA journal_mode is " + strings.ToUpper(journal) + ", which ruins the file when a process is killed while it writes: set it to WAL"}}
	}
	if synchronous == 0 {
		found.findings = append(found.findings, finding{slog.LevelError, "PRAGMA synchronous is OFF, which forgets (or ruins the file) when the machine loses power: set it to FULL"})
	}
	err = on.exec(ctx, "PRAGMA synchronous = "+strconv.Itoa(synchronous))
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

// sqliteTable asks which table a name means. Names without a schema lead to the
// temporary tables first, and to attached files last.
const sqliteTable = `SELECT 'table', CASE WHEN schema = 'temp' THEN 'a temporary table' WHEN type = 'table' THEN '' ELSE 'a ' || type END, schema, ''
FROM pragma_table_list
WHERE name = ? COLLATE NOCASE AND (schema = ? COLLATE NOCASE OR ? = '') ORDER BY schema <> 'temp', schema <> 'main' LIMIT 1`

// sqliteColumns asks about the columns. A column of the primary key counts as one without
// NULL: the store writes none. The type is by the affinity that SQLite derives from its
// name: drivers read a column of another numeric type, such as TIMESTAMP or BOOLEAN, as
// something other than a number.
//
// A column compares byte by byte if it tells texts apart that differ in case, or in a
// blank at the end. The catalog does not return its collation, but a compound SELECT
// compares by the one of its first part.
const sqliteColumns = `SELECT name, CASE WHEN exact THEN type ELSE type || ' with a collation other than BINARY' END, CASE
    WHEN upper(type) LIKE '%%INT%%' THEN 'bigint'
    WHEN upper(type) LIKE '%%CHAR%%' OR upper(type) LIKE '%%CLOB%%' OR upper(type) LIKE '%%TEXT%%' OR upper(type) LIKE '%%BLOB%%' OR type = '' THEN 'text'
    WHEN upper(type) LIKE 'NUMERIC%%' OR upper(type) LIKE 'DECIMAL%%' THEN 'decimal'
    ELSE type END, 2147483647, 0, exact, false, nullable, generated
FROM (SELECT lower(name) AS name, type, NOT ("notnull" OR pk) AS nullable, hidden > 1 AS generated, CASE lower(name)
    WHEN 'namespace' THEN (SELECT count(*) = 3 FROM (SELECT namespace FROM %[1]s WHERE 1 = 0 UNION SELECT column1 FROM (VALUES ('a'), ('A'), ('a '))))
    WHEN 'owner' THEN (SELECT count(*) = 3 FROM (SELECT owner FROM %[1]s WHERE 1 = 0 UNION SELECT column1 FROM (VALUES ('a'), ('A'), ('a '))))
    ELSE true END AS exact
  FROM pragma_table_xinfo(?, ?))`

// sqliteKeys asks for the unique indexes over both key columns and no other.
const sqliteKeys = `SELECT 'key', l.name, CASE
    WHEN l.partial THEN 'is partial'
    WHEN max(x.coll <> 'BINARY') THEN 'has a collation other than BINARY'
    ELSE '' END, ''
FROM pragma_index_list(?, ?) l JOIN pragma_index_xinfo(l.name, ?) x
WHERE l."unique" AND x.key GROUP BY l.name
HAVING count(*) = 2 AND count(DISTINCT CASE WHEN lower(x.name) IN ('namespace', 'worker_id') THEN lower(x.name) END) = 2`

const sqliteTriggers = `SELECT name, sql FROM %s.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE`

func sqliteShape(ctx context.Context, conn *sql.Conn, t table) (found shape, err error) {
	if err = found.readParts(ctx, conn, sqliteTable, t.name, t.schema, t.schema); err != nil || found.kind != "" {
		return found, err
	}
	return found, errors.Join(
		found.readColumns(ctx, conn, fmt.Sprintf(sqliteColumns, t.quoted), t.name, found.schema),
		found.readParts(ctx, conn, sqliteKeys, t.name, found.schema, found.schema),
		found.readSQLiteTriggers(ctx, conn, t),
	)
}

// sqliteHarmless matches a trigger that does not run before rows are written.
// SQLite's default is BEFORE.
var sqliteHarmless = regexp.MustCompile(`(?is)^CREATE\s+TRIGGER\s+("(?:[^"]|"")*"|` + "`[^`]*`" + `|\[[^]]*\]|'[^']*'|\S+)\s+(AFTER|(BEFORE\s+)?DELETE)\b`)

func (found *shape) readSQLiteTriggers(ctx context.Context, conn *sql.Conn, t table) error {
	quoted := `"` + found.schema + `"`
	return eachRow(ctx, conn, fmt.Sprintf(sqliteTriggers, quoted), []any{t.name}, func(rows *sql.Rows) error {
		var name, ddl string
		err := rows.Scan(&name, &ddl)
		if !sqliteHarmless.MatchString(ddl) {
			found.flaws = append(found.flaws, Flaw{
				Found: "trigger " + name + " can change or suppress what is written", Want: "no BEFORE trigger",
				Fix: fmt.Sprintf(`DROP TRIGGER %s."%s"`, quoted, strings.ReplaceAll(name, `"`, `""`)),
			})
		}
		return err
	})
}
