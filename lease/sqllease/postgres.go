package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
)

// durableSQL begins a statement. It makes the commit of this statement wait for the disk
// even if the session has synchronous_commit=off, under which a crash loses acknowledged
// writes. The last argument of set_config, true, limits the change to the statement's
// transaction. PostgreSQL evaluates durableSQL before it writes the first row, because the
// statement's condition depends on it.
const durableSQL = "WITH durable AS (SELECT set_config('synchronous_commit', 'on', true) AS is) "

// getPostgres reads the records of some keys. $1 is the namespace, and $2 has the keys as a
// text, for example "3,17". It looks each key up separately. With a condition on a list of
// keys, PostgreSQL may compare the list with every row of the namespace, because it may use
// a plan that was made while there were few rows and is kept with the prepared statement.
// LIMIT 2 is enough to notice a second row of a key, which is an error.
const getPostgres = selectSQL + `(unnest(CAST(string_to_array(CAST($2 AS text), ',') AS bigint[])) AS wanted(key)
  CROSS JOIN LATERAL (SELECT * FROM %s WHERE namespace = $1 AND worker_id = wanted.key LIMIT 2) AS records) ON true`

// postgresDialect is the dialect of PostgreSQL. Its text columns have the collation "C",
// which compares bytes. An index under it does not depend on the version of the operating
// system.
var postgresDialect = &dialect{
	name:  "postgres",
	quote: `"`,
	text:  `VARCHAR(%d) COLLATE "C"`,
	insert: durableSQL + `INSERT INTO %s (namespace, worker_id, bound, owner)
SELECT $1, $2, $3, $4 FROM durable WHERE durable.is = 'on'`,
	update: durableSQL + `UPDATE %s SET bound = $1, owner = $2 FROM durable
WHERE durable.is = 'on' AND namespace = $3 AND worker_id = $4 AND bound = $5 AND owner = $6`,
	load:       loadSQL + "$1",
	get:        getPostgres,
	now:        "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
	standby:    "pg_is_in_recovery()",
	primary:    "a DSN that leads to the primary (target_session_attrs=read-write)",
	silence:    "the server is slow or cannot be reached, or a transaction holds a lock on the row",
	classify:   classifyPostgres,
	inspect:    inspectPostgres,
	otherTable: otherTablePostgres,
	shape:      postgresShape,
	addKey: func(_ *dialect, t tableName) string {
		return fmt.Sprintf("CREATE UNIQUE INDEX ON %s (namespace, worker_id)", t.quoted)
	},
	alter: "ALTER TABLE %[1]s ALTER COLUMN %[2]s TYPE %[3]s USING CAST(%[2]s AS %[4]s), ALTER COLUMN %[2]s SET NOT NULL",
}

// sqlState returns the SQLSTATE of an error of PostgreSQL, for example "42P01", or "" for
// other errors. The errors of pgx and lib/pq have a method for it, so this package does not
// import them.
func sqlState(err error) string {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return ""
	}
	return state.SQLState()
}

// poolerHint returns advice to append to an error, or "". It recognizes statements that
// were prepared over one connection of a PostgreSQL server and used over another. Errors
// of other databases have no SQLSTATE method, so that they get no hint.
func poolerHint(err error) string {
	switch sqlState(err) {
	case "26000", "42P05": // the prepared statement does not exist, or exists already
		return "; behind a pooler in transaction mode, such as PgBouncer, add default_query_exec_mode=exec to the DSN, or set the pooler's max_prepared_statements"
	}
	return ""
}

// classifyPostgres returns the meaning of an error of PostgreSQL, by its SQLSTATE.
func classifyPostgres(err error) errorKind {
	switch sqlState(err) {
	case "42P01": // undefined table
		return missing
	case "23505": // unique violation
		return duplicate
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return conflict
	case "25006", "25P02": // the server is a standby or the session read-only; a failed transaction
		return elsewhere
	case "42501": // insufficient privilege
		return denied
	}
	return unknown
}

