package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// readGraph reads the tables and columns that references connect with the requested tables,
// and returns them as a graph. The findings are blockers for columns that no statement
// could change.
func readGraph(ctx context.Context, r *pgcatalog.Reader, requested *selection) (*graph, engine.Findings) {
	edges := readEdges(ctx, r, requested)
	nodes := nodesOf(requested.keys, edges)
	var oids []int64
	for _, n := range nodes {
		oids = append(oids, n.Table)
	}
	tables, columns := r.ByOID(ctx, oids), r.Columns(ctx, nodes)
	if r.Err() != nil { // Inspect returns the error; without this return, tables would have nil elements
		return &graph{}, engine.Findings{}
	}
	relations := map[int64]*pgcatalog.Relation{}
	for i, n := range nodes {
		relations[n.Table] = tables[i]
		if n.Column == 0 { // a table without a primary key has no column to read
			columns = append(columns, pgcatalog.ColumnProperties{Node: n})
		}
	}
	g, found := buildGraph(relations, columns, edges)
	g.addReferences(edges)
	readSizes(ctx, r, g)
	return g, found
}

// buildGraph builds the graph. If a partition or child inherits a column, buildGraph links
// the column with the columns of the parents. A column without a parent is a root, which is
// added to its table. The members of a root are the root and the columns below it.
//
// The findings are blockers for columns to widen that have several parents. PostgreSQL
// changes an inherited column only by a statement for its parent, and rejects the statement
// if the column has another parent too.
func buildGraph(relations map[int64]*pgcatalog.Relation, columns []pgcatalog.ColumnProperties, edges []edge) (*graph, engine.Findings) {
	g := &graph{relations: relations, columns: map[pgcatalog.Node]*column{}}
	var sorted []*column
	for _, c := range columns {
		g.columns[c.Node] = &column{ColumnProperties: c, relation: relations[c.Node.Table]}
		sorted = append(sorted, g.columns[c.Node])
	}
	// The order of the tables is the order of the plan. addRoot needs the columns of a table
	// one after the other.
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
		c.root.Key = c.root.Key || c.Key // a child does not inherit a primary key, and may have one that its parent does not have
		if len(c.parents) > 1 && c.IsNarrow() {
			found.Block(c.relation.Display, "column "+c.Name, "the table has it from several parents, so none of them can change it",
				"end all inheritances but one with NO INHERIT")
		}
		if c.root == c {
			g.addRoot(c)
		}
	}
	return g, found
}

// topmost returns the column at the top of the inheritance tree. If a column has several
// parents, it follows the first.
func (c *column) topmost() *column {
	for len(c.parents) > 0 {
		c = c.parents[0]
	}
	return c
}

// addRoot adds a column without a parent to its table in the graph, and adds the table if
// it is not there yet. The caller passes the columns in the order of tables and column
// numbers, so only the last table has to be compared.
func (g *graph) addRoot(c *column) {
	if n := len(g.tables); n == 0 || g.tables[n-1].Relation != c.relation {
		g.tables = append(g.tables, &table{Relation: c.relation})
	}
	c.table = g.tables[len(g.tables)-1]
	if c.Node.Column > 0 { // not for a table without a primary key, which has column 0 in the graph
		c.table.columns = append(c.table.columns, c)
	}
}

// addReferences records to which keys each column refers, with or without a foreign key. If
// an inherited column refers to a key, or is a key, addReferences records its root instead,
// which is the topmost column of inheritance.
func (g *graph) addReferences(edges []edge) {
	for _, e := range edges {
		if e.Inherited { // not a reference, because the edge leads from a column to its parent
			continue
		}
		f := foreignKey{g.columns[e.From].root, g.columns[e.To].root}
		if e.Foreign {
			g.foreign = append(g.foreign, f)
		}
		f.from.refers = engine.AppendNew(f.from.refers, f.to)
	}
}

