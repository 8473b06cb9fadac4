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

// A graph is the connected set: every column that has to change when one key
// does, and what connects them.
type graph struct {
	parks     bool // phase park keeps what assigns keys
	relations map[int64]*pgcatalog.Relation
	tables    []*table // by their names
	columns   map[pgcatalog.Node]*column
	foreign   []foreignKey
	views     []*view // above narrow columns, in the order in which they are created
}

// A table is one of the plan: its columns are roots.
type table struct {
	*pgcatalog.Relation
	pgcatalog.Size
	columns []*column
	members []int64 // tables: itself, partitions and children, parents first
	checks  []check // that its keys need

	// What a change of types would lose.
	up, down recreated
	kept     []string // statements
}

// A column is one of the connected set. A root stands for itself and for the
// columns below it, its members, which partitions and children have from it.
type column struct {
	pgcatalog.Column
	relation *pgcatalog.Relation
	parents  []*column // from which a partition or child has it
	root     *column   // the topmost of these, or the column itself
	members  []*column // of a root: itself and below

	// Of a root.
	table    *table
	refers   []*column
	enforced bool // by a foreign key to another column
	keys     keyRange

	// Of each member.
	value     string // default, as an expression; empty without one
	preset    pgcatalog.Default
	sequences []*sequence
}

// A keyRange has both ends of the keys in use.
type keyRange struct{ Smallest, Largest sql.NullInt64 }

// A foreignKey is a pair of columns of one, by their roots.
type foreignKey struct{ from, to *column }

// arrange puts columns under their parents' columns, and these into tables.
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

// place puts a root into its table, after the columns before it.
func (g *graph) place(c *column) {
	if n := len(g.tables); n == 0 || g.tables[n-1].Relation != c.relation {
		g.tables = append(g.tables, &table{Relation: c.relation})
	}
	c.table = g.tables[len(g.tables)-1]
	if c.Node.Column > 0 {
		c.table.columns = append(c.table.columns, c)
	}
}

// refer fills in which keys a column refers to.
func (g *graph) refer(edges []edge) {
	for _, e := range edges {
		if e.Inherited {
			continue
		}
		f := foreignKey{g.columns[e.From].root, g.columns[e.To].root}
		if e.Foreign {
			g.foreign = append(g.foreign, f)
		}
		f.from.enforced = f.from.enforced || e.Valid && f.from != f.to
		f.from.refers = engine.AppendNew(f.from.refers, f.to)
	}
}

// nodes are all columns.
func (g *graph) nodes() []pgcatalog.Node { return slices.Collect(maps.Keys(g.columns)) }

// narrowNodes are all columns to be widened, with those below them.
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

// viewsOf are the views above the tables' columns.
func (g *graph) viewsOf(tables []*table) []*view {
	return keepIf(g.views, func(v *view) bool {
		return slices.ContainsFunc(v.columns, func(c *column) bool { return slices.Contains(tables, c.root.table) })
	})
}

// isInteger reports whether the type is an integer of any size.
func (c *column) isInteger() bool { return c.IsNarrow() || c.Base == "int8" }

// narrowColumns are to be widened.
func (t *table) narrowColumns() []*column {
	return keepIf(t.columns, (*column).IsNarrow)
}

// assignedColumns are those to which the database gives keys.
func (t *table) assignedColumns() []*column {
	return keepIf(t.columns, func(c *column) bool { return c.auto() != "" })
}

// alter changes the column. only is "ONLY " or empty.
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

// auto is how the database assigns the column. A default that is neither a counter nor a
// constant holds something else, such as the tenant of the session, and so does that of
// a column that refers to another.
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

// isReference reports whether the column holds keys of another one, which has the guard.
func (c *column) isReference() bool {
	return slices.ContainsFunc(c.refers, func(to *column) bool { return to != c })
}

// allSequences are the column's and those below it.
func (c *column) allSequences() []*sequence {
	var found []*sequence
	for _, m := range c.members {
		for _, s := range m.sequences {
			found = engine.AppendNew(found, s)
		}
	}
	return found
}

// ownIdentity is the sequence of an identity that was declared for this column.
// A partition can have its parent's, and none of its own.
func (c *column) ownIdentity() *sequence {
	for _, s := range c.sequences {
		if s.Internal {
			return s
		}
	}
	return nil
}

// uniform reports whether a default can be set for the column and all below it
// at once: that is an error where there is an identity.
func (c *column) uniform() bool {
	return c.value != "" && !slices.ContainsFunc(c.members, func(m *column) bool { return m.Identity })
}

// dropped are the sequences that go with the column.
func (c *column) dropped() []*sequence {
	return keepIf(c.allSequences(), func(s *sequence) bool { return s.drop })
}

// userOf is the column whose keys come from s: the topmost one, unless s serves
// a single partition or child.
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

// result is the table as the plan lists it.
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
