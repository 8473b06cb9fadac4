package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A node is a column: the table's OID and the column's number.
type node struct{ table, column int64 }

// An edge leads from a column to the key that it refers to.
type edge struct{ from, to node }

// resolve finds what was asked for.
func (p *inspection) resolve(ctx context.Context) error {
	p.asked = map[int64]bool{}
	var oids []int64
	err := p.relations(ctx, p.want.Tables, func(t engine.TableName, oid int64, kind string) error {
		switch {
		case oid == 0:
			return noTable(t)
		case kind != "r" && kind != "p":
			return fmt.Errorf("sqlmigrate: %s is not a table: want the table behind it", t)
		}
		p.asked[oid] = true
		oids = append(oids, oid)
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.seed(ctx, p.want.Tables, oids); err != nil {
		return err
	}
	for _, r := range p.want.References {
		if err := p.resolveReference(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// relations looks names up; the OID of one that does not exist is 0.
func (p *inspection) relations(ctx context.Context, tables []engine.TableName, found func(t engine.TableName, oid int64, kind string) error) error {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = pgsql.Qualified(t.Schema, t.Name)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	i := -1
	var failed error
	err = each(ctx, p.tx, `
SELECT coalesce(c.oid, 0)::bigint, coalesce(c.relkind::text, '')
FROM json_array_elements_text($1::text::json) WITH ORDINALITY AS t (name, number)
LEFT JOIN pg_catalog.pg_class c ON c.oid = to_regclass(t.name)
ORDER BY t.number`, []any{string(list)}, func(rows *sql.Rows) error {
		var oid int64
		var kind string
		if err := rows.Scan(&oid, &kind); err != nil {
			return err
		}
		i++
		if failed == nil {
			failed = found(tables[i], oid, kind)
		}
		return nil
	})
	return cmp.Or(err, failed)
}

func noTable(t engine.TableName) error {
	return fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, written as it is in the catalog", t)
}

func (p *inspection) relation(ctx context.Context, t engine.TableName) (found int64, kind string, err error) {
	err = p.relations(ctx, []engine.TableName{t}, func(_ engine.TableName, oid int64, k string) error {
		found, kind = oid, k
		if oid == 0 {
			return noTable(t)
		}
		return nil
	})
	return found, kind, err
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
SELECT c.conrelid::bigint, a.attnum,
       CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype),
       a.attidentity <> '' OR EXISTS (
         SELECT FROM pg_catalog.pg_attrdef ad
         JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
         JOIN pg_catalog.pg_class s ON d.refclassid = 'pg_catalog.pg_class'::regclass AND s.oid = d.refobjid AND s.relkind = 'S'
         WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum)
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.contype = 'p' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY a.attnum`

// keyColumns are the columns of a primary key.
type keyColumns struct{ assigned, integers, others []node }

// seed takes the keys of tables that were asked for.
func (p *inspection) seed(ctx context.Context, tables []engine.TableName, oids []int64) error {
	keys := map[int64]*keyColumns{}
	for _, oid := range oids {
		keys[oid] = &keyColumns{}
	}
	err := each(ctx, p.tx, keySQL, []any{arrayLiteral(oids)}, func(rows *sql.Rows) error {
		var integer, auto bool
		var n node
		if err := rows.Scan(&n.table, &n.column, &integer, &auto); err != nil {
			return err
		}
		k := keys[n.table]
		switch {
		case integer && auto:
			k.assigned = append(k.assigned, n)
		case integer:
			k.integers = append(k.integers, n)
		default:
			k.others = append(k.others, n)
		}
		return nil
	})
	for i, t := range tables {
		p.seedKey(t, oids[i], keys[oids[i]])
	}
	return err
}

// seedKey takes of several columns those that the database assigns, or the only
// integer. Of several integers that nobody assigns, some say something else, such
// as the tenant.
func (p *inspection) seedKey(t engine.TableName, oid int64, k *keyColumns) {
	switch {
	case len(k.assigned) > 0:
		p.add(k.assigned)
	case len(k.integers) == 1:
		p.add(k.integers)
	case len(k.integers) > 1:
		p.note(engine.CompositeNote, t, len(k.integers)+len(k.others))
	case len(k.others) > 0:
		p.add(k.others)
	default:
		p.blocker(t.String(), "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		p.add([]node{{table: oid}}) // no column
	}
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
	byOID := p.tablesByOID()
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
