package pgonline

import (
	"cmp"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
)

// A graph holds the facts from the catalog that a plan needs.
type graph struct {
	tables []*table // tables that have columns to widen
	keys   []*foreignKey
	early  []*foreignKey  // keys of tables with rows, not to partitioned tables; they are added and validated before the swap
	views  []*pgview.View // views on these columns, in the order in which they are created
	state  string         // hash of the objects that the swap creates again, see stateSQL
}

// A table has columns to widen, or is at the other end of a foreign key, or is a
// partition.
type table struct {
	*pgcatalog.Relation
	root         *table   // the partitioned table of a partition; otherwise the table itself
	members      []*table // of a root, itself and its partitions on all levels, parents first
	rows, heap   int64
	columns      []*column // the columns to widen
	indexes      []index   // the indexes that use these columns
	checks       []check   // the CHECKs that use these columns
	uses         []pgcatalog.Use
	freshClauses clauses // definitions for the new columns
	oldClauses   clauses // definitions for the old columns
	refused      error   // the error of the server when it wrote the definitions for the new columns
	triggers     []pgcatalog.Trigger
	known        []string // descriptions of all objects that use the columns
	rules        []string
	publications []string
}

// A column is a column to widen.
type column struct {
	pgcatalog.Column
	value     string // the default as an expression
	taken     bool   // whether the table already has a column with one of the temporary names
	sequences []*pgcatalog.Sequence
}

// An index is an index that uses columns to widen.
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

// all returns the tables with columns to widen, and the tables at the other ends of
// foreign keys.
func (g *graph) all() []*table {
	all := slices.Clone(g.tables)
	for _, k := range g.keys {
		all = engine.AppendNew(engine.AppendNew(all, k.child.root), k.parent.root)
	}
	return all
}

// numbers returns the catalog's numbers of the columns to widen.
func (t *table) numbers() []int64 {
	var numbers []int64
	for _, c := range t.columns {
		numbers = append(numbers, c.Node.Column)
	}
	return numbers
}

// parentsFirst returns the tables, each after the tables to which it refers. Tables in a
// cycle are in the order of their names.
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
	return slices.DeleteFunc(sorted, func(t *table) bool { return !slices.Contains(g.tables, t) })
}
