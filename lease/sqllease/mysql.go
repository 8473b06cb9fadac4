package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// mysqlDialect is the dialect of MySQL and MariaDB.
//
// Text columns are binary so that they compare byte by byte, because every collation
// that both MySQL and MariaDB know ignores blanks at the end.
var mysqlDialect = &dialect{
	name:          "mysql",
	quote:         "`",
	text:          "VARBINARY(%d)",
	options:       " ENGINE=InnoDB",
	load:          loadSQL + "?",
	insert:        insertSQL,
	update:        updateSQL,
	standby:       "CAST(@@GLOBAL.read_only AS CHAR) NOT IN ('0', 'OFF')",
	primary:       "a server that has read_only off, for reads too, also behind a proxy that sends these elsewhere",
	otherTable:    otherTableMySQL,
	now:           "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", // UNIX_TIMESTAMP() is an hour off when daylight saving ends
	silence:       "the server is slow or cannot be reached, or a transaction holds a lock on the row",
	classify:      classifyMySQL,
	deniedAtFirst: missing, // without a right on the table, the error is the same if it is absent
	inspect:       inspectMySQL,
	shape:         mysqlShape,
	addKey: func(_ *dialect, t tableName) string {
		return fmt.Sprintf("ALTER TABLE %s MODIFY namespace VARBINARY(64) NOT NULL, ADD UNIQUE (namespace, worker_id)", t.quoted)
	},
	alter: "ALTER TABLE %[1]s MODIFY %[2]s %[3]s NOT NULL",

	renameQualified: true,
}

// mysqlNumber finds the number in the text of an error, for example 1062 in "Error 1062
// (23000): Duplicate entry". The drivers have types for it, but this package does not
// import them.
var mysqlNumber = regexp.MustCompile(`(?i)\berror (\d{4})\b`)

// classifyMySQL returns the meaning of an error of MySQL or MariaDB, by its number.
func classifyMySQL(err error) errorKind {
	match := mysqlNumber.FindStringSubmatch(err.Error())
	if match == nil {
		return unknown
	}
	switch match[1] {
	case "1146": // the table does not exist
		return missing
	case "1142": // the user lacks a right on the table
		return denied
	case "1062": // duplicate entry
		return duplicate
	case "1213", "1020": // deadlock; stale snapshot
		return conflict
	case "1047", "1205": // a Galera node that has left its cluster; a lock wait timeout, also of a node that is too slow to catch up for a synchronous read
		return elsewhere
	case "1290", "1836", "1792": // read_only; InnoDB is read only; the session is read only
		return elsewhere
	case "1568", "1099", "1100", "1223", "1665": // an open transaction, locks, or an isolation level that the binary log cannot record
		return elsewhere
	}
	return unknown
}

// mysqlSession reads the name of the server, two settings on which durability depends,
// and a description of a state of the session in which the store must not write, or an
// empty text. The second setting is sync_binlog, or 1 if there is no binary log. It matters
// because InnoDB, when it starts, rolls back transactions that are not in the binary log.
const mysqlSession = `SELECT CONCAT(@@hostname, ':', @@port), @@GLOBAL.innodb_flush_log_at_trx_commit,
  CASE WHEN @@GLOBAL.log_bin THEN @@GLOBAL.sync_binlog ELSE 1 END, CASE
    WHEN NOT @@SESSION.autocommit THEN 'autocommit=0, under which nothing that the store writes is committed'
    WHEN @@GLOBAL.log_bin AND NOT @@SESSION.sql_log_bin THEN 'sql_log_bin=0, under which no replica gets what the store writes'
    WHEN CHAR_LENGTH(CONVERT('ab' USING binary)) <> 2 THEN
      'a character_set_connection of several bytes a letter, such as ucs2, under which the store does not find its records'
    WHEN '' IS NULL THEN 'EMPTY_STRING_IS_NULL in its sql_mode, under which the store cannot read empty texts'
    ELSE '' END` + oneRow

// inspectMySQL reads the settings under which the server can forget writes, and the
// reason why the store must not write in this session, if there is one.
func inspectMySQL(ctx context.Context, on timedConn, t tableName) (found session, err error) {
	var flush, syncLog int
	var setting string
	if err := on.queryRow(ctx, mysqlSession, &found.server, &flush, &syncLog, &setting); err != nil {
		return found, err
	}
	add := func(level slog.Level, text string) { found.findings = append(found.findings, finding{level, text}) }
	switch flush {
	case 0:
		add(slog.LevelError, "innodb_flush_log_at_trx_commit is 0, which forgets up to a second of writes when the server dies: set it to 1")
	case 2:
		add(slog.LevelWarn, "innodb_flush_log_at_trx_commit is 2, which forgets up to a second of writes when the machine dies: set it to 1")
	}
	if syncLog != 1 {
		add(slog.LevelWarn, fmt.Sprintf("sync_binlog is %d and log_bin is on, which forgets the last writes when the machine dies, whatever innodb_flush_log_at_trx_commit is: SET GLOBAL sync_binlog = 1, and set it in the option file", syncLog))
	}
	found.dirt, err = mysqlDirt(ctx, on, t, setting)
	return found, err
}

