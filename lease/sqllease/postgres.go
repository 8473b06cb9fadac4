package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
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
	name:  "postgres",
	quote: `"`,
	text:  `VARCHAR(%d) COLLATE "C"`,
	insert: durable + `INSERT INTO %s (namespace, worker_id, bound, owner)
SELECT $1, $2, $3, $4 FROM durable WHERE durable.is = 'on'`,
	update: durable + `UPDATE %s SET bound = $1, owner = $2 FROM durable
WHERE durable.is = 'on' AND namespace = $3 AND worker_id = $4 AND bound = $5 AND owner = $6`,
	load:     loadSQL + "$1",
	get:      getPostgres,
	now:      "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
	standby:  "pg_is_in_recovery()",
	silence:  "the server is slow or cannot be reached, or a transaction holds a lock on the row",
	classify: classifyPostgres,
	inspect:  inspectPostgres,
	shape:    postgresShape,
	addKey: func(_ *dialect, t table) string {
		return fmt.Sprintf("CREATE UNIQUE INDEX ON %s (namespace, worker_id)", t.quoted)
	},
	alter: "ALTER TABLE %[1]s ALTER COLUMN %[2]s TYPE %[3]s USING CAST(%[2]s AS %[4]s), ALTER COLUMN %[2]s SET NOT NULL",
}

func stateOf(err error) string {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return ""
	}
	return state.SQLState()
}

// hint is what to do about an error where its text does not say it: about those of
// statements that were prepared over one connection of a PostgreSQL server and used
// over another. No other database's errors have such a state.
func hint(err error) string {
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
		found.findings = []finding{{slog.LevelWarn, "fsync is off, which forgets (or ruins the database) when the machine dies: set it to on"}}
	}
	return found, err
}
