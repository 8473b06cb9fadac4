package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A selection holds the requested tables, keys and references, as OIDs.
type selection struct {
	tables     map[int64]bool
	keys       []pgcatalog.Node // the columns of primary keys that are moved
	references []edge           // the references that have no constraint
	findings   engine.Findings
}

// resolve looks up the requested tables and references in the catalog, and chooses the
// columns of each table's primary key that are moved, which means made wide enough for
// Snowflake IDs. It returns an error if a table does not exist or is not a table.
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
			return nil, fmt.Errorf("sqlmigrate: %s is not a table: want the table behind it", want.Tables[i]) // for example a view
		}
		s.tables[t.OID] = true
		oids = append(oids, t.OID)
	}
	keys := readKeys(ctx, r, oids)
	for i, t := range want.Tables { // oids[i] is the OID of table i
		nodes, found := chooseKey(t, oids[i], keys[oids[i]])
		s.keys = append(s.keys, nodes...)
		s.findings.Add(found)
	}
	var err error
	s.references, err = resolveReferences(ctx, r, want.References)
	return s, err
}

// noTable returns the error for a table that does not exist.
func noTable(t plan.TableName) error {
	return fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, written as it is in the catalog", t)
}

// resolveReferences looks up the references that the user names because they have no
// foreign key, and returns them as edges from the referring column to the key. It leaves
// out references from or to a column of a view, because a view that shows a key is found as
// a blocker.
func resolveReferences(ctx context.Context, r *pgcatalog.Reader, references []engine.Reference) ([]edge, error) {
	var edges []edge
	for _, ref := range references {
		from, fromErr := resolveColumn(ctx, r, ref.Table, ref.Column)
		to, toErr := resolveColumn(ctx, r, ref.ToTable, ref.ToColumn)
		switch {
		case fromErr != nil || toErr != nil:
			return nil, cmp.Or(fromErr, toErr)
		case from.Table != 0 && to.Table != 0:
			edges = append(edges, edge{From: from, To: to})
		}
	}
	return edges, r.Err()
}

// resolveColumn returns the column as a node, which is the OID of its table and its number
// there. For a column of a view, it returns the zero value.
func resolveColumn(ctx context.Context, r *pgcatalog.Reader, t plan.TableName, column string) (n pgcatalog.Node, err error) {
	relation := r.Resolve(ctx, []plan.TableName{t})[0]
	if relation == nil { // also after an error of r, which is then the reason
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

// keySQL returns the columns of primary keys (contype 'p'; conkey has the numbers of the
// columns), in the order of the fields of keyColumn. For each column it returns whether it
// is an integer, whether the database assigns it by an identity or a sequence, and whether
// its default computes it by a call that is not a counter. If the primary key has several
// columns, chooseKey needs these facts to find the column that is the key to move.
//
// The type of a column with a domain (typtype 'd') is the type below the domain. A default
// uses a sequence if pg_depend has a dependency of the default on a relation of kind 'S'. A
// default calls a function if its text contains a parenthesis.
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
	Integer, Assigned bool // whether it is an integer, and whether an identity or a sequence assigns it
	Computed          bool // whether its default calls a function that is not a counter, for example for the tenant of the session
}

// readKeys returns the columns of the tables' primary keys, by the OID of the table.
func readKeys(ctx context.Context, r *pgcatalog.Reader, tables []int64) map[int64][]keyColumn {
	keys := map[int64][]keyColumn{}
	for _, c := range pgcatalog.Read[keyColumn](ctx, r, keySQL, tables) {
		keys[c.Node.Table] = append(keys[c.Node.Table], c)
	}
	return keys
}

// chooseKey returns the columns of a primary key that are moved, which means made wide
// enough for Snowflake IDs. t is the table, oid its OID, and key has all columns of its
// primary key. The moved columns are the integers that the database assigns or, if there
// are none, the only integer. For example, it returns id for a key of tenant and id, of
// which id has a sequence.
//
// It returns no columns and a note if there are several integers that the database does not
// assign, or if the only integer of several columns has a default that computes it, because
// such an integer may have another meaning, such as the tenant. If no column is an integer,
// it returns all columns, for which blockColumn then returns blockers. If the table has no
// primary key, it returns a blocker, and a node with column 0, which stands for the table.
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
