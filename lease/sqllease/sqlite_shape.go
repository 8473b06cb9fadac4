package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// sqliteTable asks which table a name means. Names without a schema lead to the
// temporary tables first, and to attached files last.
const sqliteTable = `SELECT schema, type FROM pragma_table_list
WHERE name = ? COLLATE NOCASE AND (schema = ? COLLATE NOCASE OR ? = '') ORDER BY schema <> 'temp', schema <> 'main' LIMIT 1`

// sqliteColumns asks for the type and the NULLs of the columns. A column of the
// primary key counts as one without NULL: the store writes none.
const sqliteColumns = `SELECT lower(name), type, NOT ("notnull" OR pk), hidden > 1 FROM pragma_table_xinfo(?, ?)`

// sqliteKeys asks for the unique indexes over both key columns and no other.
const sqliteKeys = `SELECT l.name, CASE
    WHEN l.partial THEN 'is partial'
    WHEN max(x.coll <> 'BINARY') THEN 'has a collation other than BINARY'
    ELSE '' END
FROM pragma_index_list(?, ?) l JOIN pragma_index_xinfo(l.name, ?) x
WHERE l."unique" AND x.key GROUP BY l.name
HAVING count(*) = 2 AND count(DISTINCT CASE WHEN lower(x.name) IN ('namespace', 'worker_id') THEN lower(x.name) END) = 2`

// sqliteCompares asks whether a column tells texts apart that differ in case, or in a
// blank at the end. The catalog does not return the collation of a column, but a
// compound SELECT compares by the one of its first part.
const sqliteCompares = `SELECT count(*) = 3 FROM (SELECT %s FROM %s WHERE 1 = 0 UNION SELECT column1 FROM (VALUES ('a'), ('A'), ('a ')))`

const sqliteTriggers = `SELECT name, sql FROM %s.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE`

func sqliteShape(ctx context.Context, conn *sql.Conn, t table) (shape, error) {
	var schema, kind string
	if err := conn.QueryRowContext(ctx, sqliteTable, t.name, t.schema, t.schema).Scan(&schema, &kind); err != nil {
		return shape{}, err
	}
	found := shape{schema: schema, columns: map[string]column{}}
	switch {
	case schema == "temp":
		found.kind = temporary
		return found, nil
	case kind != "table":
		found.kind = "a " + kind
		return found, nil
	}
	return found, errors.Join(
		found.readSQLiteColumns(ctx, conn, t, schema),
		found.readSQLiteKeys(ctx, conn, t, schema),
		found.readSQLiteTriggers(ctx, conn, t, schema),
	)
}

func (found *shape) readSQLiteColumns(ctx context.Context, conn *sql.Conn, t table, schema string) error {
	err := eachRow(ctx, conn, sqliteColumns, []any{t.name, schema}, func(rows *sql.Rows) error {
		var name string
		var c column
		err := rows.Scan(&name, &c.typ, &c.nullable, &c.generated)
		c.exact = sqliteHolds(name, strings.ToUpper(c.typ))
		found.columns[name] = c
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"namespace", "owner"} {
		var exact bool
		if err := conn.QueryRowContext(ctx, fmt.Sprintf(sqliteCompares, name, t.quoted)).Scan(&exact); err != nil {
			return err
		}
		if c := found.columns[name]; !exact {
			c.exact = false
			c.typ += " with a collation other than BINARY"
			found.columns[name] = c
		}
	}
	return nil
}

func (found *shape) readSQLiteKeys(ctx context.Context, conn *sql.Conn, t table, schema string) error {
	return eachRow(ctx, conn, sqliteKeys, []any{t.name, schema, schema}, func(rows *sql.Rows) error {
		var k uniqueKey
		err := rows.Scan(&k.name, &k.defect)
		found.keys = append(found.keys, k)
		return err
	})
}

// sqliteHarmless matches a trigger that does not run before rows are written.
// SQLite's default is BEFORE.
var sqliteHarmless = regexp.MustCompile(`(?is)^CREATE\s+TRIGGER\s+("(?:[^"]|"")*"|` + "`[^`]*`" + `|\[[^]]*\]|'[^']*'|\S+)\s+(AFTER|(BEFORE\s+)?DELETE)\b`)

func (found *shape) readSQLiteTriggers(ctx context.Context, conn *sql.Conn, t table, schema string) error {
	quoted := `"` + schema + `"`
	return eachRow(ctx, conn, fmt.Sprintf(sqliteTriggers, quoted), []any{t.name}, func(rows *sql.Rows) error {
		var name, ddl string
		err := rows.Scan(&name, &ddl)
		if !sqliteHarmless.MatchString(ddl) {
			found.flaws = append(found.flaws, Flaw{
				Found: "trigger " + name + " can change or suppress what is written", Want: "no BEFORE trigger",
				Fix: fmt.Sprintf(`DROP TRIGGER %s."%s"`, quoted, strings.ReplaceAll(name, `"`, `""`)),
			})
		}
		return err
	})
}

// sqliteHolds reports whether a column of the type holds all values, by the
// affinity that SQLite derives from its name. Drivers read a column of another
// numeric type, such as TIMESTAMP or BOOLEAN, as something other than a number.
func sqliteHolds(column, typ string) bool {
	integer := strings.Contains(typ, "INT")
	text := strings.Contains(typ, "CHAR") || strings.Contains(typ, "CLOB") || strings.Contains(typ, "TEXT")
	if column == "worker_id" || column == "bound" {
		return integer || !text && (strings.HasPrefix(typ, "NUMERIC") || strings.HasPrefix(typ, "DECIMAL"))
	}
	return !integer && (text || typ == "" || strings.Contains(typ, "BLOB"))
}