// mysqlDirt returns the reason why the store must not write in the session, or nil. The
// caller has read setting, which is empty or describes such a reason, for example
// autocommit=0.
//
// An open transaction cannot be read from a variable, so mysqlDirt sets the isolation
// level, which fails within a transaction. Outside a transaction the level applies only to
// the next transaction. Once the table is known, mysqlDirt also checks that no temporary
// table hides it.
func mysqlDirt(ctx context.Context, on timedConn, t tableName, setting string) (dirt, err error) {
	if setting != "" {
		return fmt.Errorf("%w has %s: remove it from the program, the DSN or the server's settings", errDirty, setting), nil
	}
	if err = on.exec(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil || t.quoted == "" {
		return nil, err
	}
	hidden, err := isTemporary(ctx, on, t)
	if hidden {
		dirt = fmt.Errorf("%w has a temporary table %s, which hides the real one: drop it", errDirty, t.quoted)
	}
	return dirt, err
}

// isTemporary reports whether the name means a temporary table in this session.
func isTemporary(ctx context.Context, on timedConn, t tableName) (bool, error) {
	ddl, err := mysqlDDL(ctx, on, t)
	return strings.HasPrefix(ddl, "CREATE TEMPORARY "), err
}

// mysqlDDL returns the statement that creates the table, or the view in its place. SHOW
// CREATE TABLE returns the statement in its second column.
func mysqlDDL(ctx context.Context, on timedConn, t tableName) (ddl string, err error) {
	err = on.queryRow(ctx, "SHOW CREATE TABLE "+t.quoted, new(string), &ddl)
	return ddl, err
}

// isClustered reports whether the server is a node of a Galera cluster, whose nodes lag
// behind each other.
func isClustered(ctx context.Context, on timedConn) (bool, error) {
	var value string
	err := on.queryRow(ctx, "SHOW GLOBAL VARIABLES LIKE 'wsrep\\_on'", new(string), &value)
	if errors.Is(err, sql.ErrNoRows) { // a server without Galera does not have the variable
		return false, nil
	}
	return strings.EqualFold(value, "ON"), err
}

// otherTableMySQL returns here, the session's database, in which CREATE TABLE would create
// the table, and other, a different database that already has a table of this name with
// records.
//
// If the session still has the database with which it was opened, other is empty, because
// the program has chosen this database by its DSN. If the session has changed its database
// since, as Com_change_db counts, any user of the connection may have done so.
func otherTableMySQL(ctx context.Context, d *dialect, on execer, name string) (here, other string, err error) {
	if err = on.QueryRowContext(ctx, "SELECT COALESCE(DATABASE(), '')"+oneRow).Scan(&here); err != nil {
		return "", "", err
	}
	var changes int
	err = on.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Com\\_change\\_db'").Scan(new(string), &changes)
	if errors.Is(err, sql.ErrNoRows) || err == nil && changes == 0 { // the server has no such counter, or it is 0
		return here, "", nil
	}
	if err != nil {
		return "", "", err
	}
	others, err := queryTexts(ctx, on, "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = ? AND TABLE_SCHEMA <> ? AND TABLE_TYPE = 'BASE TABLE'"+noLimit, name, here)
	if err == nil {
		other, err = d.withRecords(ctx, on, others, name)
	}
	return here, other, err
}

// mysqlColumns reads the nine values of each column that readColumns expects: the name, the
// type as written, the type, size and scale for holds, and the fields exact, pads, nullable
// and generated of a [column]. CHAR and BINARY do not count as text, because their values
// lose or gain characters at the end. A column is exact if it is signed and has a collation
// that ends with _bin, or no collation. A collation pads unless it is one of the _nopad_bin
// collations or utf8mb4_0900_bin.
const mysqlColumns = `SELECT LOWER(COLUMN_NAME), CONCAT(COLUMN_TYPE, COALESCE(CONCAT(' with the collation ', COLLATION_NAME), '')),
  CASE WHEN LOWER(DATA_TYPE) = 'int' THEN 'integer'
    WHEN LOWER(DATA_TYPE) LIKE 'var%' OR LOWER(DATA_TYPE) LIKE '%text' OR LOWER(DATA_TYPE) LIKE '%blob' THEN 'text' ELSE LOWER(DATA_TYPE) END,
  COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0),
  COLUMN_TYPE NOT LIKE '%unsigned%' AND COALESCE(RIGHT(COLLATION_NAME, 4) = '_bin', 1),
  COALESCE(RIGHT(COLLATION_NAME, 10) <> '_nopad_bin' AND COLLATION_NAME <> 'utf8mb4_0900_bin', 0),
  IS_NULLABLE = 'YES', COALESCE(GENERATION_EXPRESSION, '') <> ''
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?` + noLimit

// mysqlParts reads the kind, schema and engine of the table, its unique indexes over
// both key columns, and the triggers that run before a row is written. The rows are as
// readParts expects them, so the first column is 'table', 'key', 'forgets' or 'flaw'.
//
// HAVING selects the unique indexes with exactly two columns, namespace and worker_id. The
// engines that are listed for the flaw "keeps no key" enforce a unique key, whether or not
// they can forget writes.
//
// It does not find the triggers if the account lacks the right TRIGGER. It converts
// names to utf8mb4, because on MySQL they have different collations, which a UNION
// refuses.
const mysqlParts = `SELECT 'table', CASE UPPER(CONVERT(TABLE_TYPE USING utf8mb4)) WHEN 'BASE TABLE' THEN '' WHEN 'VIEW' THEN 'a view' WHEN 'TEMPORARY' THEN 'a temporary table'
    ELSE CONCAT('of the type ', CONVERT(TABLE_TYPE USING utf8mb4)) END, CONVERT(TABLE_SCHEMA USING utf8mb4), ''
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
UNION ALL
SELECT 'key', CONVERT(INDEX_NAME USING utf8mb4), IF(MAX(SUB_PART) IS NULL, '', 'covers only a prefix'), ''
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? AND NON_UNIQUE = 0
GROUP BY INDEX_NAME HAVING COUNT(*) = 2 AND COUNT(DISTINCT IF(LOWER(COLUMN_NAME) IN ('namespace', 'worker_id'), LOWER(COLUMN_NAME), NULL)) = 2
UNION ALL
SELECT 'forgets', CONCAT('table ', ?, ' has the engine ', CONVERT(ENGINE USING utf8mb4), ', which can forget writes: ALTER TABLE ', ?, ' ENGINE=InnoDB'), '', ''
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
  AND UPPER(ENGINE) NOT IN ('', 'INNODB')
UNION ALL
SELECT 'flaw', CONCAT('it has the engine ', CONVERT(ENGINE USING utf8mb4), ', which keeps no key'), 'InnoDB', CONCAT('ALTER TABLE ', ?, ' ENGINE=InnoDB')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
  AND UPPER(ENGINE) NOT IN ('', 'INNODB', 'MYISAM', 'ARIA', 'MEMORY', 'ROCKSDB', 'TOKUDB', 'NDBCLUSTER', 'NDB')
UNION ALL
SELECT 'flaw', CONCAT('trigger ', CONVERT(TRIGGER_NAME USING utf8mb4), ' can change what is written'), 'no BEFORE trigger',
  CONCAT('DROP TRIGGER ', ?, ` + "REPLACE(CONVERT(TRIGGER_NAME USING utf8mb4), '`', '``'), '`'" + `)
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = COALESCE(?, DATABASE()) AND EVENT_OBJECT_TABLE = ?
  AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION <> 'DELETE'` + noLimit

// mysqlShape reads the columns and parts of the table, whether a temporary table hides
// it, and whether the server is a node of a Galera cluster. A table whose kind is not empty is
// not a plain table. The store refuses it, so mysqlShape does not read the rest.
func mysqlShape(ctx context.Context, conn *sql.Conn, t tableName) (found shape, err error) {
	// Without a schema, NULL makes the queries use the session's database.
	table := []any{sql.NullString{String: t.schema, Valid: t.schema != ""}, t.name}
	if err = found.readColumns(ctx, conn, mysqlColumns, table...); err != nil {
		return found, err
	}
	// The arguments of mysqlParts are, for each SELECT, the texts that it puts into a fix,
	// and then the schema and table. In DROP TRIGGER, the name of a trigger takes the place
	// of the table's name, so the SELECT appends it to beforeName, which is the beginning of
	// the quoted name, for example `shop`.` of `shop`.`snowflake_workers`.
	beforeName := strings.TrimSuffix(t.quoted, t.name+"`")
	args := slices.Concat(table, table, []any{t.quoted, t.quoted}, table, []any{t.quoted}, table, []any{beforeName}, table)
	if err = found.readParts(ctx, conn, mysqlParts, args...); err != nil || found.kind != "" {
		return found, err
	}
	hidden, err := isTemporary(ctx, timedConn{conn, statementTimeout}, t)
	if hidden {
		found.kind = temporary
	}
	if err == nil {
		found.clustered, err = isClustered(ctx, timedConn{conn, statementTimeout})
	}
	return found, err
}
