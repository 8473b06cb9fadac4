// Package readonly asks a database that it cannot change.
package readonly

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/internal/compatible"
)

// A Database is a database that is read and never written.
type Database struct {
	Ctx     context.Context
	DB      *gorm.DB // of one connection, which is set to read only
	Dialect string   // GORM's name
	Engine  string   // that speaks the dialect's protocol, such as TiDB; empty for the dialect's own
}

var readOnlySQL = map[string]string{
	"sqlite":   "PRAGMA query_only = 1",
	"mysql":    "SET SESSION TRANSACTION READ ONLY",
	"postgres": "SET default_transaction_read_only = on",
}

// With opens the database of the flag, calls use and closes it.
func With(ctx context.Context, f *flags.Database, use func(*Database) error) error {
	return f.With(ctx, flags.ReadOnly, func(db *gorm.DB) error {
		pool, err := db.DB()
		if err != nil {
			return err
		}
		pool.SetMaxOpenConns(1)
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
		p := &Database{ctx, db, db.Name(), ""}
		if err := p.setReadOnly(); err != nil {
			return fmt.Errorf("set the connection to read only: %w", err)
		}
		return use(p)
	})
}

// setReadOnly leaves TiDB's connection as it is, which cannot be set so.
func (p *Database) setReadOnly() (err error) {
	if p.Dialect == "mysql" {
		var version string
		if err = p.Ask("SELECT VERSION()", nil, &version); err != nil {
			return err
		}
		p.Engine = compatible.Engine(version)
	}
	if p.Engine == "" {
		_, err = p.DB.ConnPool.ExecContext(p.Ctx, readOnlySQL[p.Dialect])
	}
	return err
}

// Ask scans the one row of a query.
func (p *Database) Ask(query string, args []any, into ...any) error {
	return p.DB.ConnPool.QueryRowContext(p.Ctx, query, args...).Scan(into...)
}

// clockSQL is the clock in microseconds. SQLite has that of the process.
var clockSQL = map[string]string{
	"mysql":    "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}

// Clock asks a server for its clock.
func (p *Database) Clock() (time.Time, error) {
	var microseconds int64
	err := p.Ask(clockSQL[p.Dialect], nil, &microseconds)
	return time.UnixMicro(microseconds), err
}

// Rows returns the rows of a query. Into are the places of a row's columns.
func Rows[T any](p *Database, query string, args []any, into func(*T) []any) ([]T, error) {
	rows, err := p.DB.ConnPool.QueryContext(p.Ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var row T
		if err := rows.Scan(into(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Quote quotes names, and joins them with dots. Empty ones are left out.
func (p *Database) Quote(names ...string) string {
	mark := `"`
	if p.Dialect == "mysql" {
		mark = "`"
	}
	var quoted []string
	for _, name := range names {
		if name != "" {
			quoted = append(quoted, mark+strings.ReplaceAll(name, mark, mark+mark)+mark)
		}
	}
	return strings.Join(quoted, ".")
}

// mysqlDenied are the numbers of the errors for a missing right.
var mysqlDenied = regexp.MustCompile(`\bError (1044|1142|1143|1227|1370)\b`)

// Denied reports whether the account lacks a right.
func Denied(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "42501"
	}
	return mysqlDenied.MatchString(err.Error())
}

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
