package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
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

func noTable(t engine.TableName) error {
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
func resolveColumn(ctx context.Context, r *pgcatalog.Reader, t engine.TableName, column string) (n pgcatalog.Node, err error) {
	relation := r.Resolve(ctx, []engine.TableName{t})[0]
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
         WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum)
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.contype = 'p' AND c.conrelid = ANY ($1::text::oid[])
ORDER BY a.attnum`

// A keyColumn is one of a primary key.
type keyColumn struct {
	Node              pgcatalog.Node
	Integer, Assigned bool
}

func readKeys(ctx context.Context, r *pgcatalog.Reader, tables []int64) map[int64][]keyColumn {
	keys := map[int64][]keyColumn{}
	for _, c := range pgcatalog.Read[keyColumn](ctx, r, keySQL, tables) {
		keys[c.Node.Table] = append(keys[c.Node.Table], c)
	}
	return keys
}

// chooseKey takes of several columns those that the database assigns, or the only
// integer. Of several integers that nobody assigns, some mean something else, such
// as the tenant.
func chooseKey(t engine.TableName, oid int64, key []keyColumn) (nodes []pgcatalog.Node, found engine.Findings) {
	integers := keepIf(key, func(c keyColumn) bool { return c.Integer })
	assigned := keepIf(integers, func(c keyColumn) bool { return c.Assigned })
	chosen := key
	switch {
	case len(key) == 0:
		found.Block(t.String(), "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		return []pgcatalog.Node{{Table: oid}}, found // no column
	case len(assigned) > 0:
		chosen = assigned
	case len(integers) > 1:
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
