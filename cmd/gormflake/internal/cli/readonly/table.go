package readonly

import (
	"math"
	"strings"
)

// A Table is a table whose primary key begins with an integer, or of which the
// database counts another integer.
type Table struct {
	Schema, Name, Key string
	Assigned          bool    // the database assigns keys
	Composite         bool    // the primary key has more columns, or others
	Limit             float64 // the largest key of the type
	Counter           float64 // the last key of AUTO_INCREMENT
	Created           string  // the column with the time of an INSERT; empty if there is none
	Snowflake         bool    // the largest key looks like a Snowflake ID
}

// Narrow reports whether no Snowflake ID fits into the key.
func (t *Table) Narrow() bool { return t.Limit < math.MaxInt64 }

// Column is the key as package sqlmigrate reads names, in which quotes keep a dot.
func (t *Table) Column() string { return dotted(t.Schema, t.Name, t.Key) }

func (t *Table) String() string { return dotted(t.Schema, t.Name) }

func dotted(names ...string) string {
	var parts []string
	for _, part := range names {
		if strings.ContainsAny(part, `."`) {
			part = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// Is reports whether the command line names the table so.
func (t *Table) Is(name string) bool {
	return name == t.Name || name == t.Schema+"."+t.Name || name == t.String()
}

// Tables lists the tables of a schema; if that is empty, of the current one and, on
// PostgreSQL, of the whole search_path.
func (p *Database) Tables(schema string) ([]Table, error) {
	args := []any{schema}
	if p.Dialect == "mysql" {
		args = []any{schema, schema}
		_, _ = p.DB.ConnPool.ExecContext(p.Ctx, "SET SESSION information_schema_stats_expiry = 0") // MariaDB does not have it
	}
	return Rows(p, keysSQL[p.Dialect], args, func(t *Table) []any {
		return []any{&t.Schema, &t.Name, &t.Key, &t.Assigned, &t.Composite, &t.Limit, &t.Counter, &t.Created}
	})
}

// created are names of the column with the time of an INSERT.
const created = `'^(created?|creation|insert(ed)?|added)_?(at|on|date|time|timestamp)?$|^date_?(created|inserted|added)$'`

// keysSQL lists the tables, with their schema where it is not the current one.
var keysSQL = map[string]string{
	"sqlite": `SELECT '', m.name, c.name, m.sql LIKE '%AUTOINCREMENT%', EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE pk = 2),
  9223372036854775807.0, 0, ''
FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE ?1 IN ('', 'main') AND m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
  AND c.pk = 1 AND c.type LIKE '%INT%' ORDER BY 2`,
	"mysql": `SELECT IF(c.TABLE_SCHEMA = DATABASE(), '', c.TABLE_SCHEMA), c.TABLE_NAME, c.COLUMN_NAME, c.EXTRA LIKE '%auto_increment%',
  s.COLUMN_NAME IS NULL OR second.COLUMN_NAME IS NOT NULL,
  POW(2, (c.COLUMN_TYPE LIKE '%unsigned%') + CASE c.DATA_TYPE WHEN 'tinyint' THEN 7 WHEN 'smallint' THEN 15 WHEN 'mediumint' THEN 23 WHEN 'int' THEN 31 ELSE 63 END) - 1,
  IF(c.EXTRA LIKE '%auto_increment%', GREATEST(COALESCE(t.AUTO_INCREMENT, 0), 1) - 1, 0), COALESCE(born.COLUMN_NAME, '')
FROM information_schema.COLUMNS c
JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
LEFT JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME
  AND s.COLUMN_NAME = c.COLUMN_NAME AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1
LEFT JOIN information_schema.STATISTICS second ON second.TABLE_SCHEMA = c.TABLE_SCHEMA AND second.TABLE_NAME = c.TABLE_NAME
  AND second.INDEX_NAME = 'PRIMARY' AND second.SEQ_IN_INDEX = 2
LEFT JOIN (SELECT TABLE_NAME, MIN(COLUMN_NAME) AS COLUMN_NAME FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND DATA_TYPE IN ('datetime', 'timestamp', 'date') AND COLUMN_NAME REGEXP ` + created + `
  GROUP BY TABLE_NAME) AS born ON born.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_TYPE = 'BASE TABLE'
  AND c.DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
  AND (s.COLUMN_NAME IS NOT NULL OR c.EXTRA LIKE '%auto_increment%') ORDER BY 1, 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, a.attname,
  a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%', false), i.indnkeyatts > 1,
  2::float8 ^ (8 * a.attlen - 1) - 1, 0,
  coalesce((SELECT min(b.attname) FROM pg_attribute b WHERE b.attrelid = c.oid AND NOT b.attisdropped AND b.attname ~* ` + created + `
    AND b.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)), '')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
  AND CASE $1::text WHEN '' THEN n.nspname = ANY (current_schemas(false)) ELSE n.nspname = $1 END
  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e') ORDER BY 1, 2`,
}
