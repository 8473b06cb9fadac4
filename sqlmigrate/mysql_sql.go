package sqlmigrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

func mysqlQuote(name string) string { return mysqlEngine{}.Quote(engine.TableName{Name: name}) }

func mysqlQuoteTable(t engine.TableName) string { return mysqlEngine{}.Quote(t) }

var mysqlEscaper = strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`)

// mysqlLiteral is a string under the SQL mode of a session of the package, in
// which a backslash escapes.
func mysqlLiteral(s string) string { return "'" + mysqlEscaper.Replace(s) + "'" }

func mysqlLiterals(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = mysqlLiteral(s)
	}
	return strings.Join(quoted, ", ")
}

// whereTable is the condition for a table in the views of information_schema.
func whereTable(t engine.TableName) string {
	return "TABLE_SCHEMA = " + mysqlSchemaOf(t) + " AND TABLE_NAME = " + mysqlLiteral(t.Name)
}

func mysqlSchemaOf(t engine.TableName) string {
	if t.Schema == "" {
		return "DATABASE()"
	}
	return mysqlLiteral(t.Schema)
}

// mysqlColumnsAre is a query that is true if each column of the table has the
// type that typeOf says.
func mysqlColumnsAre(columns []*mysqlColumn, typeOf func(*mysqlColumn) integerType) string {
	are := make([]string, len(columns))
	for i, c := range columns {
		are[i] = "(COLUMN_NAME = " + mysqlLiteral(c.name) + " AND " + typeOf(c).condition() + ")"
	}
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE %s AND (%s)",
		len(columns), whereTable(columns[0].table.name), strings.Join(are, " OR "))
}

func mysqlConstraints(t engine.TableName, kind string, names ...string) string {
	return fmt.Sprintf("FROM information_schema.TABLE_CONSTRAINTS WHERE %s AND CONSTRAINT_TYPE = '%s' AND CONSTRAINT_NAME IN (%s)",
		whereTable(t), kind, mysqlLiterals(names))
}

func mysqlHasAll(t engine.TableName, kind string, names ...string) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d %s", len(names), mysqlConstraints(t, kind, names...))
}

func mysqlHasNone(t engine.TableName, kind string, names ...string) string {
	return "SELECT COUNT(*) = 0 " + mysqlConstraints(t, kind, names...)
}

// mysqlHasColumn is a query that is true if the column is there and condition
// holds for its row in information_schema.COLUMNS.
func mysqlHasColumn(c *mysqlColumn, condition string) string {
	return fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE %s AND COLUMN_NAME = %s AND %s",
		whereTable(c.table.name), mysqlLiteral(c.name), condition)
}

// rejectUnless fails with text unless the query is true. A condition has 128
// characters for its message.
func rejectUnless(text, unless string) engine.Statement {
	const most = 128
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return engine.Statement{SQL: mysqlSignal + mysqlLiteral(text), Unless: unless}
}

const mysqlSignal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "

func mysqlByTable(columns []*mysqlColumn) [][]*mysqlColumn {
	var tables []*mysqlTable
	groups := map[*mysqlTable][]*mysqlColumn{}
	for _, c := range columns {
		if groups[c.table] == nil {
			tables = append(tables, c.table)
		}
		if !slices.Contains(groups[c.table], c) {
			groups[c.table] = append(groups[c.table], c)
		}
	}
	slices.SortFunc(tables, func(a, b *mysqlTable) int { return strings.Compare(a.name.String(), b.name.String()) })
	sorted := make([][]*mysqlColumn, len(tables))
	for i, t := range tables {
		sorted[i] = groups[t]
	}
	return sorted
}
