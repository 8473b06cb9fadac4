package postgres

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// builtAgainSQL begins a query on the indexes, constraints and statistics that PostgreSQL
// builds again when columns are widened. The relation node has the columns to widen ($1 and
// $2), each with the OID of the table of the plan to which it belongs ($3). For a column of
// a partition, this is the partitioned table. The relation made has every object that
// depends on such a column, with the OID of the table of the plan whose change builds the
// object again. The WITH is RECURSIVE because a query that continues it may add a recursive
// relation.
const builtAgainSQL = `
WITH RECURSIVE node (rel, att, root) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[], $3::text::oid[])
), made AS (
  SELECT DISTINCT d.classid, d.objid, node.root
  FROM node
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
)`

// readBuiltAgain runs builtAgainSQL, continued by query, for the columns of the graph to
// widen, and returns the rows. Each row becomes a T.
func readBuiltAgain[T any](ctx context.Context, r *pgcatalog.Reader, g *graph, query string) []T {
	nodes := g.narrowNodes()
	roots := make([]int64, len(nodes))
	for i, n := range nodes {
		roots[i] = g.columns[n].root.table.OID
	}
	return pgcatalog.Read[T](ctx, r, builtAgainSQL+query, nodes, roots) // nodes becomes $1 and $2
}

// readByTable returns the objects that PostgreSQL builds again when columns are widened, as
// builtAgainSQL and query find them. The key of the result is the OID of the table of the
// plan whose change builds the objects again. query returns this OID and then the fields of
// T.
func readByTable[T any](ctx context.Context, q pgcatalog.QualifiedReader, g *graph, query string) map[int64][]*T {
	found := map[int64][]*T{}
	for _, x := range readBuiltAgain[struct {
		Root   int64
		Object T
	}](ctx, q.Reader, g, query) {
		found[x.Root] = append(found[x.Root], &x.Object)
	}
	return found
}

// An object is an index, a constraint or statistics that PostgreSQL builds again when a
// column changes its type.
type object interface {
	common() Rebuilt                   // the fields that all objects share
	statements() (drop, create string) // statements that drop the object and create it again
	keep() []string                    // statements that restore the properties that PostgreSQL loses
}

// Rebuilt has the fields that all objects share. Rewritten objects are created again when
// phase widen is taken back, because PostgreSQL changes their expressions when a column
// becomes a bigint and then an integer again. For example, id % 10 becomes id::bigint %
// 10::bigint, which no longer matches the expressions in queries. The type is exported
// because package rows sets its fields by reflection.
type Rebuilt struct {
	Of        int64 // OID of the table
	Rewritten bool  // whether it has expressions
}

// common implements object for all types that embed Rebuilt.
func (r Rebuilt) common() Rebuilt { return r }

// dropAndAddConstraint returns a statement that drops a constraint, and a statement that
// adds it again. only is "ONLY ", which adds the constraint to a partitioned table without
// its partitions, or empty. name is quoted.
func dropAndAddConstraint(only, table, name, definition string) (drop, create string) {
	return "ALTER TABLE " + table + " DROP CONSTRAINT " + name, "ALTER TABLE " + only + table + " ADD CONSTRAINT " + name + " " + definition
}
