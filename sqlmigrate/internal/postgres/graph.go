package postgres

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A graph is the connected set, which means all columns that have to change when one key
// does, with the objects that depend on them.
type graph struct {
	parks     bool // whether phase park replaces detach and guard, so that the database still assigns keys
	relations map[int64]*pgcatalog.Relation
	tables    []*table // sorted by name
	columns   map[pgcatalog.Node]*column
	foreign   []foreignKey
	views     []*view // views on narrow columns, in the order in which they are created
}

// A table is a table of the plan. Its columns are roots; a partition or child is not a
// table of the plan, but a member of its topmost parent.
type table struct {
	*pgcatalog.Relation
	pgcatalog.Size
	columns []*column
	members []int64 // OIDs of the table itself, its partitions and children, parents first
	checks  []check // the CHECKs that its keys need

	// up and down hold the statements that recreate the objects which a change of type in
	// either direction would lose. kept are statements that restore properties.
	up, down recreated
	kept     []string // statements
}

// A column is a column of the connected set. A root is the topmost column of a tree of
// inherited columns. It represents its members, which are the columns that partitions and
// children have from it, and itself.
type column struct {
	pgcatalog.Column
	relation *pgcatalog.Relation
	parents  []*column // the columns from which a partition or child has it
	root     *column   // the topmost of the parents, or the column itself
	members  []*column // of a root, itself and all columns below

	// The following fields are set for a root.
	table  *table
	refers []*column
	keys   keyRange

	// The following fields are set for each member.
	value     string // the default as an expression; empty without a default
	preset    pgcatalog.Default
	sequences []*sequence
}

// A keyRange holds the smallest and the largest key in use. Both are NULL in an empty
// table.
type keyRange struct{ Smallest, Largest sql.NullInt64 }

// A foreignKey is a pair of columns of a foreign key, as roots.
type foreignKey struct{ from, to *column }

// arrange assigns each column to the columns of its parents, and each root to its table.
func arrange(relations map[int64]*pgcatalog.Relation, columns []pgcatalog.Column, edges []edge) (*graph, engine.Findings) {
	g := &graph{relations: relations, columns: map[pgcatalog.Node]*column{}}
	var sorted []*column
	for _, c := range columns {
		g.columns[c.Node] = &column{Column: c, relation: relations[c.Node.Table]}
		sorted = append(sorted, g.columns[c.Node])
	}
	slices.SortFunc(sorted, func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.relation.Name, b.relation.Name), cmp.Compare(a.relation.Schema, b.relation.Schema), cmp.Compare(a.Node.Column, b.Node.Column))
	})
	for _, e := range edges {
		if e.Inherited {
			g.columns[e.From].parents = append(g.columns[e.From].parents, g.columns[e.To])
		}
	}
	var found engine.Findings
	for _, c := range sorted {
		c.root = c.topmost()
		c.root.members = append(c.root.members, c)
		c.root.Key = c.root.Key || c.Key
		if len(c.parents) > 1 && c.IsNarrow() {
			found.Block(c.relation.Display, "column "+c.Name, "the table has it from several parents, so none of them can change it",
				"end all inheritances but one with NO INHERIT")
		}
		if c.root == c {
			g.place(c)
		}
	}
	return g, found
}

func (c *column) topmost() *column {
	for len(c.parents) > 0 {
		c = c.parents[0]
	}
	return c
}

// place adds a root to its table. The caller passes the columns in the order of tables
// and column numbers.
func (g *graph) place(c *column) {
	if n := len(g.tables); n == 0 || g.tables[n-1].Relation != c.relation {
		g.tables = append(g.tables, &table{Relation: c.relation})
	}
	c.table = g.tables[len(g.tables)-1]
	if c.Node.Column > 0 {
		c.table.columns = append(c.table.columns, c)
	}
}

// refer records to which keys each column refers.
func (g *graph) refer(edges []edge) {
	for _, e := range edges {
		if e.Inherited {
			continue
		}
		f := foreignKey{g.columns[e.From].root, g.columns[e.To].root}
		if e.Foreign {
			g.foreign = append(g.foreign, f)
		}
		f.from.refers = engine.AppendNew(f.from.refers, f.to)
	}
}

// nodes returns all columns.
func (g *graph) nodes() []pgcatalog.Node { return slices.Collect(maps.Keys(g.columns)) }

// narrowNodes returns all columns to widen, including the inherited columns below them.
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

