package postgres

import (
	"database/sql"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
)

// A graph has the connected columns of the requested keys, which are all columns that have to
// change together with these keys, and the objects that depend on the columns. Two columns
// are connected if one refers to the other, or if one is a column of a partition or child
// that was inherited from the other.
type graph struct {
	parks     bool                          // whether phase park replaces detach and guard, so that the database still assigns keys
	relations map[int64]*pgcatalog.Relation // the tables, partitions and children of all columns, by OID
	tables    []*table                      // sorted by name
	columns   map[pgcatalog.Node]*column
	foreign   []foreignKey // the foreign keys between columns
	views     []*view      // views on narrow columns, in the order in which they are created
}

// A table is a table of the plan. Its columns are roots. A partition or child is not a
// table of the plan, but a member of its topmost parent, because statements for the
// parent change it too.
type table struct {
	*pgcatalog.Relation
	pgcatalog.Size
	columns []*column
	members []int64 // OIDs of the table itself, its partitions and children, parents first
	checks  []check // the CHECKs that its keys need

	// The field up has the statements with which phase widen drops objects and creates them
	// again, and down has these statements for the way back. The statements in kept restore
	// properties of objects in both directions, such as comments of indexes.
	up, down recreation
	kept     []string
}

// A column is a column of the graph. A root is the topmost column of a tree of inherited
// columns. It represents its members, which are the root itself and the columns that
// partitions and children inherit from it, over any number of levels.
type column struct {
	pgcatalog.ColumnProperties
	relation *pgcatalog.Relation
	parents  []*column // the columns from which it is inherited, in a partition or child
	root     *column   // the topmost of the parents, or the column itself
	members  []*column // of a root, itself and all columns below

	// The following fields are set for a root.
	table  *table    // the table of the column
	refers []*column // the keys to which it refers
	keys   keyRange  // its values, if it is a key that is an integer

	// The following fields are set for each member.
	value       string            // the default as an expression; empty without a default
	defaultInfo pgcatalog.Default // the same default, with its classification
	sequences   []*sequence       // the sequences that give it values
}

// A keyRange holds the smallest and the largest key in use. Both are NULL in an empty
// table.
type keyRange struct{ Smallest, Largest sql.NullInt64 }

// A foreignKey is a pair of columns of a foreign key. Both are roots.
type foreignKey struct{ from, to *column }

// An edge connects two columns that have to change together. If Inherited is false, column
// From refers to the key To. If it is true, From is a column of a partition or child, and To
// is the column of the parent from which From is inherited.
type edge struct {
	From, To  pgcatalog.Node
	Inherited bool
	Foreign   bool // whether the reference is a foreign key
}

// A check is the CHECK that phase guard adds for a key, or only validates.
type check struct {
	column *column
	name   string
	added  bool // whether an earlier run, which was interrupted before it validated the CHECK, has added it
	broken bool // whether a row violates it, so that it cannot be validated
}

// A sequence is a sequence that gives values to columns of the graph.
type sequence struct {
	*pgcatalog.Sequence
	position position       // its state at the time of the plan
	users    []sequenceUser // the objects that depend on it
	losses   []string       // reasons why it could not be recreated completely
	grants   []string       // statements for the rights on it

	isDropped  bool     // whether phase detach drops it together with the default of its column
	otherUsers []string // objects that use it, except defaults of its own column and of the columns below
}

// isRemoved reports whether phase detach removes the sequence, either alone or with its
// identity.
func (s *sequence) isRemoved() bool { return s.isDropped || s.Internal }

// A position is the state of a sequence, which is last_value and is_called of its row.
type position struct {
	Last   int64
	Called bool // whether Last has been assigned
}

// A sequenceUser is an object that depends on a sequence.
type sequenceUser struct {
	Column pgcatalog.Node // the column, if the object is a default
	Object string
}

// A view is a view that is dropped before a column changes its type, and created again.
type view struct {
	*pgview.View

	columns []*column // the columns that it uses, directly or through other views
}

// A recreation holds the statements for objects that are dropped before a column changes
// its type, and created again afterwards. These are the indexes of partitions and, when a
// column is made narrow again, the objects with expressions, because PostgreSQL would
// change the expressions (see [Rebuilt]). The statements in references add foreign keys
// again, and those in attaches attach indexes of partitions to the index of their table.
type recreation struct {
	drops, creates, attaches, references []string

	referringTables []int64 // OIDs of the tables whose foreign keys are in references
}

// nodes returns all columns of the graph, including the columns that partitions and
// children inherit.
func (g *graph) nodes() []pgcatalog.Node { return slices.Collect(maps.Keys(g.columns)) }

// narrowNodes returns all columns to widen, including the columns that partitions and
// children inherit from them.
func (g *graph) narrowNodes() []pgcatalog.Node {
	var nodes []pgcatalog.Node
	for _, t := range g.tables {
		for _, c := range t.narrowColumns() {
			for _, m := range c.members {
				nodes = append(nodes, m.Node)
			}
		}
	}
	return nodes
}

// viewsOf returns the views that the plan recreates and that use columns of the tables,
// directly or through other views.
func (g *graph) viewsOf(tables []*table) []*view {
	return keepIf(g.views, func(v *view) bool {
		return slices.ContainsFunc(v.columns, func(c *column) bool { return slices.Contains(tables, c.root.table) })
	})
}

// isInteger reports whether the column is a smallint, integer or bigint. A domain counts
// only if it is over bigint.
func (c *column) isInteger() bool { return c.IsNarrow() || c.Base == "int8" }

// narrowColumns returns the columns to widen, which are smallint or integer.
func (t *table) narrowColumns() []*column {
	return keepIf(t.columns, (*column).IsNarrow)
}

// keepIf returns the elements of all for which include returns true.
func keepIf[T any](all []T, include func(T) bool) []T {
	var found []T
	for _, x := range all {
		if include(x) {
			found = append(found, x)
		}
	}
	return found
}
