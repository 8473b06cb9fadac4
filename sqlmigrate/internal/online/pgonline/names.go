package pgonline

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Names of what is there for the time being. The way back builds its own parts
// while the renamed ones are there.
const (
	newPrefix  = "gormflake_new_"
	oldPrefix  = "gormflake_old_"
	backPrefix = "gormflake_back_"

	sameCheck   = "gormflake_same" // a CHECK that both columns are equal
	triggerName = "zzzz_gormflake" // fires after all others, by its name
	functionFor = "gormflake_sync_"

	longestName = 63 // bytes
)

// temporary is a name with a prefix, cut where it would be too long. number,
// which no other object of the kind has, keeps it apart from others then.
func temporary(prefix, name string, number int64) string {
	if full := prefix + name; len(full) <= longestName {
		return full
	}
	return fmt.Sprintf("%s%d", prefix, number)
}

// A naming is one of the names that a column to be widened has, while two columns
// hold its values.
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

// list are columns, those that are widened under another name.
func (t *table) list(names []string, columnName naming) string {
	return pgsql.Join(names, ", ", func(name string) string {
		if c := t.widened(name); c != nil {
			return pgsql.Quote(columnName(c))
		}
		return pgsql.Quote(name)
	})
}

// written writes a format for each column, with its names.
func written(columns []*column, separator, format string, names ...naming) string {
	return pgsql.Join(columns, separator, func(c *column) string {
		quoted := make([]any, len(names))
		for i, name := range names {
			quoted[i] = pgsql.Quote(name(c))
		}
		return fmt.Sprintf(format, quoted...)
	})
}

// alter is one statement with an action for each column.
func (t *table) alter(columns []*column, action string, columnName naming) string {
	return "ALTER TABLE " + t.Target() + " " + written(columns, ", ", action, columnName)
}

// block makes a DO statement. body has no dollar quotes of its own: names
// with them are refused.
func block(declare, body string) string {
	return "DO $gormflake$\nDECLARE " + declare + "\nBEGIN\n" + body + "END\n$gormflake$"
}
