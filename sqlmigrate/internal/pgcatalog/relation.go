package pgcatalog

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Relation is a table, or what stands where one is expected.
type Relation struct {
	OID int64
	Named
	Kind      string // as pg_class has it: r is a table, p a partitioned one, f a foreign one
	Owner     string
	Owned     bool // the current role may change it
	Creates   bool // the current role may create objects in its schema
	Typed     bool // it is of a composite type
	Partition bool
	Inherits  bool // from another, or another from it
	Forced    bool // row security applies to the owner too
}

// relationsSQL asks what kind of relations these are, and what the current role
// may do with them: most blockers of a table follow from that. The source is a query
// for their OIDs and numbers.
const relationsSQL = `
SELECT t.number - 1, c.oid::bigint, n.nspname, c.relname, c.relkind::text, pg_get_userbyid(c.relowner),
       pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(n.oid, 'CREATE'), c.reloftype <> 0, c.relispartition,
       EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)), c.relforcerowsecurity
FROM source AS t (oid, number)
JOIN pg_catalog.pg_class c ON c.oid = t.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`

const (
	namedSQL = `
WITH source AS (SELECT to_regclass(name), number FROM json_array_elements_text($1::text::json) WITH ORDINALITY AS t (name, number))` + relationsSQL
	numberedSQL = `
WITH source AS (SELECT * FROM unnest($1::text::oid[]) WITH ORDINALITY)` + relationsSQL
)

// Resolve finds relations by the search path, in the order of their names. One
// that does not exist is nil.
func (r *Reader) Resolve(ctx context.Context, names []plan.TableName) []*Relation {
	quoted := make([]string, len(names))
	for i, t := range names {
		quoted[i] = pgsql.Qualified(t.Schema, t.Name)
	}
	return r.relations(ctx, namedSQL, quoted, len(names))
}

// ByOID finds relations, in the order of their OIDs. One that does not exist is
// nil.
func (r *Reader) ByOID(ctx context.Context, oids []int64) []*Relation {
	return r.relations(ctx, numberedSQL, oids, len(oids))
}

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

// A Size is how large tables are.
type Size struct {
	Rows        int64 // as the planner assumes
	Bytes, Heap int64 // Heap is without indexes
	NotAnalyzed bool  // Rows is unknown
	Relations   int   // tables, with TOAST, and indexes
	Constraints int
	Main        int64 // Bytes without indexes and TOAST
}

// A Member is a table, or a partition or child of it. What has partitions has no
// rows.
type Member struct {
	Root, OID int64
	Size
}

// sizesSQL asks for the estimates of the planner and the sizes of files, because
// to count rows takes as long as to copy them. Parents are before their
// partitions and children.
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

// Sizes measures tables, their partitions and their children, parents first.
func (r *Reader) Sizes(ctx context.Context, tables []int64) []Member {
	return Read[Member](ctx, r, sizesSQL, tables)
}

// Publications returns the publications that a table is in: their subscribers apply
// rows by column, and stop where one is missing or has another type.
func (r *Reader) Publications(ctx context.Context, t *Relation) []string {
	return Read[string](ctx, r, `SELECT pubname FROM pg_catalog.pg_publication_tables
WHERE schemaname = $1::text AND tablename = $2::text ORDER BY pubname`, t.Schema, t.Name)
}

// Rules returns the rewrite rules of a table, by name: they also apply to statements
// that copy its rows.
func (r *Reader) Rules(ctx context.Context, table int64) []string {
	return Read[string](ctx, r, `SELECT rulename FROM pg_catalog.pg_rewrite WHERE ev_class = $1::bigint::oid ORDER BY rulename`, table)
}
