package pgonline

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// goneQuery returns a query that is true if the partition has been dropped, which
// programs may do during a move. It returns "" for a table that is not a partition.
func (t *table) goneQuery() string {
	return pgsql.If(t.Partition, "SELECT pg_catalog.to_regclass("+pgsql.Literal(t.Target())+") IS NULL")
}

// alter returns an ALTER TABLE statement with an action for each column. action has a %s
// for the name that columnName returns.
func (t *table) alter(columns []*column, action string, columnName naming) string {
	return "ALTER TABLE " + t.Target() + " " + formatColumns(columns, ", ", action, columnName)
}

// dropConstraint returns the statement that drops a constraint.
func (t *table) dropConstraint(constraint string) string {
	return "ALTER TABLE " + t.Target() + " DROP CONSTRAINT " + pgsql.Quote(constraint)
}

// rename returns the statement that renames a column.
func (t *table) rename(from, to string) string {
	return "ALTER TABLE " + t.Target() + " RENAME COLUMN " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

// renameConstraint returns the statement that renames a constraint. Its index gets the
// name too.
func (t *table) renameConstraint(from, to string) string {
	return "ALTER TABLE " + t.Target() + " RENAME CONSTRAINT " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

// renameIndex returns the statement that renames an index.
func (t *table) renameIndex(from, to string) string {
	return "ALTER INDEX " + pgsql.Qualified(t.Schema, from) + " RENAME TO " + pgsql.Quote(to)
}

// columnList returns the quoted names of columns. columnName gives the names of the
// columns that are widened; the others keep theirs.
func (t *table) columnList(names []string, columnName naming) string {
	return pgsql.Join(names, ", ", func(name string) string {
		if c := t.widened(name); c != nil {
			return pgsql.Quote(columnName(c))
		}
		return pgsql.Quote(name)
	})
}

// formatColumns returns, joined by separator, a text for each column. format makes the
// text from the quoted names that the functions names return for the column.
func formatColumns(columns []*column, separator, format string, names ...naming) string {
	return pgsql.Join(columns, separator, func(c *column) string {
		quoted := make([]any, len(names))
		for i, name := range names {
			quoted[i] = pgsql.Quote(name(c))
		}
		return fmt.Sprintf(format, quoted...)
	})
}

// doBlock returns a DO statement. declare and body must not contain the tag $gormflake$.
// A name in them that contains the tag ends the text too early, and the server rejects
// the statement.
func doBlock(declare, body string) string {
	return "DO $gormflake$\nDECLARE " + declare + "\nBEGIN\n" + body + "END\n$gormflake$"
}

// array returns an SQL expression for an array of texts.
func array(texts []string) string {
	return "ARRAY[" + pgsql.Join(texts, ", ", pgsql.Literal) + "]::text[]"
}
