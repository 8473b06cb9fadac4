package pgonline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// uses reports whether the index has a column of the table that is widened.
func (i index) uses(t *table) bool {
	if i.expression(t) != "" {
		return true
	}
	for _, c := range i.Columns() {
		if t.widened(c.Name) != nil {
			return true
		}
	}
	return false
}

// expression is a column that the index may use within an expression or its
// predicate. A word like it in a string counts too: it is better refused.
func (i index) expression(t *table) string {
	text := i.Predicate + joined(i.Columns(), "", func(c pgcatalog.IndexColumn) string {
		if c.Name != "" {
			return ""
		}
		return " " + c.Text
	})
	for _, c := range t.columns {
		if regexp.MustCompile(`(^|[^\pL\pN_$])` + regexp.QuoteMeta(c.Name) + `($|[^\pL\pN_$])`).MatchString(text) {
			return c.Name
		}
	}
	return ""
}

// create makes the same index under another name, with the columns that columnName
// names.
func (i index) create(t *table, name string, columnName naming) string {
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	text := fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s USING %s (%s)", unique, pgsql.Quote(name), t.Target(), i.Method,
		joined(i.Keys, ", ", func(c pgcatalog.IndexColumn) string { return definition(c, t, columnName) }))
	if len(i.Included) > 0 {
		text += " INCLUDE (" + joined(i.Included, ", ", func(c pgcatalog.IndexColumn) string { return definition(c, t, columnName) }) + ")"
	}
	if !i.DistinctNulls {
		text += " NULLS NOT DISTINCT"
	}
	if i.Options != "" {
		text += " WITH (" + i.Options + ")"
	}
	if i.Space != "" {
		text += " TABLESPACE " + pgsql.Quote(i.Space)
	}
	if i.Predicate != "" {
		text += " WHERE " + i.Predicate
	}
	return text
}

// definition is the column as it stands in CREATE INDEX.
func definition(c pgcatalog.IndexColumn, t *table, columnName naming) string {
	if w := t.widened(c.Name); w != nil {
		return pgsql.Quote(columnName(w)) + c.Order
	}
	text := c.Text
	if c.Name == "" && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	}
	if c.Collation != "" {
		text += " COLLATE " + c.Collation
	}
	if c.Class != "" {
		text += " " + c.Class
	}
	return text + c.Order
}
