package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A node is a column: the table's OID and the column's number.
type node struct{ table, column int64 }

// An edge leads from a column to the key that it refers to.
type edge struct{ from, to node }

// resolve finds what was asked for.
func (p *inspection) resolve(ctx context.Context) error {
	p.asked = map[int64]bool{}
	for _, t := range p.want.Tables {
		oid, kind, err := p.relation(ctx, t)
		if err != nil {
			return err
		}
		if kind != "r" && kind != "p" {
			return fmt.Errorf("sqlmigrate: %s is not a table: want the table behind it", t)
		}
		p.asked[oid] = true
		if err := p.seed(ctx, t, oid); err != nil {
			return err
		}
	}
	for _, r := range p.want.References {
		if err := p.resolveReference(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (p *inspection) relation(ctx context.Context, t engine.TableName) (oid int64, kind string, err error) {
	err = p.tx.QueryRowContext(ctx, `SELECT oid::bigint, relkind::text FROM pg_catalog.pg_class WHERE oid = to_regclass($1::text)`,
		qualified(t.Schema, t.Name)).Scan(&oid, &kind)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, written as it is in the catalog", t)
	}
	if err != nil {
		return 0, "", fmt.Errorf("sqlmigrate: table %s: %w", t, err)
	}
	return oid, kind, nil
}

func (p *inspection) column(ctx context.Context, t engine.TableName, column string) (node, string, error) {
	oid, kind, err := p.relation(ctx, t)
	if err != nil {
		return node{}, "", err
	}
	n := node{table: oid}
	err = p.tx.QueryRowContext(ctx, `SELECT attnum FROM pg_catalog.pg_attribute
		WHERE attrelid = $1::bigint::oid AND attname = $2::text AND attnum > 0 AND NOT attisdropped`, oid, column).Scan(&n.column)
	if errors.Is(err, sql.ErrNoRows) {
		return n, "", fmt.Errorf("sqlmigrate: table %s has no column %s", t, column)
	}
	if err != nil {
		return n, "", fmt.Errorf("sqlmigrate: column %s of table %s: %w", column, t, err)
	}
	return n, kind, nil
}

// resolveReference leaves out views: if one shows a key, it is found as a
// blocker.
func (p *inspection) resolveReference(ctx context.Context, r engine.Reference) error {
	from, fromKind, err := p.column(ctx, r.Table, r.Column)
	if err != nil {
		return err
	}
	to, toKind, err := p.column(ctx, r.ToTable, r.ToColumn)
	if err != nil {
		return err
	}
	if fromKind != "v" && fromKind != "m" && toKind != "v" && toKind != "m" {
		p.edges = append(p.edges, edge{from, to})
	}
	return nil
}

const keySQL = `
SELECT a.attnum,
       CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype),
       a.attidentity <> '' OR EXISTS (
         SELECT FROM pg_catalog.pg_attrdef ad
         JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
         JOIN pg_catalog.pg_class s ON d.refclassid = 'pg_catalog.pg_class'::regclass AND s.oid = d.refobjid AND s.relkind = 'S'
         WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum)
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.contype = 'p' AND c.conrelid = $1::bigint::oid
ORDER BY a.attnum`

// seed takes the table's key: of several columns those that the database
// assigns, or the only integer. Of several integers that nobody assigns, some
// say something else, such as the tenant.
func (p *inspection) seed(ctx context.Context, t engine.TableName, oid int64) error {
	var assigned, integers, others []node
	err := each(ctx, p.tx, keySQL, []any{oid}, func(rows *sql.Rows) error {
		var integer, auto bool
		n := node{table: oid}
		if err := rows.Scan(&n.column, &integer, &auto); err != nil {
			return err
		}
		switch {
		case integer && auto:
			assigned = append(assigned, n)
		case integer:
			integers = append(integers, n)
		default:
			others = append(others, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case len(assigned) > 0:
		p.add(assigned)
	case len(integers) == 1:
		p.add(integers)
	case len(integers) > 1:
		p.note(engine.CompositeNote, t, len(integers)+len(others))
	case len(others) > 0:
		p.add(others)
	default:
		p.blocker(t.String(), "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		p.add([]node{{table: oid}}) // no column
	}
	return nil
}

func (p *inspection) add(nodes []node) {
	for _, n := range nodes {
		if p.columns[n] == nil {
			p.columns[n] = &column{node: n}
		}
	}
}

// connectSQL follows three kinds of edges in both directions: foreign keys,
// columns that a partition or a child has from its parent, and the references
// that have no constraint.
const connectSQL = `
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

// connect adds every column that is connected with those asked for.
func (p *inspection) connect(ctx context.Context) error {
	var fromTables, fromColumns, toTables, toColumns []int64
	for _, e := range p.edges {
		fromTables, fromColumns = append(fromTables, e.from.table), append(fromColumns, e.from.column)
		toTables, toColumns = append(toTables, e.to.table), append(toColumns, e.to.column)
	}
	tables, columns := p.nodes()
	args := []any{tables, columns, arrayLiteral(fromTables), arrayLiteral(fromColumns), arrayLiteral(toTables), arrayLiteral(toColumns)}
	return each(ctx, p.tx, connectSQL, args, func(rows *sql.Rows) error {
		var n node
		if err := rows.Scan(&n.table, &n.column); err != nil {
			return err
		}
		p.add([]node{n})
		return nil
	})
}

// nodes are all columns, as two arrays of the same length.
func (p *inspection) nodes() (tables, columns string) {
	var t, c []int64
	for n := range p.columns {
		t, c = append(t, n.table), append(c, n.column)
	}
	return arrayLiteral(t), arrayLiteral(c)
}

// A foreignKey is a pair of columns of one, by their roots.
type foreignKey struct {
	from, to             *table
	fromColumn, toColumn *column
}

// refer fills in which keys a column refers to.
func (p *inspection) refer(ctx context.Context) error {
	tables, _ := p.nodes()
	byOID := map[int64]*table{}
	for _, t := range p.tables {
		byOID[t.oid] = t
	}
	seen := map[edge]bool{}
	link := func(e edge, enforced bool) {
		from, to := p.columns[e.from], p.columns[e.to]
		if from == nil || to == nil {
			return
		}
		from, to = from.root, to.root
		from.enforced = from.enforced || enforced && from != to
		if e = (edge{from.node, to.node}); !seen[e] {
			seen[e] = true
			from.refers = append(from.refers, p.display(to.schema, to.table)+"."+to.name)
			from.masters = append(from.masters, to.node.table)
		}
	}
	err := each(ctx, p.tx, `
SELECT c.conrelid::bigint, k.a, c.confrelid::bigint, k.b, c.convalidated
FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
WHERE c.contype = 'f' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY c.conname, k.a, k.b`, []any{tables}, func(rows *sql.Rows) error {
		var e edge
		var valid bool
		if err := rows.Scan(&e.from.table, &e.from.column, &e.to.table, &e.to.column, &valid); err != nil {
			return err
		}
		link(e, valid)
		if from, to := p.columns[e.from], p.columns[e.to]; from != nil && to != nil {
			from, to = from.root, to.root
			p.foreign = append(p.foreign, foreignKey{byOID[from.node.table], byOID[to.node.table], from, to})
		}
		return nil
	})
	for _, e := range p.edges {
		link(e, false)
	}
	return err
}
