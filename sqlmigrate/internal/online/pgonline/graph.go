package pgonline

import (
	"cmp"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
)

// A graph holds the facts from the catalog that a plan needs: the tables of the move, the
// foreign keys between them, and the views on them.
type graph struct {
	tables    []*table       // tables that have columns to widen
	keys      []*foreignKey  // the foreign keys on either side of which is a column to widen; without the copies that partitions have
	earlyKeys []*foreignKey  // the keys that are added on the new columns and validated before the swap; they belong to tables with rows, and do not refer to partitioned tables
	views     []*pgview.View // views on these columns, in the order in which they are created
	state     string         // hash of the objects that the swap creates again, see stateSQL
}

// A table has columns to widen, or is the other table of a foreign key on such columns,
// or is a partition of such a table.
type table struct {
	*pgcatalog.Relation
	root             *table          // the partitioned table of a partition; otherwise the table itself
	members          []*table        // of a root, itself and its partitions on all levels, parents first
	rows, heap       int64           // of the table and its partitions, an estimate of the rows, and the bytes without indexes and TOAST
	columns          []*column       // the columns to widen
	indexes          []index         // the indexes that use these columns
	checks           []check         // the CHECKs that use these columns
	uses             []pgcatalog.Use // the objects that would stay on the old columns
	freshDefinitions definitions     // definitions of CHECKs and indexes with the names that the new columns have before the swap
	oldDefinitions   definitions     // the same definitions with the names that the old columns have after the swap
	refusal          error           // the error of the server if it did not accept these definitions for new columns
	triggers         []pgcatalog.Trigger
	knownUsers       []string // descriptions of all objects that use the columns
	rules            []string // names of rewrite rules
	publications     []string // names of publications that contain the table
}

// A column is a column to widen.
type column struct {
	pgcatalog.ColumnProperties
	value              string // the default as an expression
	temporaryNameTaken bool   // whether the table already has a column with one of the temporary names
	sequences          []*pgcatalog.Sequence
}

// An index is an index of a table or partition that uses columns to widen.
type index struct {
	pgcatalog.Index
	table *table
}

// A check is a CHECK that uses columns to widen.
type check struct {
	pgcatalog.Check
	table *table
}

// A foreignKey has a column to widen on one side or on both.
type foreignKey struct {
	pgcatalog.ForeignKey
	child, parent *table
	parts         []*foreignKey // the key itself or, of a partitioned table, the keys of the partitions with rows
}

// definitions are the definitions of CHECKs and indexes by the names of these objects. The
// definition of a CHECK is the text after ADD CONSTRAINT and its name. The definition of an
// index is the text after the table in CREATE INDEX.
type definitions struct{ checks, indexes map[string]string }

// widened returns the column to widen with this name, or nil if the column does not
// change.
func (t *table) widened(name string) *column {
	for _, c := range t.columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// isPartitioned reports whether the table is a partitioned table (relkind 'p'), which has
// no rows of its own. A partition can be one too.
func (t *table) isPartitioned() bool { return t.Kind == "p" }

// all returns the tables with columns to widen, and the other tables of their foreign
// keys. It returns partitioned tables instead of their partitions.
func (g *graph) all() []*table {
	all := slices.Clone(g.tables)
	for _, k := range g.keys {
		all = engine.AppendNew(engine.AppendNew(all, k.child.root), k.parent.root)
	}
	return all
}

// families returns all tables with columns to widen and all their partitions. Each table is
// followed by its partitions on all levels.
func (g *graph) families() []*table {
	var all []*table
	for _, t := range g.tables {
		all = append(all, t.members...)
	}
	return all
}

// numbers returns the numbers (attnum) of the columns to widen, by which the catalog refers
// to columns.
func (t *table) numbers() []int64 {
	var numbers []int64
	for _, c := range t.columns {
		numbers = append(numbers, c.Node.Column)
	}
	return numbers
}

// parentsFirst returns the tables with columns to widen, each after the tables to which
// it refers. Tables in a cycle are in the order of their names.
func (g *graph) parentsFirst() []*table {
	byName := slices.SortedFunc(slices.Values(g.tables), func(a, b *table) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Schema, b.Schema)) })
	sorted := pgcatalog.ParentsFirst(byName, func(t *table) (parents []*table) {
		for _, k := range g.keys {
			if k.child.root == t {
				parents = append(parents, k.parent.root)
			}
		}
		return parents
	})
	// Remove the parents that have no column to widen, which ParentsFirst has added.
	return slices.DeleteFunc(sorted, func(t *table) bool { return !slices.Contains(g.tables, t) })
}

// gather returns the objects, for example the indexes, of the partitioned table to which t
// belongs and of all its partitions, or only of t if it is not partitioned. list returns
// the objects of one table. Partitions come before their parents, because the index of a
// parent can only attach indexes that are in place.
func gather[T any](t *table, list func(*table) []T) []T {
	var found []T
	for _, m := range slices.Backward(t.root.members) {
		found = append(found, list(m)...)
	}
	return found
}

// indexesOf returns the indexes of t alone, as an argument of gather.
func indexesOf(t *table) []index { return t.indexes }

// checksOf returns the CHECKs of t alone, as an argument of gather.
func checksOf(t *table) []check { return t.checks }

// triggersOf returns the triggers of t alone, as an argument of gather.
func triggersOf(t *table) []pgcatalog.Trigger { return t.triggers }
