package readonly

import "strings"

// A Table is a table whose primary key begins with a BIGINT.
type Table struct {
	Schema, Name, Key string
	Assigned          bool // the database assigns keys
	Composite         bool // the primary key has more columns
	Snowflake         bool // the largest key looks like a Snowflake ID
}

// Column is the key as package sqlmigrate reads names, in which quotes keep a dot.
func (t *Table) Column() string {
	var parts []string
	for _, part := range []string{t.Schema, t.Name, t.Key} {
		if strings.ContainsAny(part, `."`) {
			part = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

func (t *Table) String() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Is reports whether the command line names the table so.
func (t *Table) Is(name string) bool { return name == t.Name || name == t.Schema+"."+t.Name }

// Tables lists the tables whose primary key begins with a BIGINT.
func (p *Database) Tables() ([]Table, error) {
	return Rows(p, keysSQL[p.Dialect], nil, func(t *Table) []any { return []any{&t.Schema, &t.Name, &t.Key, &t.Assigned, &t.Composite} })
}

// keysSQL lists the tables, with their schema where it is not the current one.
var keysSQL = map[string]string{
	"sqlite": `SELECT '', m.name, c.name, m.sql LIKE '%AUTOINCREMENT%', EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE pk = 2)
FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
  AND c.pk = 1 AND c.type LIKE '%INT%' ORDER BY 2`,
	"mysql": `SELECT '', c.TABLE_NAME, c.COLUMN_NAME, c.EXTRA LIKE '%auto_increment%', second.COLUMN_NAME IS NOT NULL
FROM information_schema.COLUMNS c
JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME
  AND s.COLUMN_NAME = c.COLUMN_NAME AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1
LEFT JOIN information_schema.STATISTICS second ON second.TABLE_SCHEMA = c.TABLE_SCHEMA AND second.TABLE_NAME = c.TABLE_NAME
  AND second.INDEX_NAME = 'PRIMARY' AND second.SEQ_IN_INDEX = 2
WHERE c.TABLE_SCHEMA = DATABASE() AND c.DATA_TYPE = 'bigint' AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, a.attname,
  a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%', false), i.indnkeyatts > 1
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.atttypid = 'int8'::regtype
  AND n.nspname = ANY (current_schemas(false)) ORDER BY 1, 2`,
}
