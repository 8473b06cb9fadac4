package sqlmigrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A database without constraints still has columns such as order_id. Which of
// them hold keys is for people to say, so they are only pointed out.

// likelyReferences are notes on columns that are named as references are and
// are not part of the plan.
func (p *Plan) likelyReferences(ctx context.Context, conn *sql.Conn, queries engine.LikelyQueries) ([]string, error) {
	var notes []string
	for _, in := range p.schemas() {
		columns, err := likelyColumns(ctx, conn, queries, in)
		if err != nil {
			return nil, fmt.Errorf("sqlmigrate: look for columns that are named like references: %w", err)
		}
		types, err := columnsOf(ctx, conn, queries.Types, in)
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
	column := c.table.String() + "." + engine.QuoteDotted(c.name)
	if key := p.keyNamedBy(c); key != "" {
		return fmt.Sprintf("Column %s looks like a reference to %s and is not moved: if it is one, name it with WithReference(%q, %q).",
			column, key, column, key)
	}
	stem, ok := strings.CutSuffix(c.name, "_id")
	if ok && slices.Contains(types, columnName{c.table, stem + "_type"}) {
		return fmt.Sprintf("Column %s, next to %s_type, looks like a polymorphic reference and is not moved: if it refers to keys of this plan, name it with WithReference(%q, …) for each of them.",
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
	table engine.TableName
	name  string
}

func likelyColumns(ctx context.Context, conn *sql.Conn, queries engine.LikelyQueries, in string) ([]columnName, error) {
	narrow, err := columnsOf(ctx, conn, queries.Narrow, in)
	if err != nil {
		return nil, err
	}
	other, err := columnsOf(ctx, conn, queries.Other, in, in)
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
		c := columnName{table: engine.TableName{Schema: args[0].(string)}}
		if err := rows.Scan(&c.table.Name, &c.name); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}

func (p *Plan) has(column columnName) bool {
	return slices.ContainsFunc(p.Tables, func(t Table) bool {
		return t.Schema == column.table.Schema && t.Name == column.table.Name &&
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
		other := t.Schema == column.table.Schema && t.Name != column.table.Name
		if !other || !strings.EqualFold(t.Name, stem) && !strings.EqualFold(t.Name, naming.TableName(stem)) {
			continue
		}
		for _, c := range t.Columns {
			if c.Key {
				return t.qualified() + "." + engine.QuoteDotted(c.Name)
			}
		}
	}
	return ""
}
