package pgonline

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// goneQuery returns a query that is true if the partition t has been dropped, which
// programs may do during a move. As the Unless query of a step, it skips the step then. It
// returns "" for a table that is not a partition.
func (t *table) goneQuery() string {
	return pgsql.If(t.Partition, "SELECT pg_catalog.to_regclass("+pgsql.Literal(t.Target())+") IS NULL")
}

// alter returns an ALTER TABLE statement with an action for each column. action is, for
// example, "ADD COLUMN %s bigint", with a %s for the name that columnName returns.
func (t *table) alter(columns []*column, action string, columnName naming) string {
	return "ALTER TABLE " + t.Target() + " " + formatColumns(columns, ", ", action, columnName)
}

// dropConstraint returns the statement that drops a constraint.
func (t *table) dropConstraint(constraint string) string {
	return "ALTER TABLE " + t.Target() + " DROP CONSTRAINT " + pgsql.Quote(constraint)
}

// rename returns the statement that renames the column from.
func (t *table) rename(from, to string) string {
	return "ALTER TABLE " + t.Target() + " RENAME COLUMN " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

// renameConstraint returns the statement that renames the constraint from. If the
// constraint has an index, the server renames it too.
func (t *table) renameConstraint(from, to string) string {
	return "ALTER TABLE " + t.Target() + " RENAME CONSTRAINT " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

// renameIndex returns the statement that renames the index from.
func (t *table) renameIndex(from, to string) string {
	return "ALTER INDEX " + pgsql.Qualified(t.Schema, from) + " RENAME TO " + pgsql.Quote(to)
}

// columnList returns the quoted names of columns, separated by commas, as a foreign key
// lists them. A column that is widened gets the name that columnName returns, and any other
// column its own name.
func (t *table) columnList(names []string, columnName naming) string {
	return pgsql.Join(names, ", ", func(name string) string {
		if c := t.widened(name); c != nil {
			return pgsql.Quote(columnName(c))
		}
		return pgsql.Quote(name)
	})
}

// formatColumns returns a text for each column, joined by separator. Each function in names
// returns a name of a column. format has a %s for the quoted name from each function, in
// the order of names. For example, the format "%s = %s" with fresh and current returns
// "gormflake_new_id" = "id" for column id.
func formatColumns(columns []*column, separator, format string, names ...naming) string {
	return pgsql.Join(columns, separator, func(c *column) string {
		quoted := make([]any, len(names))
		for i, name := range names {
			quoted[i] = pgsql.Quote(name(c))
		}
		return fmt.Sprintf(format, quoted...)
	})
}

// doBlock returns a DO statement with the PL/pgSQL declarations declare and the statements
// body. They must not contain the tag $gormflake$. If the name of a table contains the tag,
// the text ends too early, and the server rejects the statement.
func doBlock(declare, body string) string {
	return "DO $gormflake$\nDECLARE " + declare + "\nBEGIN\n" + body + "END\n$gormflake$"
}

// array returns an SQL expression for an array of texts.
func array(texts []string) string {
	return "ARRAY[" + pgsql.Join(texts, ", ", pgsql.Literal) + "]::text[]"
}
