package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// blockTables returns the blockers of a plan that the tables and columns of g show without
// further queries.
func blockTables(g *graph, want engine.Request) engine.Findings {
	var found engine.Findings
	for _, t := range g.tables {
		for _, c := range t.columns {
			found.Add(blockColumn(c, want))
		}
		found.Add(blockTable(t))
	}
	return found
}

// digits is the number of decimal digits of the largest ID, which is 9223372036854775807.
const digits = 19

// blockColumn returns the blockers that follow from the type of a column and from its
// largest key. A key must be an integer. A column that refers to a key may also have a type
// that can hold all digits of an ID, such as text, or be an array of bigint (_int8 in the
// catalog). A smallint or integer is no blocker, because phase widen changes it, unless the
// integer is below a domain.
//
// The largest key must not be ahead of the clock, which means larger than the IDs that a
// generator issues today, because an ID that is issued later could be equal to this key.
func blockColumn(c *column, want engine.Request) engine.Findings {
	var found engine.Findings
	block := func(reason, fix string) { found.Block(c.relation.Display, "column "+c.Name, reason, fix) }
	if c.Key && want.IsAhead(c.keys.Largest.Int64) {
		block(fmt.Sprintf(engine.AheadReason, c.keys.Largest.Int64), engine.AheadFix)
	}
	switch {
	case c.Base == "int8":
	case c.Base == "int2" || c.Base == "int4":
		if c.Domain {
			block("its type is domain "+c.Type+" over an integer that is too small",
				"change the column to a domain over bigint, or to bigint, with all columns of the domain that refer to it")
		}
	case c.Key:
		block("it is a key of type "+c.Type+", not an integer", "leave the table out")
	case c.Base == "text" || c.Base == "_int8":
	case c.Base == "numeric" || c.Base == "varchar" || c.Base == "bpchar":
		if c.Length >= 0 && c.Length < digits {
			block(fmt.Sprintf("its type %s does not hold the %d digits of an ID", c.Type, digits), c.typeFix())
		}
	default:
		block("its type "+c.Type+" does not hold every ID", c.typeFix())
	}
	return found
}

// typeFix returns the fix of a blocker for a column that refers to a key, and has a type
// that does not hold every ID.
func (c *column) typeFix() string {
	to := "bigint"
	switch {
	case strings.HasSuffix(c.Type, "[]"):
		to = "bigint[]"
	case c.Base == "varchar" || c.Base == "bpchar":
		to = fmt.Sprintf("varchar(%d) or text", digits)
	case c.Base == "uuid" || c.Base == "bytea" || c.Base == "json" || c.Base == "jsonb":
		return "leave the reference out: values of this type are not these keys"
	}
	// The statement names a single type. For "varchar(19) or text" this is varchar(19).
	return fmt.Sprintf("change its type to %s: ALTER TABLE %s ALTER COLUMN %s TYPE %s", to, c.relation.Target(), pgsql.Quote(c.Name), strings.TrimSuffix(to, " or text"))
}

// blockTable returns blockers for a table of a composite type (CREATE TABLE … OF type) and
// for foreign tables, if they have columns to widen.
func blockTable(t *table) engine.Findings {
	var found engine.Findings
	for _, c := range t.narrowColumns() {
		if t.Typed {
			found.Block(t.Display, "table "+t.Display.String(),
				"it is a table of a composite type, and column "+c.Name+" can be changed with that only",
				"ALTER TABLE … NOT OF, or change the type with CASCADE")
		}
		for _, m := range c.members {
			// A foreign table (kind f) that only inherits does not block the move. A
			// foreign partition does, because it has no index that could be attached to
			// an index of the partitioned table, which would then stay invalid.
			if m.relation.Kind == "f" && (m == c || m.relation.Partition) {
				found.Block(t.Display, "foreign table "+m.relation.Display.String(), "column "+c.Name+" is in another database",
					"move the table there, and then change the type of the column here"+pgsql.If(m != c, ", with the partition detached"))
			}
		}
	}
	return found
}

