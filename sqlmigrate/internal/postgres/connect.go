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

// A selection is what was asked for.
type selection struct {
	tables     map[int64]bool
	keys       []pgcatalog.Node
	references []edge // without a constraint
	findings   engine.Findings
}

// resolve finds what was asked for in the catalog.
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

// resolveReferences leaves out views: if one shows a key, it is found as a
// blocker.
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

// resolveColumn finds a column. It is zero in a view.
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

// keySQL asks for the columns of primary keys, and which of them are integers
// that the database assigns, by an identity or a sequence: of several columns,
// those are the key that is moved.
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

// A keyColumn is one of a primary key.
type keyColumn struct {
	Node              pgcatalog.Node
	Integer, Assigned bool
	Computed          bool // by a default that is no counter, such as the tenant of the session
}

func readKeys(ctx context.Context, r *pgcatalog.Reader, tables []int64) map[int64][]keyColumn {
	keys := map[int64][]keyColumn{}
	for _, c := range pgcatalog.Read[keyColumn](ctx, r, keySQL, tables) {
		keys[c.Node.Table] = append(keys[c.Node.Table], c)
	}
	return keys
}

// chooseKey takes of several columns those that the database assigns, or the only
// integer, unless its default computes it. Of several integers that nobody assigns, some mean something else, such
// as the tenant.
func chooseKey(t plan.TableName, oid int64, key []keyColumn) (nodes []pgcatalog.Node, found engine.Findings) {
	integers := keepIf(key, func(c keyColumn) bool { return c.Integer })
	assigned := keepIf(integers, func(c keyColumn) bool { return c.Assigned })
	chosen := key
	switch {
	case len(key) == 0:
		found.Block(t, "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		return []pgcatalog.Node{{Table: oid}}, found // no column
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

// readGraph reads all that is connected with what was asked for.
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
		if n.Column == 0 { // a table without a key, which has no column to read
			columns = append(columns, pgcatalog.Column{Node: n})
		}
	}
	g, found := arrange(relations, columns, edges)
	g.refer(edges)
	measure(ctx, r, g)
	return g, found
}

// An edge connects two columns: the former refers to the latter, a key, or a partition
// or child has it from its parent.
type edge struct {
	From, To  pgcatalog.Node
	Inherited bool
	Foreign   bool // by a foreign key
	Valid     bool // of all rows: one that is not validated does not prove that a value is a key
}

// edgesSQL asks for the edges between all columns that are connected with some, over
// any number of steps in both directions: foreign keys, columns that a partition or a
// child has from its parent, because ALTER TABLE changes them with those, and the
// references that have no constraint.
const edgesSQL = `
WITH RECURSIVE edge AS (
  SELECT c.conrelid AS a, k.a AS a_column, c.confrelid AS b, k.b AS b_column, false AS inherited, true AS foreign_key, c.convalidated AS valid, c.conname AS name, 0 AS number
  FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
  WHERE c.contype = 'f'
  UNION ALL
  SELECT i.inhrelid, child.attnum, i.inhparent, parent.attnum, true, false, false, NULL, 0
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_attribute child ON child.attrelid = i.inhrelid AND child.attnum > 0 AND child.attinhcount > 0
  JOIN pg_catalog.pg_attribute parent ON parent.attrelid = i.inhparent AND parent.attname = child.attname
  UNION ALL
  SELECT a, a_column, b, b_column, false, false, false, NULL, number
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
SELECT a::bigint, a_column, b::bigint, b_column, inherited, foreign_key, valid
FROM component JOIN edge ON a = rel AND a_column = att
ORDER BY name, number, a_column, b_column, b`

func readEdges(ctx context.Context, r *pgcatalog.Reader, asked *selection) []edge {
	var from, to []pgcatalog.Node
	for _, e := range asked.references {
		from, to = append(from, e.From), append(to, e.To)
	}
	return pgcatalog.Read[edge](ctx, r, edgesSQL, asked.keys, from, to)
}

// nodesOf are the columns that were asked for and those that edges connect with them,
// each once.
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

// measure finds the size of each table, and both ends of each key: whether it is
// positive, and small enough to be taken back.
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
