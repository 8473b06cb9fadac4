package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// tidb is how package compatible names TiDB.
const tidb = "TiDB"

// tidbDialect is MySQL's but for what TiDB ignores, lacks or has in addition.
//
// Outside an explicit pessimistic transaction, a statement commits by the protocol that
// tidb_enable_1pc and tidb_enable_async_commit choose: with TiDB's embedded storage, two
// UPDATEs of one value then both change a row.
var tidbDialect = func() *dialect {
	d := *mysqlDialect
	d.begin = "BEGIN PESSIMISTIC"
	d.stray = nil // it does not count how often a session has changed its database
	d.classify = classifyTiDB
	d.inspect = inspectTiDB
	d.shape = tidbShape
	d.untried = "on which leases were tried with its embedded storage, and not with the one-phase and the asynchronous commit of a cluster of TiKV"
	d.addKey, d.alter = (*dialect).rebuild, "" // it changes no type of a key's column
	return &d
}()

// tidbAborted finds a commit that was rolled back: by a conflict, or because the row that
// it inserts is there.
var tidbAborted = regexp.MustCompile(`(?i)\berror (?:8002|8022|9007|(8141))\b`)

func classifyTiDB(err error) kind {
	switch match := tidbAborted.FindStringSubmatch(err.Error()); {
	case match == nil:
		return classifyMySQL(err)
	case match[1] != "":
		return duplicate
	}
	return conflict
}

const tidbSession = `SELECT CASE
    WHEN NOT @@SESSION.autocommit THEN 'autocommit=0, under which nothing that the store writes is committed'
    WHEN @@SESSION.tidb_snapshot <> '' THEN 'tidb_snapshot'
    WHEN @@SESSION.tidb_read_staleness <> 0 THEN 'tidb_read_staleness'
    WHEN @@SESSION.tidb_low_resolution_tso THEN 'tidb_low_resolution_tso'
    WHEN @@SESSION.tidb_enable_external_ts_read THEN 'tidb_enable_external_ts_read'
    ELSE '' END`

// inspectTiDB refuses what makes reads old, which writes do not survive. The settings of
// InnoDB are there, and mean nothing.
func inspectTiDB(ctx context.Context, on asker, t table) (found session, err error) {
	var setting string
	if err := on.ask(ctx, tidbSession, &setting); err != nil {
		return found, err
	}
	found.dirt, err = mysqlDirt(ctx, on, t, setting)
	return found, err
}

// tidbShape finds what only the table's DDL shows.
func tidbShape(ctx context.Context, conn *sql.Conn, t table) (shape, error) {
	found, err := mysqlShape(ctx, conn, t)
	if found.kind == temporary {
		found.fix = "DROP TEMPORARY TABLE " + t.quoted // it cannot be renamed
	}
	if err != nil || found.kind != "" {
		return found, err
	}
	ddl, err := mysqlDDL(ctx, asker{conn, statementTimeout}, t)
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
