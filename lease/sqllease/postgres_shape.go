package sqllease

import (
	"context"
	"database/sql"
)

// postgresColumns asks about the four columns. A domain is as good as the type that it is
// based on. The type bytea is no text: a driver may send text for it, with escapes.
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

// postgresParts asks for everything but columns that could let a compare-and-swap
// succeed twice, or a write vanish: the kind of the relation, its unique indexes over
// both key columns, rules, triggers and row security.
//
// In pg_trigger.tgtype, 1 is FOR EACH ROW, 2 BEFORE, 4 INSERT and 16 UPDATE.
// A rule or trigger that is enabled for replicas alone does not concern the
// store.
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

func postgresShape(ctx context.Context, conn *sql.Conn, t table) (found shape, err error) {
	if err = found.readColumns(ctx, conn, postgresColumns, t.quoted); err == nil {
		err = found.readParts(ctx, conn, postgresParts, t.quoted)
	}
	return found, err
}