// inspectPostgres reads two settings of the server, and finds out whether a transaction is
// open on the connection. For this it compares transaction_timestamp in two statements. The
// times are equal in an open transaction, and differ if each statement is a transaction of
// its own. Since version 5.9, pgx itself closes a connection with an open transaction; other
// drivers do not.
func inspectPostgres(ctx context.Context, on timedConn, _ tableName) (found session, err error) {
	const began = "CAST(transaction_timestamp() AS text)"
	var fsync, pages, first, second string
	err = on.queryRow(ctx, "SELECT current_setting('fsync'), current_setting('full_page_writes'), "+began, &fsync, &pages, &first)
	if err == nil {
		err = on.queryRow(ctx, "SELECT "+began, &second)
	}
	if err == nil && first == second {
		found.dirt = fmt.Errorf("%w has a transaction that was not ended: commit it or roll it back before the connection returns to the pool", errDirty)
	}
	if fsync == "off" {
		found.findings = append(found.findings, finding{slog.LevelWarn, "fsync is off, which forgets (or ruins the database) when the machine dies: set it to on"})
	}
	if pages == "off" {
		found.findings = append(found.findings, finding{slog.LevelWarn, "full_page_writes is off, which forgets (or ruins the database) when the machine dies while it writes a page: set it to on"})
	}
	return found, err
}

// otherTablePostgres returns here, the schema in which CREATE TABLE would create the table,
// and other, a different schema that already has a table of this name with records. If the
// program has set search_path in its DSN, other is empty, because the program has chosen
// its schema, and the other schemas may belong to other applications.
func otherTablePostgres(ctx context.Context, d *dialect, on execer, name string) (here, other string, err error) {
	var source string
	err = on.QueryRowContext(ctx, "SELECT COALESCE(CAST(current_schema() AS text), ''), source FROM pg_settings WHERE name = 'search_path'").Scan(&here, &source)
	// here is "" if no schema of search_path exists. "client" means that the DSN has set
	// search_path.
	if err != nil || here == "" || source == "client" {
		return here, "", err
	}
	others, err := queryTexts(ctx, on, `SELECT CAST(n.nspname AS text) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relname = $1 AND relkind IN ('r', 'p') AND relpersistence <> 't' AND n.nspname <> $2
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')`, name, here)
	if err == nil {
		other, err = d.withRecords(ctx, on, others, name)
	}
	return here, other, err
}

// postgresColumns reads the nine values of each column that readColumns expects: the name,
// the type as written, the type, size and scale for holds, and the fields exact, pads,
// nullable and generated of a [column]. It finds size and scale in the text of the type, for
// example 19 and 0 in numeric(19,0). A domain counts as the type that it is based on. The
// type bytea does not count as text, because a driver may send text for it, with escapes.
const postgresColumns = `SELECT CAST(attname AS text), format_type(atttypid, atttypmod) || COALESCE(' with the nondeterministic collation ' || collname, ''),
  CASE plain WHEN 'character varying' THEN 'text' WHEN 'numeric' THEN 'decimal' ELSE plain END,
  COALESCE(CAST(substring(sized FROM '[(]([0-9]+)') AS bigint), 2147483647), COALESCE(CAST(substring(sized FROM ',(-?[0-9]+)') AS bigint), 0),
  collname IS NULL, false, NOT (attnotnull OR typnotnull), attgenerated <> ''
FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
  LEFT JOIN pg_collation l ON l.oid = attcollation AND NOT collisdeterministic
  CROSS JOIN LATERAL (SELECT CASE typtype WHEN 'd' THEN typbasetype ELSE atttypid END AS base,
    CASE typtype WHEN 'd' THEN typtypmod ELSE atttypmod END AS size) b
  CROSS JOIN LATERAL (SELECT format_type(base, NULL) AS plain, format_type(base, size) AS sized) f
WHERE attrelid = to_regclass(CAST($1 AS text)) AND attname IN ('namespace', 'worker_id', 'bound', 'owner')`

