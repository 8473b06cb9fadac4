package postgres

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// readLost reads the properties that a change of type would lose, and adds the statements
// that restore them to the tables. PostgreSQL builds indexes, constraints and statistics
// again from their definitions, and loses the properties that are not in the definitions.
// The statements run after the change and after it was taken back; they may also set a
// property that was not lost. The indexes of partitions are created separately in both
// directions, because PostgreSQL would create them from the definition of the topmost
// index.
func readLost(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) {
	indexes := readByTable[index](ctx, q, g, indexesSQL)
	constraints := readByTable[keptConstraint](ctx, q, g, constraintsSQL)
	statistics := readByTable[keptStatistics](ctx, q, g, statisticsSQL)
	for _, t := range g.tables {
		var again []object
		for _, c := range constraints[t.OID] {
			again = append(again, c)
		}
		for _, i := range indexes[t.OID] {
			if i.Tree {
				t.up.addPartitioned(i)
				t.down.addPartitioned(i)
			}
			again, t.kept = append(again, i), append(t.kept, i.keep()...)
		}
		t.kept = append(t.kept, keepConstraints(constraints[t.OID])...)
		for _, s := range statistics[t.OID] {
			again, t.kept = append(again, s), append(t.kept, s.keep()...)
		}
		t.down.addRewritten(again, t.members)
	}
}

// builtAgainSQL begins a query on the indexes, constraints and statistics that PostgreSQL
// builds again when the columns change their type. The relation made has every object
// that depends on such a column, the table whose change builds it again, and the names of
// the columns as JSON.
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

// readBuiltAgain returns the rows of a query that continues builtAgainSQL.
func readBuiltAgain[T any](ctx context.Context, r *pgcatalog.Reader, g *graph, query string) []T {
	nodes := g.narrowNodes()
	roots := make([]int64, len(nodes))
	for i, n := range nodes {
		roots[i] = g.columns[n].root.table.OID
	}
	return pgcatalog.Read[T](ctx, r, builtAgainSQL+query, nodes, roots)
}

// readByTable returns the objects of such a query, by the OID of the table whose change
// builds them again.
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

// An index is an index that is built again.
type index struct {
	Rebuilt
	pgcatalog.Named
	Table             string
	Tablespace        string // empty for the default tablespace of the database
	Comment           *string
	Constraint        string
	ConstraintComment *string
	Clustered         bool
	Identity          bool
	Targets           []target
	Extensions        []string
	Definition        string // the definition of its constraint, if it has one

	Tree       bool        // whether it belongs to a partitioned table, or is attached to such an index
	Above      string      // the index to which it is attached
	References []reference // the foreign keys that need it
}

// A target is the statistics target of an expression in an index.
type target struct{ Column, Target int64 }

// A reference is a foreign key. Its names are quoted.
type reference struct {
	Of                      int64 // OID of the table
	Table, Name, Definition string
	Comment                 *string
}

func (i *index) table() string { return pgsql.Qualified(i.Schema, i.Table) }

// indexColumnsSQL returns the properties of indexes that PostgreSQL loses. It appends the
// storage parameters of a primary or unique key to its definition, before DEFERRABLE,
// because pg_get_constraintdef leaves them out.
const indexColumnsSQL = `i.indrelid::bigint, NOT (c.relkind = 'I' OR c.relispartition) AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL),
       n.nspname, c.relname, r.relname,
       coalesce((SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace), ''),
       obj_description(c.oid, 'pg_class'), coalesce(x.conname, ''), obj_description(x.oid, 'pg_constraint'),
       i.indisclustered, i.indisreplident,
       (SELECT json_agg(json_build_object('Column', a.attnum, 'Target', a.attstattarget) ORDER BY a.attnum)::text
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attstattarget >= 0),
       (SELECT json_agg(e.extname ORDER BY e.extname)::text
        FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'x'
          AND d.refclassid = 'pg_catalog.pg_extension'::regclass),
       coalesce(regexp_replace(pg_get_constraintdef(x.oid), '( DEFERRABLE)?( INITIALLY DEFERRED)?$',
         CASE WHEN x.contype <> 'x' AND c.reloptions IS NOT NULL THEN ' WITH (' || array_to_string(c.reloptions, ', ') || ')' ELSE '' END || '\&'),
         pg_get_indexdef(c.oid)),
       c.relkind = 'I' OR c.relispartition, coalesce((SELECT h.inhparent::regclass::text FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid), ''),
       (SELECT json_agg(json_build_object('Of', f.conrelid::bigint, 'Table', f.conrelid::regclass, 'Name', quote_ident(f.conname),
                                          'Definition', pg_get_constraintdef(f.oid), 'Comment', obj_description(f.oid, 'pg_constraint')) ORDER BY f.oid)::text
        FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_constraint f ON d.classid = 'pg_catalog.pg_constraint'::regclass AND f.oid = d.objid
        WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid AND f.contype = 'f' AND f.conparentid = 0)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid AND x.contype IN ('p', 'u', 'x')`

