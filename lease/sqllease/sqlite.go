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

// sqliteDialect is the dialect for both drivers of SQLite. It has no clock and no
// standby, because SQLite is a library and not a server.
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
	rollBack: "ROLLBACK", // because closing the connection would drop an in-memory database
	shape:    sqliteShape,
	addKey:   addKeySQLite,
}

// classifySQLite returns the meaning of an error by SQLite's own texts, which the drivers
// pass on. Both drivers have error types, but this package does not import the drivers.
func classifySQLite(err error) errorKind {
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

// inspectSQLite reads the settings of the connection. To find an open transaction it
// sets synchronous to its current value, which SQLite refuses within a transaction.
func inspectSQLite(ctx context.Context, on timedConn, _ tableName) (found session, err error) {
	var synchronous int
	var journal, file string
	err = errors.Join(on.queryRow(ctx, "PRAGMA synchronous", &synchronous), on.queryRow(ctx, "PRAGMA journal_mode", &journal))
	if err == nil && (journal == "off" || journal == "memory") {
		err = on.queryRow(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'", &file)
	}
	if err != nil {
		return found, err
	}
	if file != "" { // an in-memory database always has journal_mode MEMORY or OFF
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

// addKeySQLite returns SQL that adds the unique key. In SQLite's CREATE INDEX, the index
// has the schema, and not the table.
func addKeySQLite(d *dialect, t tableName) string {
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (namespace, worker_id)",
		d.qualified(t.schema, t.name+"_key").quoted, d.qualified("", t.name).quoted)
}

// sqliteTable finds the table that a name means. It returns a row as readParts expects it:
// 'table', the kind, and the schema. A name without a schema means a temporary table first,
// then a table of the main file, then a table of an attached file.
const sqliteTable = `SELECT 'table', CASE WHEN schema = 'temp' THEN 'a temporary table' WHEN type = 'table' THEN '' ELSE 'a ' || type END, schema, ''
FROM pragma_table_list
WHERE name = ? COLLATE NOCASE AND (schema = ? COLLATE NOCASE OR ? = '') ORDER BY schema <> 'temp', schema <> 'main' LIMIT 1`

// sqliteColumns reads the nine values of each column that readColumns expects. It counts a
// column of the primary key as NOT NULL, because the store never writes NULL. The size is
// the largest number, because SQLite ignores the size in the name of a type. The query
// derives the type from SQLite's affinity rules for names of types, because drivers read
// columns of other numeric types, such as TIMESTAMP or BOOLEAN, as values that are not
// numbers. A generated column has 2 or 3 as its value of hidden.
//
// A column compares byte by byte if it distinguishes texts that differ only in case, or
// in a blank at the end. The catalog does not contain the collation. The query therefore
// tests it with a UNION of the empty column with 'a', 'A' and 'a ', which compares by the
// collation of its first part. All three texts remain only if the collation distinguishes
// them.
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

// sqliteKeys reads the unique indexes over both key columns alone, as rows for readParts:
// 'key', the name, and the defect. In pragma_index_xinfo, key is 0 for the columns that
// SQLite appends to each index, such as the rowid.
const sqliteKeys = `SELECT 'key', l.name, CASE
    WHEN l.partial THEN 'is partial'
    WHEN max(x.coll <> 'BINARY') THEN 'has a collation other than BINARY'
    ELSE '' END, ''
FROM pragma_index_list(?, ?) l JOIN pragma_index_xinfo(l.name, ?) x
WHERE l."unique" AND x.key GROUP BY l.name
HAVING count(*) = 2 AND count(DISTINCT CASE WHEN lower(x.name) IN ('namespace', 'worker_id') THEN lower(x.name) END) = 2`

// sqliteTriggers reads the names and the DDL of the table's triggers.
const sqliteTriggers = `SELECT name, sql FROM %s.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE`

// sqliteShape reads the kind of the table, its columns, and its keys and triggers. It first
// finds the kind and the schema, because the further queries need the schema. It does not
// send the further queries for a view or a temporary table, which is refused in any case.
func sqliteShape(ctx context.Context, conn *sql.Conn, t tableName) (found shape, err error) {
	if err = found.readParts(ctx, conn, sqliteTable, t.name, t.schema, t.schema); err != nil || found.kind != "" {
		return found, err
	}
	return found, errors.Join(
		found.readColumns(ctx, conn, fmt.Sprintf(sqliteColumns, t.quoted), t.name, found.schema),
		found.readParts(ctx, conn, sqliteKeys, t.name, found.schema, found.schema),
		found.readSQLiteTriggers(ctx, conn, t),
	)
}

// laterTrigger matches the DDL of a trigger that cannot change what the store writes, for
// example CREATE TRIGGER "log" AFTER UPDATE. Such a trigger runs after a row is written, or
// only for a DELETE, which a store does not execute. The first group matches the name in
// each form of quotes that SQLite accepts. A trigger without AFTER or BEFORE is a BEFORE
// trigger.
var laterTrigger = regexp.MustCompile(`(?is)^CREATE\s+TRIGGER\s+("(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^]]*\]|'(?:[^']|'')*'|[^\s"'[` + "`" + `]\S*)\s+(AFTER|(BEFORE\s+)?DELETE)\b`)

// readSQLiteTriggers adds a flaw for each trigger that runs before a row is written, because
// such a trigger can suppress the write without an error, by RAISE(IGNORE). An AFTER trigger
// cannot suppress the write, and readSQLiteTriggers accepts it, although it could write the
// row once more. The DDL is read, because no PRAGMA shows when a trigger runs.
func (found *shape) readSQLiteTriggers(ctx context.Context, conn *sql.Conn, t tableName) error {
	quoted := `"` + found.schema + `"`
	return eachRow(ctx, conn, fmt.Sprintf(sqliteTriggers, quoted), []any{t.name}, func(rows *sql.Rows) error {
		var name, ddl string
		err := rows.Scan(&name, &ddl)
		if !laterTrigger.MatchString(ddl) {
			found.flaws = append(found.flaws, Flaw{
				Found: "trigger " + name + " can change or suppress what is written", Want: "no BEFORE trigger",
				Fix: fmt.Sprintf(`DROP TRIGGER %s."%s"`, quoted, strings.ReplaceAll(name, `"`, `""`)),
			})
		}
		return err
	})
}
