// Package readonly reads from a database over a connection that is set to read only. The
// commands doctor, migrate and workers use it.
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

// A Database is a database that is only read.
type Database struct {
	Ctx     context.Context
	DB      *gorm.DB // has a single connection, which is set to read only
	Dialect string   // GORM's name of the dialect: sqlite, mysql or postgres
	Engine  string   // TiDB, or another product that uses the protocol of MySQL; otherwise empty, also for MySQL and MariaDB
}

// readOnlySQL sets a connection to read only.
var readOnlySQL = map[string]string{
	"sqlite":   "PRAGMA query_only = 1",
	"mysql":    "SET SESSION TRANSACTION READ ONLY",
	"postgres": "SET default_transaction_read_only = on",
}

// With opens the database of the flag, calls use with a connection that is set to read
// only, and closes the database.
func With(ctx context.Context, f *flags.Database, use func(*Database) error) error {
	return f.With(ctx, flags.ReadOnly, func(db *gorm.DB) error {
		pool, err := db.DB()
		if err != nil {
			return err
		}
		// A single connection is kept, because a new one would not be set to read only.
		pool.SetMaxOpenConns(1)
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
		p := &Database{Ctx: ctx, DB: db, Dialect: db.Name()}
		if err := p.setReadOnly(); err != nil {
			return fmt.Errorf("set the connection to read only: %w", err)
		}
		return use(p)
	})
}

// setReadOnly sets the connection to read only, and sets the field Engine. It leaves the
// connection as it is if Engine is not empty, because TiDB does not support the setting.
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

// Ask runs a query that returns one row, and scans the row into the pointers.
func (p *Database) Ask(query string, args []any, into ...any) error {
	return p.DB.ConnPool.QueryRowContext(p.Ctx, query, args...).Scan(into...)
}

// clockSQL has, for each dialect, the query for the time of the server's clock in
// microseconds since 1970. SQLite runs in this process, and so has no other clock. MySQL's
// UNIX_TIMESTAMP(NOW(6)) would be an hour off for an hour when daylight saving ends.
var clockSQL = map[string]string{
	"mysql":    "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
	"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}

// Clock returns the time of the server's clock. Callers do not call it for SQLite, which has
// no server.
func (p *Database) Clock() (time.Time, error) {
	var microseconds int64
	err := p.Ask(clockSQL[p.Dialect], nil, &microseconds)
	return time.UnixMicro(microseconds), err
}

// Rows returns the rows of a query, each as a T. into returns pointers to the fields of a T,
// in the order of the columns that are scanned into them.
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

// Quote quotes names for SQL and joins them with dots, as in "shop"."orders". It leaves out
// empty names, such as the schema of a table in the current schema.
func (p *Database) Quote(names ...string) string {
	mark := `"` // the quotation mark, which is doubled inside a name
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

// mysqlDenied matches the errors of MySQL and MariaDB for a missing right, for example Error
// 1142, for a table.
var mysqlDenied = regexp.MustCompile(`\bError (1044|1142|1143|1227|1370)\b`)

// Denied reports whether err means that the account lacks a right. err must not be nil.
func Denied(err error) bool {
	var state interface{ SQLState() string } // an error of PostgreSQL's driver
	if errors.As(err, &state) {
		return state.SQLState() == "42501" // insufficient_privilege
	}
	return mysqlDenied.MatchString(err.Error())
}

// A Table is a table whose primary key begins with an integer column, or that has an
// AUTO_INCREMENT column. Key is the name of this integer or AUTO_INCREMENT column. If a table
// has two such columns, [Database.Tables] returns two Tables, one for each column.
type Table struct {
	Schema, Name, Key string  // Schema is empty for the current schema
	Assigned          bool    // whether the database assigns keys
	Composite         bool    // whether the primary key has several columns, or does not begin with Key
	Limit             float64 // the largest value of the key's type
	Counter           float64 // the last key that AUTO_INCREMENT assigned; 0 on SQLite and PostgreSQL
	Created           string  // the column with the time of the INSERT, such as created_at, or empty
	Snowflake         bool    // whether the largest key looks like a Snowflake ID; set by the command doctor
}

// Narrow reports whether the key is too narrow for a Snowflake ID, which needs a BIGINT.
func (t *Table) Narrow() bool { return t.Limit < math.MaxInt64 }

// Column returns the name of the key in the form that package sqlmigrate accepts, such as
// orders.id or shop.orders.id.
func (t *Table) Column() string { return joinDotted(t.Schema, t.Name, t.Key) }

// String returns the name of the table in the form that package sqlmigrate accepts, such as
// orders or shop.orders.
func (t *Table) String() string { return joinDotted(t.Schema, t.Name) }

// joinDotted joins names with dots. It leaves out empty names, and quotes names that contain
// a dot or a quote, as in shop."my.table".
func joinDotted(names ...string) string {
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

// Is reports whether a name on the command line means the table. The name may have a schema,
// and quotes as String writes them.
func (t *Table) Is(name string) bool {
	return name == t.Name || name == t.Schema+"."+t.Name || name == t.String()
}

// Tables returns the tables of a schema that have an integer key, without setting Snowflake.
// If schema is empty, it returns the tables of the current schema and, on PostgreSQL, of all
// schemas on the search_path.
func (p *Database) Tables(schema string) ([]Table, error) {
	args := []any{schema}
	if p.Dialect == "mysql" {
		args = []any{schema, schema} // for the two placeholders of the query
		// information_schema of MySQL shows AUTO_INCREMENT as it was up to a day ago, unless the
		// session sets this. The error is ignored, because MariaDB does not have the setting.
		_, _ = p.DB.ConnPool.ExecContext(p.Ctx, "SET SESSION information_schema_stats_expiry = 0")
	}
	return Rows(p, tablesSQL[p.Dialect], args, func(t *Table) []any {
		return []any{&t.Schema, &t.Name, &t.Key, &t.Assigned, &t.Composite, &t.Limit, &t.Counter, &t.Created}
	})
}

// createdPattern is an SQL literal with a regular expression for the names of columns with the
// time of an INSERT, such as created_at, creation_date, inserted and date_added.
const createdPattern = `'^(created?|creation|insert(ed)?|added)_?(at|on|date|time|timestamp)?$|^date_?(created|inserted|added)$'`

// tablesSQL has, for each dialect, the query for the tables of a schema. It returns the fields
// of a [Table] from Schema to Created, in this order. The parameter is the schema. In the
// parameter and in a row, the empty schema means the current schema. Virtual tables, partitions
// and tables of extensions (deptype 'e') are left out.
//
// For MySQL, c is the key. s is the row of this column in the primary key, and is NULL unless
// the primary key begins with the column. second is the second column of the primary key, and
// born is the column with the time of the INSERT. A key of n bits has the limit 2^(n-1) - 1, or
// 2^n - 1 if it is unsigned.
var tablesSQL = map[string]string{
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
  WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND DATA_TYPE IN ('datetime', 'timestamp', 'date') AND COLUMN_NAME REGEXP ` + createdPattern + `
  GROUP BY TABLE_NAME) AS born ON born.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_TYPE = 'BASE TABLE'
  AND c.DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
  AND (s.COLUMN_NAME IS NOT NULL OR c.EXTRA LIKE '%auto_increment%') ORDER BY 1, 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, a.attname,
  a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%', false), i.indnkeyatts > 1,
  2::float8 ^ (8 * a.attlen - 1) - 1, 0,
  coalesce((SELECT min(b.attname) FROM pg_attribute b WHERE b.attrelid = c.oid AND NOT b.attisdropped AND b.attname ~* ` + createdPattern + `
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
