package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// tidb is the name of TiDB in package compatible.
const tidb = "TiDB"

// tidbDialect is the dialect of MySQL, except where TiDB differs.
//
// It writes in explicit pessimistic transactions. A statement outside of such a transaction
// commits by the protocol that tidb_enable_1pc and tidb_enable_async_commit choose. With
// these protocols and TiDB's embedded storage, two UPDATEs of the same old record have both
// changed the row, so that two processes would both acquire one worker.
var tidbDialect = func() *dialect {
	d := *mysqlDialect
	d.begin = "BEGIN PESSIMISTIC"
	d.otherTable = nil // TiDB does not count how often a session has changed its database
	d.classify = classifyTiDB
	d.inspect = inspectTiDB
	d.shape = tidbShape
	d.untried = "on which leases were tried with its embedded storage, and not with the one-phase and the asynchronous commit of a cluster of TiKV"
	d.addKey, d.alter = (*dialect).rebuild, "" // TiDB cannot change the type of a key column
	return &d
}()

// tidbAborted matches the error of a commit that was rolled back because of a conflict, or
// because the inserted row exists. In the second case it captures the number 8141.
var tidbAborted = regexp.MustCompile(`(?i)\berror (?:8002|8022|9007|(8141))\b`)

// classifyTiDB returns the meaning of an error of TiDB. A COMMIT may fail with an error
// that MySQL does not have, after which TiDB has rolled back.
func classifyTiDB(err error) errorKind {
	switch match := tidbAborted.FindStringSubmatch(err.Error()); {
	case match == nil:
		return classifyMySQL(err)
	case match[1] != "": // 8141
		return duplicate
	}
	return conflict
}

// tidbSession reads a setting of the session under which the store must not write, or an
// empty text. All of these settings but autocommit make reads return old data.
const tidbSession = `SELECT CASE
    WHEN NOT @@SESSION.autocommit THEN 'autocommit=0, under which nothing that the store writes is committed'
    WHEN @@SESSION.tidb_snapshot <> '' THEN 'tidb_snapshot'
    WHEN @@SESSION.tidb_read_staleness <> 0 THEN 'tidb_read_staleness'
    WHEN @@SESSION.tidb_low_resolution_tso THEN 'tidb_low_resolution_tso'
    WHEN @@SESSION.tidb_enable_external_ts_read THEN 'tidb_enable_external_ts_read'
    ELSE '' END` + oneRow

// inspectTiDB reports session settings that make reads return old data, as well as
// autocommit=0. It does not read the settings of InnoDB, because TiDB has them but
// ignores them.
func inspectTiDB(ctx context.Context, on timedConn, t tableName) (found session, err error) {
	var setting string
	if err := on.queryRow(ctx, tidbSession, &setting); err != nil {
		return found, err
	}
	found.dirt, err = mysqlDirt(ctx, on, t, setting)
	return found, err
}

// tidbShape reads the shape of the table as on MySQL. It adds the properties that only TiDB
// has, and that only the table's DDL shows: a global temporary table, rows that expire, and a
// cached table.
func tidbShape(ctx context.Context, conn *sql.Conn, t tableName) (shape, error) {
	found, err := mysqlShape(ctx, conn, t)
	if found.kind == temporary {
		found.fix = "DROP TEMPORARY TABLE " + t.quoted // TiDB cannot rename it
	}
	if err != nil || found.kind != "" {
		return found, err
	}
	ddl, err := mysqlDDL(ctx, timedConn{conn, statementTimeout}, t)
	if strings.HasPrefix(ddl, "CREATE GLOBAL TEMPORARY ") {
		found.kind = "a global temporary table"
	}
	if strings.Contains(ddl, "[ttl] TTL=") {
		found.flaws = append(found.flaws, Flaw{Found: "its rows expire", Want: "no TTL", Fix: fmt.Sprintf("ALTER TABLE %s REMOVE TTL", t.quoted)})
	}
	if strings.Contains(ddl, "/* CACHED ON */") {
		found.flaws = append(found.flaws, Flaw{Found: "it is a cached table, whose writes wait for all readers", Want: "a table that is not cached", Fix: fmt.Sprintf("ALTER TABLE %s NOCACHE", t.quoted)})
	}
	return found, err
}