// indexesSQL returns the indexes that are built again, including those that belong to
// constraints, because the constraint depends on the columns and not its index.
const indexesSQL = `, index AS (
  SELECT root, objid AS oid FROM made WHERE classid = 'pg_catalog.pg_class'::regclass
  UNION
  SELECT made.root, x.conindid
  FROM made JOIN pg_catalog.pg_constraint x ON made.classid = 'pg_catalog.pg_constraint'::regclass AND x.oid = made.objid
  WHERE x.contype IN ('p', 'u', 'x')
)
SELECT index.root::bigint, ` + indexColumnsSQL + `
JOIN index ON index.oid = i.indexrelid
ORDER BY n.nspname, c.relname`

func (i *index) keep() []string {
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if i.Tablespace != "" {
		say("ALTER INDEX %s SET TABLESPACE %s", i.Target(), pgsql.Quote(i.Tablespace))
	}
	for _, t := range i.Targets {
		say("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", i.Target(), t.Column, t.Target)
	}
	for _, extension := range i.Extensions {
		say("ALTER INDEX %s DEPENDS ON EXTENSION %s", i.Target(), pgsql.Quote(extension))
	}
	texts = append(texts, pgsql.Comment("INDEX "+i.Target(), i.Comment)...)
	texts = append(texts, pgsql.Comment("CONSTRAINT "+pgsql.Quote(i.Constraint)+" ON "+i.table(), i.ConstraintComment)...)
	if i.Clustered {
		say("ALTER TABLE %s CLUSTER ON %s", i.table(), pgsql.Quote(i.Name))
	}
	if i.Identity {
		say("ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s", i.table(), pgsql.Quote(i.Name))
	}
	return texts
}

// constraintsSQL returns the CHECKs, and the foreign keys that come from a foreign key of
// a partitioned table. An inherited CHECK loses its comment, and such a foreign key also
// loses its name. It sorts parents first, by the number of ancestors of both tables.
// conislocal marks the CHECKs that a table has of its own; a CHECK that only comes from a
// parent is created together with the parent's.
const constraintsSQL = `
SELECT made.root::bigint, c.conrelid::bigint, c.contype = 'c' AND c.conislocal, n.nspname, r.relname, c.conname,
       obj_description(c.oid, 'pg_constraint'),
       pg_get_constraintdef(c.oid), c.oid::bigint, c.confrelid::regclass::text,
       coalesce(p.conrelid::regclass::text, ''), coalesce(p.conname, ''), c.conparentid::bigint, coalesce(p.conparentid, 0)::bigint
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid
WHERE c.contype = 'c' OR c.contype = 'f' AND c.conparentid <> 0
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.conrelid)) + (SELECT count(*) FROM pg_partition_ancestors(c.confrelid)), n.nspname, r.relname, c.conname`

// A keptConstraint is a constraint whose comment or name has to be restored.
type keptConstraint struct {
	Rebuilt
	Schema, Table, Name string
	Comment             *string
	Definition          string

	// The following fields are set for a foreign key that comes from another foreign key.
	OID                         int64
	Refers, ParentTable, Parent string
	ParentOID, GrandparentOID   int64
}

func (c *keptConstraint) table() string { return pgsql.Qualified(c.Schema, c.Table) }

