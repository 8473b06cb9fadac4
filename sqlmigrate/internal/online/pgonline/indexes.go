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
	text := i.Predicate + pgsql.Join(i.Columns(), "", func(c pgcatalog.IndexColumn) string {
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
	define := func(c pgcatalog.IndexColumn) string { return definition(c, t, columnName) }
	return fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s USING %s (%s)",
		pgsql.If(i.Unique, "UNIQUE "), pgsql.Quote(name), t.Target(), i.Method, pgsql.Join(i.Keys, ", ", define)) +
		pgsql.If(len(i.Included) > 0, " INCLUDE ("+pgsql.Join(i.Included, ", ", define)+")") +
		pgsql.If(!i.DistinctNulls, " NULLS NOT DISTINCT") +
		pgsql.If(i.Options != "", " WITH ("+i.Options+")") +
		pgsql.If(i.Space != "", " TABLESPACE "+pgsql.Quote(i.Space)) +
		pgsql.If(i.Predicate != "", " WHERE "+i.Predicate)
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
	return text + pgsql.If(c.Collation != "", " COLLATE "+c.Collation) + pgsql.If(c.Class != "", " "+c.Class) + c.Order
}
