package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// durable makes the commit of its own statement wait for the disk, whatever
// synchronous_commit is for the session: off loses acknowledged writes in a
// crash. PostgreSQL evaluates it before the first row is written, because the
// row depends on it.
const durable = "WITH durable AS (SELECT set_config('synchronous_commit', 'on', true) AS is) "

// getPostgres looks each key up separately. A list of keys may be compared with
// every row of the namespace, by a plan that was made while there were few and is
// kept with the prepared statement.
const getPostgres = selectSQL + `(unnest(CAST(string_to_array(CAST($2 AS text), ',') AS bigint[])) AS wanted(key)
  CROSS JOIN LATERAL (SELECT * FROM %s WHERE namespace = $1 AND worker_id = wanted.key LIMIT 2) AS records) ON true`

// The collation "C" compares bytes, and an index under it does not depend on
// the operating system's version.
var postgresDialect = &dialect{
	name:   "postgres",
	quote:  `"`,
	create: fmt.Sprintf(createSQL, `VARCHAR(64) COLLATE "C"`, `VARCHAR(128) COLLATE "C"`, ""),
	insert: durable + `INSERT INTO %s (namespace, worker_id, bound, owner)
SELECT ?, ?, ?, ? FROM durable WHERE durable.is = 'on'`,
	update: durable + `UPDATE %s SET bound = ?, owner = ? FROM durable
WHERE durable.is = 'on' AND namespace = ? AND worker_id = ? AND bound = ? AND owner = ?`,
	get:      getPostgres,
	now:      "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
	standby:  "pg_is_in_recovery()",
	silence:  "the server is slow or cannot be reached, or a transaction holds a lock on the row",
	version:  "SELECT version()",
	rebind:   dollars,
	classify: classifyPostgres,
	hint:     hintPostgres,
	inspect:  inspectPostgres,
	repairs:  postgresRepairs,
	shape:    postgresShape,
}

// dollars numbers the parameters, as PostgreSQL wants them.
func dollars(statement string) string {
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func stateOf(err error) string {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return ""
	}
	return state.SQLState()
}

// hintPostgres knows the errors of statements that were prepared over one
// connection of the server and used over another.
func hintPostgres(err error) string {
	switch stateOf(err) {
	case "26000", "42P05": // no such prepared statement, or another
		return "; behind a pooler in transaction mode, such as PgBouncer, add default_query_exec_mode=exec to the DSN, or set the pooler's max_prepared_statements"
	}
	return ""
}

func classifyPostgres(err error) kind {
	switch stateOf(err) {
	case "42P01":
		return missing
	case "23505":
		return duplicate
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return conflict
	case "25006", "25P02": // a standby, the primary that has become one, or a session that is read-only; a failed transaction
		return elsewhere
	case "42501":
		return denied
	}
	return unknown
}

// inspectPostgres does not look for transactions: pgx does, whenever it is asked for
// a connection, and closes one that is in any.
func inspectPostgres(ctx context.Context, conn *sql.Conn, _ table) (found session, err error) {
	var fsync string
	if err = conn.QueryRowContext(ctx, "SELECT current_setting('fsync')").Scan(&fsync); fsync == "off" {
		found.findings = []finding{{false, "fsync is off, which forgets (or ruins the database) when the machine dies: set it to on"}}
	}
	return found, err
}