// postgresParts reads all properties of the table, besides its columns, that could let a
// compare-and-swap succeed twice or make a write vanish. These are the kind of the relation,
// its unique indexes over both key columns, rules, triggers and row security. The rows are
// as readParts expects them, so the first column is 'table', 'key', 'forgets' or 'flaw'.
//
// In pg_trigger.tgtype, 1 is FOR EACH ROW, 2 BEFORE, 4 INSERT and 16 UPDATE, so "& 3 = 3"
// selects triggers BEFORE ... FOR EACH ROW, and "& 20" those of INSERT or UPDATE. Rules and
// triggers that are enabled as 'O' or 'A' run in ordinary sessions. The others, which are
// disabled or run only on replicas, do not affect the store.
const postgresParts = `WITH t AS (SELECT *, CAST($1 AS text) AS quoted FROM pg_class WHERE oid = to_regclass(CAST($1 AS text)))
SELECT 'table', CASE
    WHEN relkind = 'v' THEN 'a view'
    WHEN relkind = 'm' THEN 'a materialized view'
    WHEN relkind = 'f' THEN 'a foreign table'
    WHEN relkind = 'p' THEN 'a partitioned table'
    WHEN relkind <> 'r' THEN 'not a table'
    WHEN relpersistence = 't' THEN 'a temporary table'
    WHEN relispartition THEN 'a partition'
    WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = t.oid) THEN 'a child of another table (INHERITS)'
    WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = t.oid) THEN 'the parent of another table (INHERITS)'
    ELSE '' END, CAST(nspname AS text), '' FROM t JOIN pg_namespace n ON n.oid = relnamespace
UNION ALL
SELECT 'forgets', 'table ' || quoted || ' is unlogged or temporary, and empty after a crash: ALTER TABLE ' || quoted || ' SET LOGGED', '', ''
FROM t WHERE relpersistence <> 'p'
UNION ALL
SELECT 'key', CAST(CAST(i.indexrelid AS regclass) AS text), CASE
    WHEN NOT (indisvalid AND indisready AND indislive) THEN 'is not valid'
    WHEN NOT indimmediate THEN 'is deferrable'
    WHEN indpred IS NOT NULL THEN 'is partial'
    WHEN EXISTS (SELECT FROM pg_collation l WHERE l.oid IN (indcollation[0], indcollation[1]) AND NOT collisdeterministic)
      THEN 'has a nondeterministic collation'
    ELSE '' END, ''
FROM pg_index i JOIN t ON i.indrelid = t.oid
WHERE indisunique AND indnkeyatts = 2 AND 2 = (SELECT count(*) FROM pg_attribute a
  WHERE a.attrelid = t.oid AND a.attnum IN (indkey[0], indkey[1]) AND a.attname IN ('namespace', 'worker_id'))
UNION ALL
SELECT 'flaw', 'rule ' || quote_ident(rulename) || ' rewrites statements', 'no rule', 'DROP RULE ' || quote_ident(rulename) || ' ON ' || quoted
FROM pg_rewrite r JOIN t ON ev_class = t.oid WHERE ev_enabled IN ('O', 'A')
UNION ALL
SELECT 'flaw', 'trigger ' || quote_ident(tgname) || ' can change or suppress what is written', 'no BEFORE trigger for rows',
  'DROP TRIGGER ' || quote_ident(tgname) || ' ON ' || quoted
FROM pg_trigger g JOIN t ON tgrelid = t.oid
WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgtype & 3 = 3 AND tgtype & 20 <> 0
UNION ALL
SELECT 'flaw', 'row level security can hide rows from this user', 'all rows', 'ALTER TABLE ' || quoted || ' DISABLE ROW LEVEL SECURITY'
FROM t WHERE row_security_active(t.oid)`

// postgresShape reads the columns of the table, its kind, and its keys, rules and triggers.
func postgresShape(ctx context.Context, conn *sql.Conn, t tableName) (found shape, err error) {
	if err = found.readColumns(ctx, conn, postgresColumns, t.quoted); err == nil {
		err = found.readParts(ctx, conn, postgresParts, t.quoted)
	}
	return found, err
}
