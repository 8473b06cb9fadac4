package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Binary columns compare byte by byte: every collation that both MySQL and
// MariaDB know ignores blanks at the end.
var mysqlDialect = &dialect{
	name:     "mysql",
	quote:    "`",
	create:   fmt.Sprintf(createSQL, "VARBINARY(64)", "VARBINARY(128)", " ENGINE=InnoDB"),
	insert:   insertSQL,
	update:   updateSQL,
	now:      "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", // UNIX_TIMESTAMP() is an hour off when daylight saving ends
	standby:  "0",
	cluster:  "SHOW GLOBAL VARIABLES LIKE 'wsrep\\_on'",
	silence:  "the server is slow or cannot be reached, or a transaction holds a lock on the row",
	version:  "SELECT VERSION()",
	rebind:   unchanged,
	classify: classifyMySQL,
	check:    checkMySQL,
	repairs:  mysqlRepairs,
	shape:    mysqlShape,

	synchronously: synchronouslyMySQL,
}

// mysqlNumber finds the number in the text of an error: the drivers have types
// for it, and this package imports none.
var mysqlNumber = regexp.MustCompile(`(?i)\berror (\d{4})\b`)

func classifyMySQL(err error) kind {
	match := mysqlNumber.FindStringSubmatch(err.Error())
	if match == nil {
		return unknown
	}
	switch match[1] {
	case "1146", "1142": // the second where there is no right to know that there is none
		return missing
	case "1062":
		return duplicate
	case "1213", "1020": // deadlock, snapshot is stale
		return conflict
	case "1047", "1205": // a Galera node that is lost; the second, lock wait timeout, where a read is to be synchronous
		return elsewhere
	case "1290", "1836": // read_only, InnoDB read only
		return elsewhere
	}
	return unknown
}

const mysqlSettings = `SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@SESSION.autocommit,
  (SELECT ENGINE FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?)`

func checkMySQL(ctx context.Context, conn *sql.Conn, t table) ([]finding, error) {
	var flush int
	var autocommit bool
	var engine sql.NullString
	schema := sql.NullString{String: t.schema, Valid: t.schema != ""}
	if err := conn.QueryRowContext(ctx, mysqlSettings, schema, t.name).Scan(&flush, &autocommit, &engine); err != nil {
		return nil, err
	}
	if !autocommit {
		return nil, errors.New("the connection has autocommit=0, under which nothing that the store writes is committed: remove it from the DSN or the server's settings")
	}
	var findings []finding
	switch flush {
	case 0:
		findings = append(findings, finding{true, "innodb_flush_log_at_trx_commit is 0, which forgets up to a second of writes when the server dies: set it to 1"})
	case 2:
		findings = append(findings, finding{false, "innodb_flush_log_at_trx_commit is 2, which forgets up to a second of writes when the machine dies: set it to 1"})
	}
	if engine.Valid && !strings.EqualFold(engine.String, "InnoDB") {
		findings = append(findings, finding{true, fmt.Sprintf("table %s has the engine %s, which can forget writes: ALTER TABLE %s ENGINE=InnoDB", t.quoted, engine.String, t.quoted)})
	}
	return findings, nil
}

// waitForAll makes every kind of statement wait until its node of a Galera
// cluster has applied what the others have acknowledged: reads, UPDATE and
// DELETE, INSERT and REPLACE.
const waitForAll = 1 | 2 | 4

// synchronouslyMySQL sets the session back: the pool is the application's.
func synchronouslyMySQL(ctx context.Context, conn *sql.Conn, f func() error) error {
	var before int
	if err := conn.QueryRowContext(ctx, "SELECT @@SESSION.wsrep_sync_wait").Scan(&before); err != nil {
		return err
	}
	if before&waitForAll == waitForAll {
		return f()
	}
	set := func(ctx context.Context, wait int) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION wsrep_sync_wait = %d", wait))
		return err
	}
	if err := set(ctx, before|waitForAll); err != nil {
		return err
	}
	err := f()
	if set(context.WithoutCancel(ctx), before) != nil {
		discard(conn)
	}
	return err
}
