package pgcatalog

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Relation is a table, partition, foreign table or view.
type Relation struct {
	OID int64
	Named
	Kind              string // relkind of pg_class, which is r for a table, p for a partitioned table, f for a foreign table, v for a view, m for a materialized view
	Owner             string
	MayChange         bool // whether the current role may change it
	MayCreate         bool // whether the current role may create objects in its schema
	Typed             bool // whether it is a table of a composite type
	Partition         bool
	Inherits          bool // whether it has a parent or a child
	ForcesRowSecurity bool // whether row security applies to the owner too
	Attributes        int  // number of columns that it ever had, because a dropped column counts towards the limit of 1,600
}

// relationsSQL is the end of a query for the kinds and properties of relations, and the
// rights of the current role. Callers find most blockers of a table by these values. The
// beginning of the query defines the relation source, which has the OIDs and their numbers in
// the list, from 1 on.
const relationsSQL = `
SELECT t.number - 1, c.oid::bigint, n.nspname, c.relname, c.relkind::text, pg_get_userbyid(c.relowner),
       pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(n.oid, 'CREATE'), c.reloftype <> 0, c.relispartition,
       EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)), c.relforcerowsecurity, c.relnatts
FROM source AS t (oid, number)
JOIN pg_catalog.pg_class c ON c.oid = t.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`

const (
	// namedSQL returns relations by name.
	namedSQL = `
WITH source AS (SELECT to_regclass(name), number FROM json_array_elements_text($1::text::json) WITH ORDINALITY AS t (name, number))` + relationsSQL
	// numberedSQL returns relations by OID.
	numberedSQL = `
WITH source AS (SELECT * FROM unnest($1::text::oid[]) WITH ORDINALITY)` + relationsSQL
)

// Resolve returns the relations with these names, in the same order. It finds names
// without a schema on the search path. The result has nil in the place of a relation that
// does not exist.
func (r *Reader) Resolve(ctx context.Context, names []plan.TableName) []*Relation {
	quoted := make([]string, len(names))
	for i, t := range names {
		quoted[i] = pgsql.Qualified(t.Schema, t.Name)
	}
	return r.relations(ctx, namedSQL, quoted, len(names))
}

// ByOID returns the relations with these OIDs, in the same order. The result has nil in the
// place of a relation that does not exist.
func (r *Reader) ByOID(ctx context.Context, oids []int64) []*Relation {
	return r.relations(ctx, numberedSQL, oids, len(oids))
}

// relations returns the relations of a query, in the order of the n elements of list, which
// is the argument of the query and has names or OIDs. The result has nil in the place of an
// element without a relation.
func (r *Reader) relations(ctx context.Context, query string, list any, n int) []*Relation {
	found := make([]*Relation, n)
	for _, row := range Read[struct {
		Index int
		Relation
	}](ctx, r, query, list) {
		row.Display = r.Display(row.Schema, row.Name)
		found[row.Index] = &row.Relation
	}
	return found
}

// A Size is the size of a table, or the sum of the sizes of several tables.
type Size struct {
	Rows        int64 // estimate of the planner
	Bytes, Heap int64 // Heap includes TOAST, but not indexes
	NotAnalyzed bool  // whether Rows is unknown
	Relations   int   // number of tables, TOAST tables and indexes
	Constraints int
	Main        int64 // bytes without indexes and TOAST
}

// A Member is a table, or a partition or child of the table Root, with its size. A
// partitioned table has no rows of its own.
type Member struct {
	Root, OID int64
	Size
}

// sizesSQL returns the planner's estimates and the sizes of the files, because counting
// rows takes as long as copying them. The relation member has the tables and, over any
// number of levels, their partitions and children. A partitioned table (relkind 'p') has
// no rows of its own; its estimate is for its partitions. A table counts as not analyzed
// if the catalog has no estimate (reltuples < 0, or 0 rows in 0 pages) although its file
// is not empty. A TOAST table counts as two relations, because it has an index. Parents
// come before their partitions and children.
const sizesSQL = `
WITH RECURSIVE member (root, oid, depth) AS (
  SELECT oid, oid, 0 FROM unnest($1::text::oid[]) AS oid
  UNION
  SELECT m.root, i.inhrelid, m.depth + 1 FROM member m JOIN pg_catalog.pg_inherits i ON i.inhparent = m.oid
)
SELECT m.root::bigint, c.oid::bigint, CASE WHEN c.relkind = 'p' THEN 0 ELSE greatest(c.reltuples, 0)::bigint END,
       coalesce(pg_total_relation_size(c.oid), 0), coalesce(pg_table_size(c.oid), 0),
       (c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0) AND coalesce(pg_relation_size(c.oid), 0) > 0,
       1 + CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE 2 END + (SELECT count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid),
       (SELECT count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid),
       coalesce(pg_relation_size(c.oid), 0)
FROM (SELECT root, oid, max(depth) AS depth FROM member GROUP BY root, oid) AS m JOIN pg_catalog.pg_class c ON c.oid = m.oid
ORDER BY m.depth, c.oid`

// Sizes returns the sizes of tables, their partitions and children, parents first.
func (r *Reader) Sizes(ctx context.Context, tables []int64) []Member {
	return Read[Member](ctx, r, sizesSQL, tables)
}

// Publications returns the publications that contain a table. They matter because
// subscribers apply rows by column, and stop if a column is missing or has another type.
func (r *Reader) Publications(ctx context.Context, t *Relation) []string {
	return Read[string](ctx, r, `SELECT pubname FROM pg_catalog.pg_publication_tables
WHERE schemaname = $1::text AND tablename = $2::text ORDER BY pubname`, t.Schema, t.Name)
}

// Rules returns the names of a table's rewrite rules, which would also apply to
// statements that copy its rows.
func (r *Reader) Rules(ctx context.Context, table int64) []string {
	return Read[string](ctx, r, `SELECT rulename FROM pg_catalog.pg_rewrite WHERE ev_class = $1::bigint::oid ORDER BY rulename`, table)
}
