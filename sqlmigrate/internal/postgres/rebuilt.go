package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// builtAgainSQL asks for the indexes, constraints and statistics that PostgreSQL
// builds again when the columns change their type, which are those that depend on one,
// by the tables with which they are, and for the names of their columns.
const builtAgainSQL = `
WITH RECURSIVE node (rel, att, root) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[], $3::text::oid[])
), made AS (
  SELECT d.classid, d.objid, node.root, json_agg(DISTINCT quote_ident(a.attname))::text AS columns
  FROM node
  JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
  GROUP BY 1, 2, 3
)`

// readBuiltAgain asks about those objects.
func readBuiltAgain[T any](ctx context.Context, r *pgcatalog.Reader, g *graph, query string) []T {
	nodes := g.narrowNodes()
	roots := make([]int64, len(nodes))
	for i, n := range nodes {
		roots[i] = g.columns[n].root.table.OID
	}
	return pgcatalog.Read[T](ctx, r, builtAgainSQL+query, nodes, roots)
}

// blockObjects finds what keeps PostgreSQL from changing the columns, and what would
// not come back as it is, whatever statements follow.
func blockObjects(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	for _, b := range blocking {
		for _, x := range readBuiltAgain[struct {
			Table  int64
			Object sql.NullString
			Detail string
		}](ctx, r, g, b.query+" ORDER BY 2, 3") {
			if x.Object.Valid { // not dropped since the query began
				found.Block(g.relations[x.Table].Display, x.Object.String, fmt.Sprintf(b.reason, x.Detail), b.fix)
			}
		}
	}
	return found
}

// blocking are queries for a table, an object of it and what there is to say
// about it.
var blocking = []struct{ query, reason, fix string }{
	{
		// By which columns is a table partitioned, directly or in an expression?
		query: `
SELECT node.rel::bigint, 'partition key of ' || pg_describe_object('pg_catalog.pg_class'::regclass, node.rel, 0), a.attname
FROM node
JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att
JOIN pg_catalog.pg_partitioned_table t ON t.partrelid = node.rel
WHERE node.att = ANY (t.partattrs::int2[])
   OR EXISTS (SELECT FROM pg_catalog.pg_depend d
              WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = node.rel AND d.objsubid = node.att
                AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = 0 AND d.deptype = 'i')`,
		reason: "it has column %s, whose type PostgreSQL then does not change",
		fix:    "create a table that is partitioned by a bigint, and copy the rows",
	},
	{
		// Which columns have a table's row as their type, directly or in an array, a
		// domain or a composite type? It goes by pg_depend, which has an index for that.
		query: `, uses (rel, type) AS (
  SELECT c.oid, c.reltype
  FROM node JOIN pg_catalog.pg_class c ON c.oid = node.rel
  WHERE c.reltype <> 0
  UNION
  SELECT uses.rel, coalesce(c.reltype, d.objid)
  FROM uses
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid = uses.type
  LEFT JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'c'
  WHERE d.classid = 'pg_catalog.pg_type'::regclass OR c.oid IS NOT NULL
)
SELECT DISTINCT uses.rel::bigint, pg_describe_object('pg_catalog.pg_class'::regclass, d.objid, d.objsubid), ''
FROM uses
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid = uses.type
  AND d.classid = 'pg_catalog.pg_class'::regclass AND d.objsubid > 0
JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'p', 'm', 'f')`,
		reason: "its type is made of rows of the table, which PostgreSQL then does not change%s",
		fix:    "drop it before, and add it again afterwards",
	},
	{
		// Is an index invalid? Those of other columns count too, because they are
		// built again when the table is copied; a partitioned table's holds nothing.
		query: `
SELECT DISTINCT i.indrelid::bigint, pg_describe_object('pg_catalog.pg_class'::regclass, i.indexrelid, 0), ''
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid IN (SELECT rel FROM node) AND NOT (i.indisvalid AND i.indisready AND i.indislive)
  AND (c.relkind = 'i' OR EXISTS (SELECT FROM made WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = c.oid))`,
		reason: "it is invalid, and is built when the table is copied, or fails to be%s",
		fix:    "drop it, or build it with REINDEX; an index of a partitioned table wants one attached for each partition",
	},
	{
		// Are the triggers of a foreign key enabled as they are when it is created?
		query: `
SELECT DISTINCT t.tgrelid::bigint, pg_describe_object('pg_catalog.pg_constraint'::regclass, c.oid, 0), t.tgrelid::regclass::text
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN pg_catalog.pg_trigger t ON t.tgconstraint = c.oid
WHERE t.tgisinternal AND t.tgenabled <> 'O'`,
		reason: "its triggers on table %s are not enabled as usual, and will be when PostgreSQL creates the constraint again",
		fix:    "ALTER TABLE … ENABLE TRIGGER ALL, or drop the constraint",
	},
	{
		// Does a rule or function need a constraint, as GROUP BY needs a primary key?
		query: `
SELECT DISTINCT c.conrelid::bigint, pg_describe_object('pg_catalog.pg_constraint'::regclass, c.oid, 0), pg_describe_object(d.classid, d.objid, 0)
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_constraint'::regclass AND d.refobjid = c.oid AND d.deptype = 'n'
WHERE d.classid IN ('pg_catalog.pg_rewrite'::regclass, 'pg_catalog.pg_proc'::regclass)
  AND NOT EXISTS (SELECT FROM made m WHERE (m.classid, m.objid) = (d.classid, d.objid))`,
		reason: "%s uses it, and PostgreSQL then does not create it again",
		fix:    "drop what uses it before, and create it again afterwards",
	},
	{
		// Is a partition's constraint one of its own, though its index is attached to
		// one that is no constraint's? It cannot be dropped with that.
		query: `
SELECT DISTINCT i.indrelid::bigint, pg_describe_object('pg_catalog.pg_class'::regclass, i.indexrelid, 0), h.inhparent::regclass::text
FROM made
JOIN pg_catalog.pg_constraint x ON made.classid = 'pg_catalog.pg_constraint'::regclass AND x.oid = made.objid AND x.contype IN ('p', 'u')
JOIN pg_catalog.pg_index i ON i.indexrelid = x.conindid
JOIN pg_catalog.pg_inherits h ON h.inhrelid = i.indexrelid
WHERE x.conparentid = 0`,
		reason: "it belongs to a constraint that its parent %s does not have, and cannot be dropped with that",
		fix:    "make it the same as the parent's",
	},
	{
		// Is there a foreign key twice, once from the partitioned table? When that is
		// created again, PostgreSQL may take the other for it.
		query: `
SELECT DISTINCT x.conrelid::bigint, pg_describe_object('pg_catalog.pg_constraint'::regclass, x.oid, 0), y.conname::text
FROM made
JOIN pg_catalog.pg_constraint x ON made.classid = 'pg_catalog.pg_constraint'::regclass AND x.oid = made.objid AND x.contype = 'f' AND x.conparentid = 0
JOIN pg_catalog.pg_constraint y ON y.contype = 'f' AND y.conparentid <> 0
 AND (y.conrelid, y.confrelid, y.conkey, y.confkey) = (x.conrelid, x.confrelid, x.conkey, x.confkey)
 AND pg_get_constraintdef(y.oid) = pg_get_constraintdef(x.oid)`,
		reason: "it is the same as %s, which comes from the partitioned table, and both may become one",
		fix:    "drop it",
	},
}
