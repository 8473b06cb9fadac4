package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A selection holds the requested tables, keys and references, as OIDs.
type selection struct {
	tables     map[int64]bool
	keys       []pgcatalog.Node
	references []edge // the references that have no constraint
	findings   engine.Findings
}

// resolve looks up the requested tables and references in the catalog. It returns an
// error if one does not exist or is not a table.
func resolve(ctx context.Context, r *pgcatalog.Reader, want engine.Request) (*selection, error) {
	s := &selection{tables: map[int64]bool{}}
	var oids []int64
	for i, t := range r.Resolve(ctx, want.Tables) {
		switch {
		case r.Err() != nil:
			return nil, r.Err()
		case t == nil:
			return nil, noTable(want.Tables[i])
		case t.Kind != "r" && t.Kind != "p":
			return nil, fmt.Errorf("sqlmigrate: %s is not a table: want the table behind it", want.Tables[i])
		}
		s.tables[t.OID] = true
		oids = append(oids, t.OID)
	}
	keys := readKeys(ctx, r, oids)
	for i, t := range want.Tables {
		nodes, more := chooseKey(t, oids[i], keys[oids[i]])
		s.keys = append(s.keys, nodes...)
		s.findings.Add(more)
	}
	var err error
	s.references, err = resolveReferences(ctx, r, want.References)
	return s, err
}

func noTable(t plan.TableName) error {
	return fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, written as it is in the catalog", t)
}

// resolveReferences looks up the references. It leaves out the columns of views, because
// a view that shows a key is found as a blocker.
func resolveReferences(ctx context.Context, r *pgcatalog.Reader, references []engine.Reference) ([]edge, error) {
	var edges []edge
	for _, ref := range references {
		from, err := resolveColumn(ctx, r, ref.Table, ref.Column)
		to, late := resolveColumn(ctx, r, ref.ToTable, ref.ToColumn)
		switch {
		case err != nil || late != nil:
			return nil, cmp.Or(err, late)
		case from.Table != 0 && to.Table != 0:
			edges = append(edges, edge{From: from, To: to})
		}
	}
	return edges, r.Err()
}

// resolveColumn returns the OID and number of a column, or the zero value for a column of
// a view.
func resolveColumn(ctx context.Context, r *pgcatalog.Reader, t plan.TableName, column string) (n pgcatalog.Node, err error) {
	relation := r.Resolve(ctx, []plan.TableName{t})[0]
	if relation == nil {
		return n, cmp.Or(r.Err(), noTable(t))
	}
	number := r.Numbers(ctx, relation.OID)[column]
	switch {
	case number == 0:
		return n, cmp.Or(r.Err(), fmt.Errorf("sqlmigrate: table %s has no column %s", t, column))
	case relation.Kind == "v" || relation.Kind == "m":
		return n, nil
	}
	return pgcatalog.Node{Table: relation.OID, Column: number}, nil
}

// keySQL returns the columns of primary keys. For each column it returns whether it is an
// integer, whether the database assigns it by an identity or a sequence, and whether its
// default computes it by a call that is not a counter. If the primary key has several
// columns, chooseKey needs these facts to find the column that is the key to move.
const keySQL = `
SELECT c.conrelid::bigint, a.attnum,
       CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype),
       a.attidentity <> '' OR EXISTS (
         SELECT FROM pg_catalog.pg_attrdef ad
         JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
         JOIN pg_catalog.pg_class s ON d.refclassid = 'pg_catalog.pg_class'::regclass AND s.oid = d.refobjid AND s.relkind = 'S'
         WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum),
       EXISTS (SELECT FROM pg_catalog.pg_attrdef ad
               WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum AND pg_get_expr(ad.adbin, ad.adrelid) ~ '\(' AND NOT ` + pgcatalog.CountsSQL + `)
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.contype = 'p' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY a.attnum`

// A keyColumn is a column of a primary key.
type keyColumn struct {
	Node              pgcatalog.Node
	Integer, Assigned bool
	Computed          bool // whether its default calls a function that is not a counter, for example for the tenant of the session
}

func readKeys(ctx context.Context, r *pgcatalog.Reader, tables []int64) map[int64][]keyColumn {
	keys := map[int64][]keyColumn{}
	for _, c := range pgcatalog.Read[keyColumn](ctx, r, keySQL, tables) {
		keys[c.Node.Table] = append(keys[c.Node.Table], c)
	}
	return keys
}

