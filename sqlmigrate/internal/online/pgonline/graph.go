package pgonline

import (
	"cmp"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
)

// A graph is what a plan is made of, as the catalog has it.
type graph struct {
	tables []*table // with columns to be widened
	keys   []*foreignKey
	early  []*foreignKey  // of tables with rows: these are added and validated before a swap
	views  []*pgview.View // above these columns, in the order in which they are created
	state  string         // of what the swap creates again
}

// A table has columns to be widened, or is at the other end of a foreign key, or a partition.
type table struct {
	*pgcatalog.Relation
	root         *table   // of a partition; of others, the table itself
	members      []*table // of a root: itself and its partitions on all levels, parents first
	rows, heap   int64
	columns      []*column // to be widened
	indexes      []index   // that use them
	checks       []check   // too
	uses         []pgcatalog.Use
	freshClauses clauses // for the new columns
	oldClauses   clauses // for the old ones
	refused      error   // by the server: CHECKs and indexes for the new columns
	triggers     []pgcatalog.Trigger
	known        []string // uses the columns, whatever it is
	rules        []string
	publications []string
}

// A column is to be widened.
type column struct {
	pgcatalog.Column
	value     string // default
	taken     bool   // the table has a column of one of the temporary names
	sequences []*pgcatalog.Sequence
}

// An index has columns to be widened.
type index struct {
	pgcatalog.Index
	table *table
}

// A check is a CHECK that uses columns to be widened.
type check struct {
	pgcatalog.Check
	table *table
}

// A foreignKey has a column to be widened on one side or both.
type foreignKey struct {
	pgcatalog.ForeignKey
	child, parent *table
	parts         []*foreignKey // the key itself, or those that the partitions with rows have of it
}

// widened is the column of that name, or nil if it stays as it is.
func (t *table) widened(name string) *column {
	for _, c := range t.columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// all are the tables with columns to be widened, and those at the other end of a
// foreign key.
func (g *graph) all() []*table {
	all := slices.Clone(g.tables)
	for _, k := range g.keys {
		all = engine.AppendNew(engine.AppendNew(all, k.child.root), k.parent.root)
	}
	return all
}

// numbers are the catalog's numbers of the columns to be widened.
func (t *table) numbers() []int64 {
	var numbers []int64
	for _, c := range t.columns {
		numbers = append(numbers, c.Node.Column)
	}
	return numbers
}

// parentsFirst are the tables, each after those that it refers to. Tables that
// refer to each other stay in the order of their names.
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
