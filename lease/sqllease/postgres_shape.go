package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// postgresColumns asks for the type, the collation and the NULLs of the four columns. A
// domain is as good as the type that it is based on.
const postgresColumns = `SELECT CAST(a.attname AS text),
  format_type(a.atttypid, a.atttypmod) || CASE WHEN collisdeterministic THEN '' ELSE ' with the nondeterministic collation ' || collname END,
  format_type(CASE typtype WHEN 'd' THEN typbasetype ELSE a.atttypid END, CASE typtype WHEN 'd' THEN typtypmod ELSE a.atttypmod END),
  collisdeterministic, NOT (a.attnotnull OR typnotnull), a.attgenerated <> ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  CROSS JOIN LATERAL (SELECT COALESCE((SELECT CAST(l.collname AS text) FROM pg_collation l WHERE l.oid = a.attcollation), '') AS collname,
    COALESCE((SELECT l.collisdeterministic FROM pg_collation l WHERE l.oid = a.attcollation), true) AS collisdeterministic) l
WHERE a.attrelid = to_regclass(CAST($1 AS text)) AND a.attname IN ('namespace', 'worker_id', 'bound', 'owner')`

// postgresParts asks for everything but columns that could let a compare-and-swap
// succeed twice, or a write vanish: the kind of the relation, its unique indexes over
// both key columns, rules, triggers and row security.
//
// In pg_trigger.tgtype, 1 is FOR EACH ROW, 2 BEFORE, 4 INSERT and 16 UPDATE.
// A rule or trigger that is enabled for replicas alone does not concern the
// store.
const postgresParts = `WITH t AS (SELECT * FROM pg_class WHERE oid = to_regclass(CAST($1 AS text)))
SELECT 'kind', CASE
    WHEN relkind = 'v' THEN 'a view'
    WHEN relkind = 'm' THEN 'a materialized view'
    WHEN relkind = 'f' THEN 'a foreign table'
    WHEN relkind = 'p' THEN 'a partitioned table'
    WHEN relkind <> 'r' THEN 'not a table'
    WHEN relpersistence = 't' THEN 'a temporary table'
    WHEN relispartition THEN 'a partition'
    WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = t.oid) THEN 'a child of another table (INHERITS)'
    WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = t.oid) THEN 'the parent of another table (INHERITS)'
    ELSE '' END, CAST(relnamespace AS regnamespace)::text FROM t
UNION ALL
SELECT 'unlogged', '', '' FROM t WHERE relpersistence <> 'p'
UNION ALL
SELECT 'key', CAST(CAST(i.indexrelid AS regclass) AS text), CASE
    WHEN NOT (indisvalid AND indisready AND indislive) THEN 'is not valid'
    WHEN NOT indimmediate THEN 'is deferrable'
    WHEN indpred IS NOT NULL THEN 'is partial'
    WHEN EXISTS (SELECT FROM pg_collation l WHERE l.oid IN (indcollation[0], indcollation[1]) AND NOT collisdeterministic)
      THEN 'has a nondeterministic collation'
    ELSE '' END
FROM pg_index i JOIN t ON i.indrelid = t.oid
WHERE indisunique AND indnkeyatts = 2 AND 2 = (SELECT count(*) FROM pg_attribute a
  WHERE a.attrelid = t.oid AND a.attnum IN (indkey[0], indkey[1]) AND a.attname IN ('namespace', 'worker_id'))
UNION ALL
SELECT 'rule', quote_ident(rulename), '' FROM pg_rewrite r JOIN t ON ev_class = t.oid WHERE ev_enabled IN ('O', 'A')
UNION ALL
SELECT 'trigger', quote_ident(tgname), '' FROM pg_trigger g JOIN t ON tgrelid = t.oid
WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgtype & 3 = 3 AND tgtype & 20 <> 0
UNION ALL
SELECT 'policies', '', '' FROM t WHERE row_security_active(t.oid)`

func postgresShape(ctx context.Context, conn *sql.Conn, t table) (shape, error) {
	found := shape{columns: map[string]column{}}
	err := eachRow(ctx, conn, postgresColumns, []any{t.quoted}, func(rows *sql.Rows) error {
		var name, base string
		var c column
		err := rows.Scan(&name, &c.typ, &base, &c.exact, &c.nullable, &c.generated)
		c.exact = c.exact && holdsPostgres(name, base)
		found.columns[name] = c
		return err
	})
	if err != nil {
		return shape{}, err
	}
	err = eachRow(ctx, conn, postgresParts, []any{t.quoted}, func(rows *sql.Rows) error {
		var part, name, text string
		err := rows.Scan(&part, &name, &text)
		found.addPostgres(t, part, name, text)
		return err
	})
	return found, err
}

func (found *shape) addPostgres(t table, part, name, text string) {
	switch part {
	case "kind":
		found.kind, found.schema = name, text
	case "unlogged":
		found.forgets = fmt.Sprintf("table %s is unlogged or temporary, and empty after a crash: ALTER TABLE %s SET LOGGED", t.quoted, t.quoted)
	case "key":
		found.keys = append(found.keys, uniqueKey{name, text})
	case "rule":
		found.flaws = append(found.flaws, Flaw{Found: "rule " + name + " rewrites statements", Want: "no rule", Fix: fmt.Sprintf("DROP RULE %s ON %s", name, t.quoted)})
	case "trigger":
		found.flaws = append(found.flaws, Flaw{Found: "trigger " + name + " can change or suppress what is written", Want: "no BEFORE trigger for rows", Fix: fmt.Sprintf("DROP TRIGGER %s ON %s", name, t.quoted)})
	case "policies":
		found.flaws = append(found.flaws, Flaw{Found: "row level security can hide rows from this user", Want: "all rows", Fix: fmt.Sprintf("ALTER TABLE %s DISABLE ROW LEVEL SECURITY", t.quoted)})
	}
}

var postgresType = regexp.MustCompile(`^([a-z ]+)(?:\((\d+)(?:,(\d+))?\))?$`)

// holdsPostgres is [holds] of a type with its size, or without one. The type bytea
// holds nothing: a driver may send text for it, with escapes.
func holdsPostgres(column, typ string) bool {
	match := postgresType.FindStringSubmatch(typ)
	if match == nil {
		return false
	}
	base := cmp.Or(map[string]string{"character varying": "text", "numeric": "decimal"}[match[1]], match[1])
	size, err := strconv.ParseInt(match[2], 10, 64)
	if err != nil {
		size = math.MaxInt64 // without a limit
	}
	scale, _ := strconv.ParseInt(match[3], 10, 64)
	return holds(column, base, size, scale)
}