// chooseKey returns the columns of the primary key that are moved. They are the integers
// that the database assigns or, if there are none, the only integer. If there are several
// integers that the database does not assign, or if a default computes the only integer
// of several columns, it returns no columns and a note. Such an integer may have another
// meaning, such as the tenant. If no column is an integer, it returns all columns, which
// blockColumn then reports.
func chooseKey(t plan.TableName, oid int64, key []keyColumn) (nodes []pgcatalog.Node, found engine.Findings) {
	integers := keepIf(key, func(c keyColumn) bool { return c.Integer })
	assigned := keepIf(integers, func(c keyColumn) bool { return c.Assigned })
	chosen := key
	switch {
	case len(key) == 0:
		found.Block(t, "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		return []pgcatalog.Node{{Table: oid}}, found // the zero column number keeps the table in the graph
	case len(assigned) > 0:
		chosen = assigned
	case len(integers) > 1 || len(key) > 1 && len(integers) == 1 && integers[0].Computed:
		found.Note(engine.CompositeNote, t, len(key))
		return nil, found
	case len(integers) == 1:
		chosen = integers
	}
	for _, c := range chosen {
		nodes = append(nodes, c.Node)
	}
	return nodes, found
}

// readGraph reads the tables and columns that references connect with the requested
// tables.
func readGraph(ctx context.Context, r *pgcatalog.Reader, asked *selection) (*graph, engine.Findings) {
	edges := readEdges(ctx, r, asked)
	nodes := nodesOf(asked.keys, edges)
	var oids []int64
	for _, n := range nodes {
		oids = append(oids, n.Table)
	}
	tables, columns := r.ByOID(ctx, oids), r.Columns(ctx, nodes)
	if r.Err() != nil {
		return &graph{}, engine.Findings{}
	}
	relations := map[int64]*pgcatalog.Relation{}
	for i, n := range nodes {
		relations[n.Table] = tables[i]
		if n.Column == 0 { // a table without a primary key has no column to read
			columns = append(columns, pgcatalog.Column{Node: n})
		}
	}
	g, found := arrange(relations, columns, edges)
	g.refer(edges)
	measure(ctx, r, g)
	return g, found
}

// An edge connects two columns. From either refers to the key To, or is the column of a
// partition or child that has it from its parent's column To.
type edge struct {
	From, To  pgcatalog.Node
	Inherited bool
	Foreign   bool // whether the reference is a foreign key
}

// edgesSQL returns the edges between all columns that are connected with the given
// columns, over any number of steps in both directions. Edges are foreign keys, the
// references without a constraint in the parameters, and the columns that a partition or
// child has from its parent. The inherited columns are included because ALTER TABLE of
// the parent changes them too.
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

func readEdges(ctx context.Context, r *pgcatalog.Reader, asked *selection) []edge {
	var from, to []pgcatalog.Node
	for _, e := range asked.references {
		from, to = append(from, e.From), append(to, e.To)
	}
	return pgcatalog.Read[edge](ctx, r, edgesSQL, asked.keys, from, to)
}

// nodesOf returns the requested columns and all columns of edges, sorted and without
// duplicates.
func nodesOf(asked []pgcatalog.Node, edges []edge) []pgcatalog.Node {
	all := slices.Clone(asked)
	for _, e := range edges {
		all = append(all, e.From, e.To)
	}
	slices.SortFunc(all, func(a, b pgcatalog.Node) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(all)
}

// measure reads the size of each table, and the smallest and largest value of each key.
// The guard needs the smallest, and the checks before the way back need the largest.
func measure(ctx context.Context, r *pgcatalog.Reader, g *graph) {
	byOID, oids := map[int64]*table{}, make([]int64, len(g.tables))
	for i, t := range g.tables {
		byOID[t.OID], oids[i] = t, t.OID
	}
	for _, m := range r.Sizes(ctx, oids) {
		t := byOID[m.Root]
		t.members = append(t.members, m.OID)
		t.add(m.Size)
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

func (t *table) add(s pgcatalog.Size) {
	t.Rows, t.Bytes, t.Heap = t.Rows+s.Rows, t.Bytes+s.Bytes, t.Heap+s.Heap
	t.Relations, t.Constraints = t.Relations+s.Relations, t.Constraints+s.Constraints
	t.NotAnalyzed = t.NotAnalyzed || s.NotAnalyzed
}