// edgesSQL returns the edges between all columns that are connected with the given columns,
// over any number of steps in both directions. An edge leads from a column of table a to a
// column of table b. The parameters $1 and $2 are the given columns, and $3 to $6 the
// references that have no foreign key.
//
// The relation edge has all edges of the database. These are foreign keys (contype 'f',
// whose conkey and confkey have the numbers of the columns in the same order), the columns
// that a partition or child has from its parent (attinhcount > 0), and the references
// without a foreign key. Inherited columns are included because ALTER TABLE of the parent
// changes them too. The relation way has each edge in both directions, because a key and a
// reference to it have to change together. The relation component collects the columns that
// the given columns reach on these ways. The result is sorted by the names of the foreign
// keys and the numbers of the references, so that equal schemas give equal plans.
const edgesSQL = `
WITH RECURSIVE edge AS (
  SELECT c.conrelid AS a, k.a AS a_column, c.confrelid AS b, k.b AS b_column, false AS inherited, true AS foreign_key, c.conname AS name, 0 AS number
  FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
  WHERE c.contype = 'f'
  UNION ALL
  SELECT i.inhrelid, child.attnum, i.inhparent, parent.attnum, true, false, NULL, 0
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_attribute child ON child.attrelid = i.inhrelid AND child.attnum > 0 AND child.attinhcount > 0
  JOIN pg_catalog.pg_attribute parent ON parent.attrelid = i.inhparent AND parent.attname = child.attname
  UNION ALL
  SELECT a, a_column, b, b_column, false, false, NULL, number
  FROM unnest($3::text::oid[], $4::text::int2[], $5::text::oid[], $6::text::int2[]) WITH ORDINALITY AS reference (a, a_column, b, b_column, number)
), way AS (
  SELECT a, a_column, b, b_column FROM edge
  UNION ALL
  SELECT b, b_column, a, a_column FROM edge
), component (rel, att) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[])
  UNION
  SELECT way.b, way.b_column FROM component JOIN way ON way.a = rel AND way.a_column = att
)
SELECT a::bigint, a_column, b::bigint, b_column, inherited, foreign_key
FROM component JOIN edge ON a = rel AND a_column = att
ORDER BY name, number, a_column, b_column, b`

// readEdges returns the edges, such as foreign keys, between the columns that are connected
// with the requested keys.
func readEdges(ctx context.Context, r *pgcatalog.Reader, requested *selection) []edge {
	var from, to []pgcatalog.Node
	for _, e := range requested.references {
		from, to = append(from, e.From), append(to, e.To)
	}
	// Each list becomes two parameters, one of tables and one of columns.
	return pgcatalog.Read[edge](ctx, r, edgesSQL, requested.keys, from, to)
}

// nodesOf returns keys and the columns at both ends of edges, sorted and without
// duplicates.
func nodesOf(keys []pgcatalog.Node, edges []edge) []pgcatalog.Node {
	all := slices.Clone(keys)
	for _, e := range edges {
		all = append(all, e.From, e.To)
	}
	slices.SortFunc(all, func(a, b pgcatalog.Node) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(all)
}

// readSizes reads the size of each table with its partitions and children, and the smallest
// and largest value of each key. Phase guard needs the smallest value, because it cannot
// validate a CHECK that a row violates. The checks before a phase is taken back need the
// largest value.
func readSizes(ctx context.Context, r *pgcatalog.Reader, g *graph) {
	byOID, oids := map[int64]*table{}, make([]int64, len(g.tables))
	for i, t := range g.tables {
		byOID[t.OID], oids[i] = t, t.OID
	}
	for _, m := range r.Sizes(ctx, oids) {
		t := byOID[m.Root]
		t.members = append(t.members, m.OID)
		t.addSize(m.Size)
	}
	for _, t := range g.tables {
		for _, c := range t.columns {
			if c.Key && c.isInteger() {
				c.keys = pgcatalog.One[keyRange](ctx, r, "the largest key of table "+t.Display.String(),
					fmt.Sprintf("SELECT min(%[1]s)::bigint, max(%[1]s)::bigint FROM %[2]s", pgsql.Quote(c.Name), t.Target()))
			}
		}
	}
}

// addSize adds the size of the table itself, or of a partition or child, to the size of
// the table.
func (t *table) addSize(s pgcatalog.Size) {
	t.Rows, t.Bytes, t.Heap = t.Rows+s.Rows, t.Bytes+s.Bytes, t.Heap+s.Heap
	t.Relations, t.Constraints = t.Relations+s.Relations, t.Constraints+s.Constraints
	t.NotAnalyzed = t.NotAnalyzed || s.NotAnalyzed
}
