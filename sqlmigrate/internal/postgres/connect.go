package postgres

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// readGraph reads all that is connected with what was asked for.
func readGraph(ctx context.Context, r pgcatalog.Reader, asked *selection) (*graph, findings, error) {
	nodes, err := readConnected(ctx, r, asked)
	if err != nil {
		return nil, findings{}, err
	}
	relations, columns, err := readColumns(ctx, r, nodes)
	if err != nil {
		return nil, findings{}, err
	}
	tables, _ := pgcatalog.Arrays(nodes)
	inherited, err := readInherited(ctx, r, tables)
	if err != nil {
		return nil, findings{}, err
	}
	g, found := arrange(relations, columns, inherited)
	if err := measure(ctx, r, g); err != nil {
		return nil, findings{}, err
	}
	references, err := readForeignKeys(ctx, r, tables)
	for _, e := range asked.references {
		references = append(references, reference{Edge: e})
	}
	g.refer(references)
	return g, found, err
}

// readColumns reads columns and their tables. A table without a key is a node, but
// has no column to read.
func readColumns(ctx context.Context, r pgcatalog.Reader, nodes []pgcatalog.Node) (map[int64]*pgcatalog.Relation, []pgcatalog.Column, error) {
	columns, err := r.Columns(ctx, nodes)
	if err != nil {
		return nil, nil, err
	}
	oids := make([]int64, len(nodes))
	for i, n := range nodes {
		oids[i] = n.Table
		if n.Column == 0 {
			columns = append(columns, pgcatalog.Column{Node: n})
		}
	}
	found, err := r.ByOID(ctx, oids)
	relations := map[int64]*pgcatalog.Relation{}
	for i, t := range found {
		relations[oids[i]] = t
	}
	return relations, columns, err
}

// connectedSQL asks for every column that is connected with some, over any
// number of steps. It follows three kinds of edges in both directions: foreign
// keys, columns that a partition or a child has from its parent, and the
// references that have no constraint.
const connectedSQL = `
WITH RECURSIVE edge AS (
  SELECT c.conrelid AS a, k.a AS a_column, c.confrelid AS b, k.b AS b_column
  FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
  WHERE c.contype = 'f'
  UNION ALL
  SELECT i.inhrelid, child.attnum, i.inhparent, parent.attnum
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_attribute child ON child.attrelid = i.inhrelid AND child.attnum > 0 AND child.attinhcount > 0
  JOIN pg_catalog.pg_attribute parent ON parent.attrelid = i.inhparent AND parent.attname = child.attname
  UNION ALL
  SELECT * FROM unnest($3::text::oid[], $4::text::int2[], $5::text::oid[], $6::text::int2[])
), way AS (
  SELECT * FROM edge
  UNION ALL
  SELECT b, b_column, a, a_column FROM edge
), component (rel, att) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[])
  UNION
  SELECT way.b, way.b_column FROM component JOIN way ON way.a = rel AND way.a_column = att
)
SELECT rel::bigint, att FROM component`

func readConnected(ctx context.Context, r pgcatalog.Reader, asked *selection) ([]pgcatalog.Node, error) {
	var from, to []pgcatalog.Node
	for _, e := range asked.references {
		from, to = append(from, e.From), append(to, e.To)
	}
	tables, columns := pgcatalog.Arrays(asked.keys)
	fromTables, fromColumns := pgcatalog.Arrays(from)
	toTables, toColumns := pgcatalog.Arrays(to)
	return pgcatalog.Read[pgcatalog.Node](ctx, r, connectedSQL, tables, columns, fromTables, fromColumns, toTables, toColumns)
}

// readInherited finds the columns that partitions and children have from their
// parents: ALTER TABLE changes them with those.
func readInherited(ctx context.Context, r pgcatalog.Reader, tables string) ([]edge, error) {
	return pgcatalog.Read[edge](ctx, r, `
SELECT i.inhrelid::bigint, child.attnum, i.inhparent::bigint, parent.attnum
FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_attribute child ON child.attrelid = i.inhrelid AND child.attnum > 0 AND child.attinhcount > 0
JOIN pg_catalog.pg_attribute parent ON parent.attrelid = i.inhparent AND parent.attname = child.attname
WHERE i.inhrelid = ANY ($1::text::oid[])`, tables)
}

// A reference is an edge, and what holds it.
type reference struct {
	Edge    edge
	Foreign bool // by a key
	Valid   bool // of all rows
}

// readForeignKeys finds the pairs of columns of the tables' foreign keys. One
// that is not validated does not prove that a value is a key.
func readForeignKeys(ctx context.Context, r pgcatalog.Reader, tables string) ([]reference, error) {
	return pgcatalog.Read[reference](ctx, r, `
SELECT c.conrelid::bigint, k.a, c.confrelid::bigint, k.b, true, c.convalidated
FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
WHERE c.contype = 'f' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY c.conname, k.a, k.b`, tables)
}

// measure finds the size of each table and the largest of its keys.
func measure(ctx context.Context, r pgcatalog.Reader, g *graph) error {
	byOID, oids := map[int64]*table{}, make([]int64, len(g.tables))
	for i, t := range g.tables {
		byOID[t.OID], oids[i] = t, t.OID
	}
	members, err := r.Sizes(ctx, oids)
	if err != nil {
		return err
	}
	for _, m := range members {
		t := byOID[m.Root]
		t.members = append(t.members, m.OID)
		t.add(m.Size)
	}
	for _, t := range g.tables {
		for _, c := range t.columns {
			if !c.Key || !c.IsNarrow() && c.Base != "int8" {
				continue
			}
			// Both ends of the key: whether it is narrow enough to be taken back, and positive.
			err := r.Tx.QueryRowContext(ctx, fmt.Sprintf("SELECT min(%[1]s)::bigint, max(%[1]s)::bigint FROM %[2]s",
				pgsql.Quote(c.Name), t.Target())).Scan(&c.smallest, &c.largest)
			if err != nil {
				return fmt.Errorf("sqlmigrate: the largest key of table %s: %w", t.Display, err)
			}
		}
	}
	return nil
}

func (t *table) add(s pgcatalog.Size) {
	t.Rows, t.Bytes, t.Heap = t.Rows+s.Rows, t.Bytes+s.Bytes, t.Heap+s.Heap
	t.Relations, t.Constraints = t.Relations+s.Relations, t.Constraints+s.Constraints
	t.NotAnalyzed = t.NotAnalyzed || s.NotAnalyzed
}
