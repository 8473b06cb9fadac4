package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// orphansFrom is the largest number of rows of a table in which an inspection looks for rows
// that violate a foreign key. In a larger table, the search would take long.
const orphansFrom = 200_000

// orphansFromBytes is the size of a table with orphansFrom rows of 200 bytes each. It is the
// limit for a table whose number of rows is unknown.
const orphansFromBytes = 200 * orphansFrom

// A checkedKey is a foreign key for which PostgreSQL checks all rows again when one of its
// columns changes its type.
type checkedKey struct {
	Child, Parent   int64 // OIDs of the tables
	Name            string
	Key             []string // the primary key of Child, which identifies a row in messages
	Columns, Refers []string
	Operators       []string // for each column, the operator that compares it with the column of Parent
}

// checkedKeysSQL continues builtAgainSQL, and returns the foreign keys for which PostgreSQL
// checks all rows again. It leaves out foreign keys that are not validated, because
// PostgreSQL creates them again without a check, and those that come from a partitioned
// table (conparentid), because their rows are rows of that table. An operator outside
// pg_catalog, such as that of citext, is written with its schema, because the search path
// may not have it.
const checkedKeysSQL = `
SELECT DISTINCT c.conrelid::bigint, c.confrelid::bigint, c.conname::text,
       (SELECT json_agg(a.attname ORDER BY k.n)::text
        FROM pg_catalog.pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (att, n), pg_catalog.pg_attribute a
        WHERE i.indrelid = c.conrelid AND i.indisprimary AND a.attrelid = c.conrelid AND a.attnum = k.att),
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.conkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att),
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.confkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att),
       (SELECT json_agg(CASE n.nspname WHEN 'pg_catalog' THEN o.oprname ELSE format('OPERATOR(%I.%s)', n.nspname, o.oprname) END ORDER BY k.n)::text
        FROM unnest(c.conpfeqop) WITH ORDINALITY AS k (operator, n)
        JOIN pg_catalog.pg_operator o ON o.oid = k.operator
        JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace)
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
WHERE c.contype = 'f' AND c.convalidated AND c.conparentid = 0
ORDER BY 1, 3`

// blockOrphans adds a blocker for each foreign key that rows violate, for example because
// they were loaded with session_replication_role = replica. PostgreSQL creates the
// foreign keys of a column again when it changes the column's type, and fails on such a
// row. blockOrphans checks only tables in which that takes a moment, and whose rows the
// role can read.
func blockOrphans(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	for _, f := range readBuiltAgain[checkedKey](ctx, r, g, checkedKeysSQL) {
		child, parent := g.relations[f.Child], g.relations[f.Parent]
		if !g.isSmall(child) || !g.isSmall(parent) || !isReadable(r, child) || !isReadable(r, parent) {
			continue
		}
		query := f.orphans(child, parent)
		orphans, err := engine.DescribeRows(ctx, r.Tx, query)
		if err != nil {
			r.Fail(fmt.Errorf("table %s: look for rows that violate foreign key %s: %w", child.Display, f.Name, err))
			return found
		}
		if orphans != "" {
			found.Block(child.Display, "foreign key "+f.Name,
				"rows of table "+child.Display.String()+" are not in table "+parent.Display.String()+", "+orphans+": PostgreSQL creates the foreign key again, and fails on them",
				"correct or delete what this finds: "+query)
		}
	}
	return found
}

// isSmall reports whether the table has at most orphansFrom rows. A partition or child
// counts as its topmost parent. If the table was never analyzed, its number of rows is
// unknown, so the size in bytes decides.
func (g *graph) isSmall(relation *pgcatalog.Relation) bool {
	i := slices.IndexFunc(g.tables, func(t *table) bool { return slices.Contains(t.members, relation.OID) })
	return i >= 0 && g.tables[i].Rows <= orphansFrom && (!g.tables[i].NotAnalyzed || g.tables[i].Heap <= orphansFromBytes)
}

// isReadable reports whether the role can certainly read all rows of the table. The owner
// can, unless policies apply to the owner too (FORCE ROW LEVEL SECURITY) and the role does
// not bypass them. For any other role the result is false, and the plan has a note that the
// owner has to apply it.
func isReadable(r *pgcatalog.Reader, t *pgcatalog.Relation) bool {
	return t.MayChange && (!t.ForcesRowSecurity || r.BypassesPolicies)
}

// orphans returns a query for the rows of child (c) that refer to a row that parent (p)
// does not have, and so violate the foreign key. A row with a NULL in the foreign key
// does not violate it. ONLY leaves the children of a table out of the check, as the
// foreign key does; a partitioned table has rows in its partitions alone.
func (f checkedKey) orphans(child, parent *pgcatalog.Relation) string {
	var selected, notNull, equal []string
	for _, name := range f.Key {
		selected = append(selected, "c."+pgsql.Quote(name))
	}
	for i, name := range f.Columns {
		column := "c." + pgsql.Quote(name)
		selected = engine.AppendNew(selected, column)
		notNull = append(notNull, column+" IS NOT NULL")
		equal = append(equal, "p."+pgsql.Quote(f.Refers[i])+" "+f.Operators[i]+" "+column)
	}
	from := func(t *pgcatalog.Relation) string { return pgsql.If(t.Kind == "r", "ONLY ") + t.Target() }
	return fmt.Sprintf("SELECT %s FROM %s c WHERE %s AND NOT EXISTS (SELECT FROM %s p WHERE %s)",
		strings.Join(selected, ", "), from(child), strings.Join(notNull, " AND "), from(parent), strings.Join(equal, " AND "))
}
