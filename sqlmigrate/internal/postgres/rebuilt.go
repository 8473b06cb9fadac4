package postgres

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// builtAgainSQL begins a query on the indexes, constraints and statistics that PostgreSQL
// builds again when the columns change their type. The relation node has the narrow
// columns ($1 and $2) with the OID of the table of the plan to which each belongs ($3).
// The relation made has every object that depends on such a column, and the OID of the
// table of the plan whose change builds it again. The WITH is RECURSIVE because a query that
// continues it may add a recursive relation.
const builtAgainSQL = `
WITH RECURSIVE node (rel, att, root) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[], $3::text::oid[])
), made AS (
  SELECT DISTINCT d.classid, d.objid, node.root
  FROM node
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
)`

// readBuiltAgain returns the rows of a query that continues builtAgainSQL for the narrow
// columns of the graph.
func readBuiltAgain[T any](ctx context.Context, r *pgcatalog.Reader, g *graph, query string) []T {
	nodes := g.narrowNodes()
	roots := make([]int64, len(nodes))
	for i, n := range nodes {
		roots[i] = g.columns[n].root.table.OID
	}
	return pgcatalog.Read[T](ctx, r, builtAgainSQL+query, nodes, roots)
}

// readByTable returns the objects of a query that continues builtAgainSQL, by the OID of
// the table of the plan whose change builds them again.
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

// An object is an index, a constraint or statistics that PostgreSQL builds again.
type object interface {
	common() Rebuilt                   // the fields that all objects share
	statements() (drop, create string) // statements that drop the object and create it again
	keep() []string                    // statements that restore the properties that PostgreSQL loses
}

// Rebuilt has the fields that all objects share. Rewritten objects are created again on
// the way back, because PostgreSQL changes their expressions when a column becomes a
// bigint and then an integer again. For example, id % 10 becomes id::bigint % 10::bigint,
// which no longer matches the expressions in queries. The type is exported because
// package rows sets its fields by reflection.
type Rebuilt struct {
	Of        int64 // OID of the table
	Rewritten bool  // whether it has expressions
}

// common implements object for all types that embed Rebuilt.
func (r Rebuilt) common() Rebuilt { return r }

// ofConstraint returns the statements that drop a constraint and add it again. only is
// "ONLY ", which adds it to a partitioned table without its partitions, or empty. name is
// quoted.
func ofConstraint(only, table, name, definition string) (drop, create string) {
	return "ALTER TABLE " + table + " DROP CONSTRAINT " + name, "ALTER TABLE " + only + table + " ADD CONSTRAINT " + name + " " + definition
}
