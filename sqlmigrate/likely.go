package sqlmigrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// A database without constraints still has columns such as order_id. Which of
// them hold keys is for people to say, so they are only pointed out.

// narrowColumns are the queries for the columns of a schema, by default the
// current one, that would hold keys but no Snowflake IDs. SQLite has none.
var narrowColumns = map[string]string{
	"mysql": `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int')`,
	"postgres": `SELECT c.relname, a.attname FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = COALESCE(NULLIF($1, ''), current_schema()) AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount = 0
			AND a.atttypid IN ('pg_catalog.int2'::regtype, 'pg_catalog.int4'::regtype)
			AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.conrelid = c.oid AND a.attnum = ANY (k.conkey))`,
}

// otherColumns are the queries for those among them that have a foreign key, and
// for the views, which have no name of a column. MariaDB would take the square
// of the number of tables to join these.
var otherColumns = map[string]string{
	"mysql": `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND REFERENCED_TABLE_NAME IS NOT NULL
		UNION ALL SELECT TABLE_NAME, '' FROM information_schema.VIEWS WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE())`,
}

// typeColumns are the queries for the columns that may tell which table another
// one, of the same name with _id, refers to.
var typeColumns = map[string]string{
	"mysql": `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND RIGHT(COLUMN_NAME, 5) = '_type'`,
	"postgres": `SELECT c.relname, a.attname FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = COALESCE(NULLIF($1, ''), current_schema()) AND NOT a.attisdropped AND right(a.attname, 5) = '_type'`,
}

// likelyReferences are notes on columns that are named as references are and
// are not part of the plan.
func (p *Plan) likelyReferences(ctx context.Context, conn *sql.Conn) ([]string, error) {
	var notes []string
	for _, in := range p.schemas() {
		columns, err := likelyColumns(ctx, conn, p.Dialect, in)
		if err != nil {
			return nil, fmt.Errorf("sqlmigrate: look for columns that are named like references: %w", err)
		}
		types, err := columnsOf(ctx, conn, typeColumns[p.Dialect], in)
		if err != nil {
			return nil, fmt.Errorf("sqlmigrate: look for polymorphic references: %w", err)
		}
		for _, c := range columns {
			if note := p.likelyNote(c, types); note != "" && !p.has(c) {
				notes = append(notes, note)
			}
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes), nil
}

// likelyNote is empty if the column's name tells nothing.
func (p *Plan) likelyNote(c columnName, types []columnName) string {
	column := c.table.String() + "." + quoteDotted(c.name)
	if key := p.keyNamedBy(c); key != "" {
		return fmt.Sprintf("Column %s looks like a reference to %s and is not moved: if it is one, name it with WithReference(%q, %q).",
			column, key, column, key)
	}
	stem, ok := strings.CutSuffix(c.name, "_id")
	if ok && slices.Contains(types, columnName{c.table, stem + "_type"}) {
		return fmt.Sprintf("Column %s, beside %s_type, looks like a polymorphic reference and is not moved: if it refers to keys of this plan, name it with WithReference(%q, …) for each of them.",
			column, stem, column)
	}
	return ""
}

func (p *Plan) schemas() []string {
	var names []string
	for _, t := range p.Tables {
		names = append(names, t.Schema)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type columnName struct {
	table tableName
	name  string
}

func likelyColumns(ctx context.Context, conn *sql.Conn, dialect, in string) ([]columnName, error) {
	narrow, err := columnsOf(ctx, conn, narrowColumns[dialect], in)
	if err != nil {
		return nil, err
	}
	other, err := columnsOf(ctx, conn, otherColumns[dialect], in, in)
	if err != nil {
		return nil, err
	}
	left := make(map[columnName]bool, len(other))
	for _, c := range other {
		left[c] = true
	}
	return slices.DeleteFunc(narrow, func(c columnName) bool { return left[c] || left[columnName{table: c.table}] }), nil
}

func columnsOf(ctx context.Context, conn *sql.Conn, query string, args ...any) ([]columnName, error) {
	if query == "" {
		return nil, nil
	}
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var columns []columnName
	for rows.Next() {
		c := columnName{table: tableName{schema: args[0].(string)}}
		if err := rows.Scan(&c.table.name, &c.name); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}

func (p *Plan) has(column columnName) bool {
	return slices.ContainsFunc(p.Tables, func(t Table) bool {
		return t.Schema == column.table.schema && t.Name == column.table.name &&
			slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == column.name })
	})
}

// keyNamedBy is the key of another table of the plan that the column is named
// after: order_id or orders_id after orders.
func (p *Plan) keyNamedBy(column columnName) string {
	naming := schema.NamingStrategy{}
	stem, ok := strings.CutSuffix(naming.ColumnName("", column.name), "_id")
	if !ok || stem == "" {
		return ""
	}
	for _, t := range p.Tables {
		other := t.Schema == column.table.schema && t.Name != column.table.name
		if !other || !strings.EqualFold(t.Name, stem) && !strings.EqualFold(t.Name, naming.TableName(stem)) {
			continue
		}
		for _, c := range t.Columns {
			if c.Key {
				return t.qualified() + "." + quoteDotted(c.Name)
			}
		}
	}
	return ""
}
