package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

func quote(name string) string { return Engine{}.Quote(engine.TableName{Name: name}) }

func quoteTable(t engine.TableName) string { return Engine{}.Quote(t) }

var escaper = strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`)

// literal is a string under the SQL mode of a session of the package, in
// which a backslash escapes.
func literal(s string) string { return "'" + escaper.Replace(s) + "'" }

func literals(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = literal(s)
	}
	return strings.Join(quoted, ", ")
}

// whereTable is the condition for a table in the views of information_schema.
func whereTable(t engine.TableName) string {
	return "TABLE_SCHEMA = " + schemaOf(t) + " AND TABLE_NAME = " + literal(t.Name)
}

func schemaOf(t engine.TableName) string {
	if t.Schema == "" {
		return "DATABASE()"
	}
	return literal(t.Schema)
}

// columnsAre is a query that is true if each column of the table has the
// type that typeOf says.
func columnsAre(columns []*column, typeOf func(*column) integerType) string {
	are := make([]string, len(columns))
	for i, c := range columns {
		are[i] = "(COLUMN_NAME = " + literal(c.name) + " AND " + typeOf(c).condition() + ")"
	}
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE %s AND (%s)",
		len(columns), whereTable(columns[0].table.name), strings.Join(are, " OR "))
}

func constraints(t engine.TableName, kind string, names ...string) string {
	return fmt.Sprintf("FROM information_schema.TABLE_CONSTRAINTS WHERE %s AND CONSTRAINT_TYPE = '%s' AND CONSTRAINT_NAME IN (%s)",
		whereTable(t), kind, literals(names))
}

func hasAll(t engine.TableName, kind string, names ...string) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d %s", len(names), constraints(t, kind, names...))
}

func hasNone(t engine.TableName, kind string, names ...string) string {
	return "SELECT COUNT(*) = 0 " + constraints(t, kind, names...)
}

// hasColumn is a query that is true if the column is there and condition
// holds for its row in information_schema.COLUMNS.
func hasColumn(c *column, condition string) string {
	return fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE %s AND COLUMN_NAME = %s AND %s",
		whereTable(c.table.name), literal(c.name), condition)
}

// rejectUnless fails with text unless the query is true. A condition has 128
// characters for its message.
func rejectUnless(text, unless string) engine.Statement {
	const most = 128
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return engine.Statement{SQL: signal + literal(text), Unless: unless}
}

const signal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "

func byTable(columns []*column) [][]*column {
	var tables []*table
	groups := map[*table][]*column{}
	for _, c := range columns {
		if groups[c.table] == nil {
			tables = append(tables, c.table)
		}
		if !slices.Contains(groups[c.table], c) {
			groups[c.table] = append(groups[c.table], c)
		}
	}
	slices.SortFunc(tables, func(a, b *table) int { return strings.Compare(a.name.String(), b.name.String()) })
	sorted := make([][]*column, len(tables))
	for i, t := range tables {
		sorted[i] = groups[t]
	}
	return sorted
}
