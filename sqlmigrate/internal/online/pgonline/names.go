package pgonline

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Prefixes and names of temporary objects. The way back needs a prefix of its own,
// because the objects with the other prefixes still exist while it builds its indexes.
const (
	newPrefix  = "gormflake_new_"
	oldPrefix  = "gormflake_old_"
	backPrefix = "gormflake_back_"

	sameCheck   = "gormflake_same" // a CHECK that both columns are equal
	triggerName = "zzzz_gormflake" // the name sorts last, because triggers fire in the order of their names
	functionFor = "gormflake_sync_"

	longestName = 63 // in bytes
)

// temporary returns prefix and name, or prefix and number if that would be too long.
// number must be unique among the objects of the kind.
func temporary(prefix, name string, number int64) string {
	if full := prefix + name; len(full) <= longestName {
		return full
	}
	return fmt.Sprintf("%s%d", prefix, number)
}

// A naming returns one of the three names under which the values of a column are stored
// during a move.
type naming func(*column) string

func current(c *column) string { return c.Name }
func fresh(c *column) string   { return temporary(newPrefix, c.Name, c.Node.Column) }
func old(c *column) string     { return temporary(oldPrefix, c.Name, c.Node.Column) }

func nameOf(t *table) string { return t.Name }

func (i index) fresh() string { return temporary(newPrefix, i.Name, i.OID) }
func (i index) old() string   { return temporary(oldPrefix, i.Name, i.OID) }
func (i index) back() string  { return temporary(backPrefix, i.Name, i.OID) }

func (c *check) fresh() string { return temporary(newPrefix, c.Name, c.OID) }
func (c *check) back() string  { return temporary(backPrefix, c.Name, c.OID) }

func (k *foreignKey) fresh() string { return temporary(newPrefix, k.Name, k.OID) }
func (k *foreignKey) back() string  { return temporary(backPrefix, k.Name, k.OID) }

// list returns the quoted names of columns. columnName renames the columns that are
// widened.
func (t *table) list(names []string, columnName naming) string {
	return pgsql.Join(names, ", ", func(name string) string {
		if c := t.widened(name); c != nil {
			return pgsql.Quote(columnName(c))
		}
		return pgsql.Quote(name)
	})
}

// written returns the texts that format makes of each column's names, joined by
// separator.
func written(columns []*column, separator, format string, names ...naming) string {
	return pgsql.Join(columns, separator, func(c *column) string {
		quoted := make([]any, len(names))
		for i, name := range names {
			quoted[i] = pgsql.Quote(name(c))
		}
		return fmt.Sprintf(format, quoted...)
	})
}

// alter returns an ALTER TABLE statement with action for each column.
func (t *table) alter(columns []*column, action string, columnName naming) string {
	return "ALTER TABLE " + t.Target() + " " + written(columns, ", ", action, columnName)
}

// block returns a DO statement. declare and body must not contain the tag $gormflake$.
// The server rejects the statement if a name in it contains the tag.
func block(declare, body string) string {
	return "DO $gormflake$\nDECLARE " + declare + "\nBEGIN\n" + body + "END\n$gormflake$"
}
