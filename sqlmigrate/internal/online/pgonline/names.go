package pgonline

import "fmt"

// Prefixes and names of temporary objects. newPrefix is for the objects of the new
// columns before the swap, and oldPrefix for those of the old columns after the swap.
// The way back needs backPrefix, because the objects with the other prefixes still
// exist while it builds indexes and constraints of the old columns again.
const (
	newPrefix  = "gormflake_new_"
	oldPrefix  = "gormflake_old_"
	backPrefix = "gormflake_back_"

	sameCheck      = "gormflake_same" // a CHECK that both columns are equal
	triggerName    = "zzzz_gormflake" // the name sorts last, because triggers fire in the order of their names
	functionPrefix = "gormflake_sync_"

	longestName = 63 // in bytes; PostgreSQL cuts longer names
)

// temporaryName returns prefix and name, for example gormflake_new_id, or prefix and number
// if that would be too long. number must be unique among the objects of the kind, such as
// an OID.
func temporaryName(prefix, name string, number int64) string {
	if full := prefix + name; len(full) <= longestName {
		return full
	}
	return fmt.Sprintf("%s%d", prefix, number)
}

// A naming returns a name of a column. During a move, each column to widen exists twice, so
// that there are three names: current, fresh and old.
type naming func(*column) string

// current returns the name that programs use, for example id. Before the swap the old
// column has it, and after the swap the new column.
func current(c *column) string { return c.Name }

// fresh returns the name that the new column has before the swap, for example
// gormflake_new_id.
func fresh(c *column) string { return temporaryName(newPrefix, c.Name, c.Node.Column) }

// old returns the name that the old column has after the swap, for example
// gormflake_old_id.
func old(c *column) string { return temporaryName(oldPrefix, c.Name, c.Node.Column) }

// nameOf returns the name of a table for the text of a step.
func nameOf(t *table) string { return t.Name }

// These methods return the names of the indexes that correspond to the index i. fresh is
// the name of the index on the new column before the swap. old is the name of the index on
// the old column after the swap. back is the name of the index that the way back builds on
// the old column.
func (i index) fresh() string { return temporaryName(newPrefix, i.Name, i.OID) }
func (i index) old() string   { return temporaryName(oldPrefix, i.Name, i.OID) }
func (i index) back() string  { return temporaryName(backPrefix, i.Name, i.OID) }

// These methods return the names of the CHECKs that correspond to the CHECK c. fresh is the
// name of the CHECK of the new columns before the swap. back is the name of the CHECK that
// the way back adds for the old columns.
func (c *check) fresh() string { return temporaryName(newPrefix, c.Name, c.OID) }
func (c *check) back() string  { return temporaryName(backPrefix, c.Name, c.OID) }

// These methods return the names of the foreign keys that correspond to the foreign key k.
// fresh is the name of the foreign key on the new columns before the swap. back is the name
// of the foreign key that the way back adds on the old columns.
func (k *foreignKey) fresh() string { return temporaryName(newPrefix, k.Name, k.OID) }
func (k *foreignKey) back() string  { return temporaryName(backPrefix, k.Name, k.OID) }