// viewsOf returns the views on columns of the tables.
func (g *graph) viewsOf(tables []*table) []*view {
	return keepIf(g.views, func(v *view) bool {
		return slices.ContainsFunc(v.columns, func(c *column) bool { return slices.Contains(tables, c.root.table) })
	})
}

// isInteger reports whether the type is an integer of 16, 32 or 64 bits.
func (c *column) isInteger() bool { return c.IsNarrow() || c.Base == "int8" }

// narrowColumns returns the columns to widen.
func (t *table) narrowColumns() []*column {
	return keepIf(t.columns, (*column).IsNarrow)
}

// assignedColumns returns the columns to which the database assigns keys.
func (t *table) assignedColumns() []*column {
	return keepIf(t.columns, func(c *column) bool { return c.auto() != "" })
}

// alter returns an ALTER TABLE statement with a command for the column. only is "ONLY "
// or empty.
func (c *column) alter(only, command string) string {
	return "ALTER TABLE " + only + c.relation.Target() + " ALTER COLUMN " + pgsql.Quote(c.Name) + " " + command
}

func keepIf[T any](all []T, is func(T) bool) []T {
	var found []T
	for _, x := range all {
		if is(x) {
			found = append(found, x)
		}
	}
	return found
}

// auto returns how the database assigns keys to the column, or "". A default that is
// neither a counter nor a constant does not assign keys, because it has another meaning,
// such as the tenant of the session. The default of a column that refers to another key
// does not assign keys either.
func (c *column) auto() string {
	for _, m := range c.members {
		switch {
		case m.Identity:
			return "identity"
		case len(m.sequences) > 0:
			return "serial"
		}
	}
	if c.Key && !c.isReference() && slices.ContainsFunc(c.members, func(m *column) bool { return m.preset.Counts || m.preset.IsConstant() }) {
		return "default"
	}
	return ""
}

// isReference reports whether the column holds keys of another column. Then the other
// column gets the guard.
func (c *column) isReference() bool {
	return slices.ContainsFunc(c.refers, func(to *column) bool { return to != c })
}

// allSequences returns the sequences of the column and of the columns below it.
func (c *column) allSequences() []*sequence {
	var found []*sequence
	for _, m := range c.members {
		for _, s := range m.sequences {
			found = engine.AppendNew(found, s)
		}
	}
	return found
}

// ownIdentity returns the sequence of an identity that was declared for this column. It
// returns nil if a partition only has the identity of its parent.
func (c *column) ownIdentity() *sequence {
	for _, s := range c.sequences {
		if s.Internal {
			return s
		}
	}
	return nil
}

// uniform reports whether a statement can set the default for the column and all columns
// below it together. PostgreSQL rejects the statement if any of them is an identity.
func (c *column) uniform() bool {
	return c.value != "" && !slices.ContainsFunc(c.members, func(m *column) bool { return m.Identity })
}

// dropped returns the sequences that are dropped together with the column's default.
func (c *column) dropped() []*sequence {
	return keepIf(c.allSequences(), func(s *sequence) bool { return s.drop })
}

// userOf returns the column whose keys come from s. That is the root, unless only a
// single partition or child uses s.
func (c *column) userOf(s *sequence) *column {
	var users []*column
	for _, m := range c.members {
		if slices.Contains(m.sequences, s) {
			users = append(users, m)
		}
	}
	if len(users) == 1 {
		return users[0]
	}
	return c
}

// result returns the table in the form of a plan.
func (t *table) result(schema string) plan.Table {
	result := plan.Table{Schema: t.Schema, Name: t.Name, Rows: t.Rows, Bytes: t.Bytes, NotAnalyzed: t.NotAnalyzed}
	if t.Schema == schema {
		result.Schema = ""
	}
	for _, c := range t.columns {
		column := plan.Column{Name: c.Name, Type: c.Type, Key: c.Key, Auto: c.auto()}
		if column.Auto == "" && c.Key && !c.isReference() && c.value != "" {
			column.Auto = plan.Computed
		}
		for _, to := range c.refers {
			column.Refers = append(column.Refers, to.relation.Display.String()+"."+to.Name)
		}
		if c.IsNarrow() {
			column.To = "bigint"
		}
		result.Columns = append(result.Columns, column)
		result.MaxKey = max(result.MaxKey, types.ID(c.keys.Largest.Int64))
	}
	return result
}