func (c *keptConstraint) keep() []string {
	return pgsql.Comment("CONSTRAINT "+pgsql.Quote(c.Name)+" ON "+c.table(), c.Comment)
}

// keepConstraints returns the statements that restore comments and names. It first
// renames all foreign keys to temporary names, because PostgreSQL may have given the name
// of one foreign key to another.
func keepConstraints(constraints []*keptConstraint) []string {
	var passing, final string
	var comments []string
	for _, c := range constraints {
		comments = append(comments, c.keep()...)
		if c.ParentOID != 0 {
			passing, final = passing+c.pass(), final+fmt.Sprintf("  ALTER TABLE %s RENAME CONSTRAINT %s TO %s;\n", c.table(), passingName(c.OID), pgsql.Quote(c.Name))
		}
	}
	if passing == "" {
		return comments
	}
	return append([]string{pgsql.Do("", passing+final)}, comments...)
}

// passingName returns a unique temporary name. Its length does not depend on the OID, so
// that the layout of the statement does not depend on it either.
func passingName(oid int64) string { return fmt.Sprintf("sqlmigrate_%010d", oid) }

// pass returns a statement that renames a foreign key to its temporary name. It finds the
// foreign key by its parent and tables, because its present name is unknown.
func (c *keptConstraint) pass() string {
	parent := c.Parent
	if c.GrandparentOID != 0 {
		parent = passingName(c.ParentOID)
	}
	return fmt.Sprintf("  EXECUTE (SELECT pg_catalog.format('ALTER TABLE %%s RENAME CONSTRAINT %%I TO %s', c.conrelid::regclass, c.conname)\n"+
		"    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid\n"+
		"    WHERE p.conrelid = %s::regclass AND p.conname = %s AND c.conrelid = %s::regclass AND c.confrelid = %s::regclass);\n",
		passingName(c.OID), pgsql.Literal(c.ParentTable), pgsql.Literal(parent), pgsql.Literal(c.table()), pgsql.Literal(c.Refers))
}

// statisticsColumnsSQL returns the properties of extended statistics that PostgreSQL
// loses. It reads stxstattarget and stxexprs from JSON, because PostgreSQL 12 does not
// have these columns; an absent target, NULL (since PostgreSQL 17) and -1 all mean the
// default. The statistics of a materialized view get their owner by name, because the
// view may not have its owner yet when they are created.
const statisticsColumnsSQL = `s.stxrelid::bigint, to_jsonb(s) ->> 'stxexprs' IS NOT NULL, n.nspname, s.stxname, pg_get_userbyid(s.stxowner),
       s.stxowner = r.relowner AND r.relkind <> 'm', rn.nspname, r.relname,
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext'), pg_get_statisticsobjdef(s.oid)
FROM pg_catalog.pg_statistic_ext s
JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
JOIN pg_catalog.pg_class r ON r.oid = s.stxrelid
JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace`

const statisticsSQL = `
SELECT made.root::bigint, ` + statisticsColumnsSQL + `
JOIN made ON made.classid = 'pg_catalog.pg_statistic_ext'::regclass AND made.objid = s.oid
ORDER BY n.nspname, s.stxname`

// keptStatistics are extended statistics of a table or materialized view.
type keptStatistics struct {
	Rebuilt
	Schema, Name, Owner string
	Same                bool // whether they have the same owner as the table
	TableSchema, Table  string
	Target              int
	Comment             *string
	Definition          string
}

func (s *keptStatistics) keep() []string {
	var texts []string
	statistics := pgsql.Qualified(s.Schema, s.Name)
	if s.Target >= 0 {
		texts = append(texts, fmt.Sprintf("ALTER STATISTICS %s SET STATISTICS %d", statistics, s.Target))
	}
	texts = append(texts, pgsql.Comment("STATISTICS "+statistics, s.Comment)...)
	if s.Same {
		return append(texts, pgsql.Do("", ownerOf("STATISTICS", statistics, pgsql.Qualified(s.TableSchema, s.Table))))
	}
	return append(texts, "ALTER STATISTICS "+statistics+" OWNER TO "+pgsql.Quote(s.Owner))
}