// useReasons has the texts of blockers for objects that use a column. The key is the
// catalog in which the object is listed. The texts are the reason, whose %s is the column,
// and the fix. Views and rules are in pg_rewrite. A generated column is in pg_attrdef or,
// if its own column is the object, in pg_class.
var useReasons = map[string][2]string{
	"pg_rewrite":         {"it uses column %s, whose type PostgreSQL then does not change", "let the plan do it (WithRecreateViews) if it is a view, or drop it before, and create it again afterwards with its owner, grants and comment"},
	"pg_attrdef":         {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_class":           {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_trigger":         {"it names column %s in UPDATE OF or WHEN, so PostgreSQL does not change the column's type", "drop it before, and create it again afterwards"},
	"pg_policy":          {"it uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, in one transaction"},
	"pg_proc":            {"its body uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, or write its body as a string"},
	"pg_publication_rel": {"it names column %s, whose type PostgreSQL then does not change", "take the table out of the publication before, and add it again afterwards"},
}

// blockUses returns the blockers for objects that use columns to widen, such as triggers.
// It returns one blocker for each object and table, even if the object uses several columns
// of the table.
func blockUses(g *graph, uses []pgcatalog.Use) engine.Findings {
	columns := map[string][]*column{} // the columns that an object uses, by its description
	for _, u := range uses {
		columns[u.Object] = append(columns[u.Object], g.columns[u.Node])
	}
	var found engine.Findings
	for _, u := range uses {
		if usedColumns := columns[u.Object]; usedColumns != nil {
			delete(columns, u.Object) // its further uses add no blocker
			found.Add(blockUse(u, usedColumns))
		}
	}
	return found
}

// blockUse returns a blocker for each table whose columns the object uses. u is one use of
// the object, and usedColumns has the columns of all its uses. The reason names the first
// column of each of these tables, and no further columns, because the user has to deal with
// the object once. An online move ignores these blockers (InPlace), because it does not
// change the type of the column.
func blockUse(u pgcatalog.Use, usedColumns []*column) engine.Findings {
	texts, ok := useReasons[u.Catalog]
	if !ok {
		texts = [2]string{"it depends on column %s", "drop it before, and create it again afterwards"}
	}
	var tables []plan.TableName
	var columns []string
	for _, c := range usedColumns {
		if table := c.relation.Display; !slices.Contains(tables, table) {
			tables, columns = append(tables, table), append(columns, table.String()+"."+c.Name)
		}
	}
	if len(tables) == 1 { // the blocker names the table already
		columns[0] = usedColumns[0].Name
	}
	var found engine.Findings
	for i, table := range tables {
		found.Block(table, u.Object, fmt.Sprintf(texts[0], strings.Join(columns, ", ")), texts[1]+pgsql.If(u.Drop != "", ": "+u.Drop+"; to restore it: "+strings.Join(u.Create, "; ")))
		found.Blockers[i].InPlace = true
	}
	return found
}

// blockObjects returns the blockers that blockingQueries find. These are objects because of
// which PostgreSQL cannot change the columns to widen, and objects that the change would
// alter for good.
func blockObjects(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	for _, b := range blockingQueries {
		for _, x := range readBuiltAgain[struct {
			Table  int64
			Object sql.NullString
			Detail string
		}](ctx, r, g, b.query+" ORDER BY 2, 3") { // by object and detail
			if x.Object.Valid { // NULL if the object was dropped since the query began
				found.Block(g.relations[x.Table].Display, x.Object.String, fmt.Sprintf(b.reason, x.Detail), b.fix)
			}
		}
	}
	return found
}

// blockingQueries lists queries for blockers. A query returns the OID of a table, the
// description of an object of the table, and a detail for the %s of the reason. Each query
// continues builtAgainSQL, which defines the relations node and made. node has the columns
// to widen, and made the objects that depend on them, which PostgreSQL builds again.
var blockingQueries = []struct{ query, reason, fix string }{
	{
		// Partitioned tables whose partition key contains a narrow column, either
		// directly (partattrs) or in an expression, which the catalog records as an
		// internal dependency (deptype 'i') of the column on its table.
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
		// Columns whose type is the row type of a table, directly or in an array, a
		// domain or a composite type (relkind 'c'). The recursive part follows types that
		// depend on the row type. It uses pg_depend, because that has an index for this
		// direction. The last part finds columns of these types in relations that store
		// rows, which are tables, partitioned tables, materialized views and foreign
		// tables (relkind 'r', 'p', 'm', 'f').
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
		// Indexes that are invalid. An index on columns that do not change counts too,
		// because copying the table builds all its indexes again (relkind 'i'). An index
		// of a partitioned table has no content of its own, so it counts only if it uses
		// a column that changes.
		query: `
SELECT DISTINCT i.indrelid::bigint, pg_describe_object('pg_catalog.pg_class'::regclass, i.indexrelid, 0), ''
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid IN (SELECT rel FROM node) AND NOT (i.indisvalid AND i.indisready AND i.indislive)
  AND (c.relkind = 'i' OR EXISTS (SELECT FROM made WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = c.oid))`,
		reason: "it is invalid, and is built when the table is copied, or fails to be%s",
		fix:    "drop it, or build it with REINDEX; an index of a partitioned table wants one attached for each partition",
	},
	{
		// Foreign keys with an internal trigger that is not enabled in the usual way
		// (tgenabled 'O'). PostgreSQL enables the triggers of a constraint that it
		// creates again, so a foreign key that was not checked would be checked
		// afterwards.
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
		// Constraints that a rule or a function needs, as GROUP BY in a view may need a
		// primary key. PostgreSQL records that as a normal dependency (deptype 'n'),
		// which prevents it from dropping the constraint. Users that are themselves built
		// again do not count.
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
		// Constraints of a partition that are its own (conparentid = 0), although their
		// index is attached to an index of the parent that belongs to no constraint. Such
		// an index is not dropped with the parent's index.
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
		// Foreign keys that a partition has of its own (x), and that are equal to a foreign
		// key which comes from its partitioned table (y). When PostgreSQL creates the foreign
		// keys again, it may use x as the partition's part of the table's foreign key, so that
		// only one of the two is left.
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
