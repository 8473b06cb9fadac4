package pgonline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// uses reports whether the index has a column of the table that is widened.
func (i index) uses(t *table) bool {
	if i.hasExpression(t) {
		return true
	}
	for _, c := range i.Columns() {
		if t.widened(c.Name) != nil {
			return true
		}
	}
	return false
}

// hasExpression reports whether the index may use a column that is widened within an
// expression or its predicate. A word like it in a string counts too: the index is then
// made again as it is.
func (i index) hasExpression(t *table) bool {
	text := i.Predicate + pgsql.Join(i.Columns(), "", func(c pgcatalog.IndexColumn) string {
		return pgsql.If(c.Name == "", " "+c.Text)
	})
	return slices.ContainsFunc(t.columns, func(c *column) bool {
		return regexp.MustCompile(`(^|[^\pL\pN_$])` + regexp.QuoteMeta(c.Name) + `($|[^\pL\pN_$])`).MatchString(text)
	})
}

// rewrite takes the expressions of the same index of a copy.
func (i *index) rewrite(copied *pgcatalog.Index) {
	if i.Name != copied.Name {
		return
	}
	i.Predicate = copied.Predicate
	for n, c := range copied.Keys {
		if i.Keys[n].Name == "" {
			i.Keys[n] = c
		}
	}
}

// create makes the same index under another name, with the columns that columnName
// names.
func (i index) create(how string, t *table, name string, columnName naming) string {
	define := func(c pgcatalog.IndexColumn) string { return definition(c, t, columnName) }
	return fmt.Sprintf("CREATE %sINDEX %s%s ON %s%s USING %s (%s)",
		pgsql.If(i.Unique, "UNIQUE "), how, pgsql.Quote(name), pgsql.If(t.parted(), "ONLY "), t.Target(), i.Method, pgsql.Join(i.Keys, ", ", define)) +
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
