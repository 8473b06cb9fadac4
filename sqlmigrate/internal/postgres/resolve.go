package postgres

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// An edge leads from a column to the key that it refers to.
type edge struct{ From, To pgcatalog.Node }

// A selection is what was asked for.
type selection struct {
	tables     map[int64]bool
	keys       []pgcatalog.Node
	references []edge // without a constraint
}

// resolve finds what was asked for in the catalog.
func resolve(ctx context.Context, r pgcatalog.Reader, want engine.Request) (*selection, findings, error) {
	s := &selection{tables: map[int64]bool{}}
	relations, err := r.Resolve(ctx, want.Tables)
	if err != nil {
		return nil, findings{}, err
	}
	var oids []int64
	for i, t := range relations {
		switch {
		case t == nil:
			return nil, findings{}, noTable(want.Tables[i])
		case t.Kind != "r" && t.Kind != "p":
			return nil, findings{}, fmt.Errorf("sqlmigrate: %s is not a table: want the table behind it", want.Tables[i])
		}
		s.tables[t.OID] = true
		oids = append(oids, t.OID)
	}
	keys, err := readKeys(ctx, r, oids)
	if err != nil {
		return nil, findings{}, err
	}
	var found findings
	for i, t := range want.Tables {
		nodes, more := keys[oids[i]].choose(t, oids[i])
		s.keys = append(s.keys, nodes...)
		found.add(more)
	}
	s.references, err = resolveReferences(ctx, r, want.References)
	return s, found, err
}

func noTable(t engine.TableName) error {
	return fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, written as it is in the catalog", t)
}

// resolveReferences leaves out views: if one shows a key, it is found as a
// blocker.
func resolveReferences(ctx context.Context, r pgcatalog.Reader, references []engine.Reference) ([]edge, error) {
	var edges []edge
	for _, ref := range references {
		from, fromView, err := resolveColumn(ctx, r, ref.Table, ref.Column)
		if err != nil {
			return nil, err
		}
		to, toView, err := resolveColumn(ctx, r, ref.ToTable, ref.ToColumn)
		if err != nil {
			return nil, err
		}
		if !fromView && !toView {
			edges = append(edges, edge{from, to})
		}
	}
	return edges, nil
}

func resolveColumn(ctx context.Context, r pgcatalog.Reader, t engine.TableName, column string) (n pgcatalog.Node, view bool, err error) {
	relations, err := r.Resolve(ctx, []engine.TableName{t})
	if err != nil {
		return n, false, err
	}
	if relations[0] == nil {
		return n, false, noTable(t)
	}
	numbers, err := r.Numbers(ctx, relations[0].OID)
	if err == nil && numbers[column] == 0 {
		err = fmt.Errorf("sqlmigrate: table %s has no column %s", t, column)
	}
	kind := relations[0].Kind
	return pgcatalog.Node{Table: relations[0].OID, Column: numbers[column]}, kind == "v" || kind == "m", err
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
         WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum)
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.contype = 'p' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY a.attnum`

// keyColumns are the columns of a primary key.
type keyColumns struct{ assigned, integers, others []pgcatalog.Node }

func readKeys(ctx context.Context, r pgcatalog.Reader, oids []int64) (map[int64]*keyColumns, error) {
	keys := map[int64]*keyColumns{}
	for _, oid := range oids {
		keys[oid] = &keyColumns{}
	}
	rows, err := pgcatalog.Read[struct {
		Node              pgcatalog.Node
		Integer, Assigned bool
	}](ctx, r, keySQL, pgcatalog.Array(oids))
	for _, x := range rows {
		k := keys[x.Node.Table]
		switch {
		case x.Integer && x.Assigned:
			k.assigned = append(k.assigned, x.Node)
		case x.Integer:
			k.integers = append(k.integers, x.Node)
		default:
			k.others = append(k.others, x.Node)
		}
	}
	return keys, err
}

// choose takes of several columns those that the database assigns, or the only
// integer. Of several integers that nobody assigns, some mean something else, such
// as the tenant.
func (k *keyColumns) choose(t engine.TableName, oid int64) (nodes []pgcatalog.Node, found findings) {
	switch {
	case len(k.assigned) > 0:
		return k.assigned, found
	case len(k.integers) == 1:
		return k.integers, found
	case len(k.integers) > 1:
		found.note(engine.CompositeNote, t, len(k.integers)+len(k.others))
		return nil, found
	case len(k.others) > 0:
		return k.others, found
	}
	found.block(t.String(), "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
	return []pgcatalog.Node{{Table: oid}}, found // no column
}
