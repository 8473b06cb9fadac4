package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// An index is an index that PostgreSQL builds again when a column changes its type.
type index struct {
	Rebuilt
	pgcatalog.Named
	Table             string
	Tablespace        string // empty for the default tablespace of the database
	Comment           *string
	Constraint        string
	ConstraintComment *string
	Clustered         bool     // whether the table is clustered on it
	Identity          bool     // whether it is the replica identity of the table
	Targets           []target // of expressions
	Extensions        []string // the extensions with which it is dropped (DEPENDS ON EXTENSION)
	Definition        string   // the definition of its constraint or, if it has none, of the index itself

	Tree       bool        // whether it belongs to a partitioned table, or is attached to such an index
	Above      string      // the index of the parent to which it is attached; empty if none
	References []reference // the foreign keys that need it, because they refer to its columns
}

// A target is the statistics target of an expression in an index, which has a column
// number of its own there.
type target struct{ Column, Target int64 }

// A reference is a foreign key. Its names are quoted.
type reference struct {
	Of                      int64 // OID of the table
	Table, Name, Definition string
	Comment                 *string
}

// table returns the quoted name of the index's table with its schema.
func (i *index) table() string { return pgsql.Qualified(i.Schema, i.Table) }

// indexColumnsSQL returns the columns of index, which are the properties that PostgreSQL
// loses when it builds an index again, and the definitions. It is the part of a query after
// SELECT, up to FROM and its joins.
//
// An index is Rewritten if it has expressions or a predicate. Indexes of partitioned tables
// (relkind 'I') and of partitions never count as Rewritten, because addPartitioned recreates
// them in any case. The joins find the constraint of the index, which is a primary key, UNIQUE
// or EXCLUDE (contype 'p', 'u', 'x'). pg_get_constraintdef leaves out the storage
// parameters of the first two kinds, so the query inserts them into the definition, before
// DEFERRABLE. A dependency of type 'x' is DEPENDS ON EXTENSION. The foreign keys exclude
// those that come from a foreign key of a partitioned table (conparentid <> 0), because
// PostgreSQL adds these by itself.
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

// indexesSQL continues builtAgainSQL, and returns the indexes that are built again when
// columns are widened. The indexes of constraints are found by the constraint, because the
// constraint depends on the columns and its index does not.
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

// keep returns the statements that restore the properties of the index and its constraint
// which PostgreSQL loses when it builds the index again.
func (i *index) keep() []string {
	var texts []string
	addf := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if i.Tablespace != "" {
		addf("ALTER INDEX %s SET TABLESPACE %s", i.Target(), pgsql.Quote(i.Tablespace))
	}
	for _, t := range i.Targets {
		addf("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", i.Target(), t.Column, t.Target)
	}
	for _, extension := range i.Extensions {
		addf("ALTER INDEX %s DEPENDS ON EXTENSION %s", i.Target(), pgsql.Quote(extension))
	}
	texts = append(texts, pgsql.Comment("INDEX "+i.Target(), i.Comment)...)
	texts = append(texts, pgsql.Comment("CONSTRAINT "+pgsql.Quote(i.Constraint)+" ON "+i.table(), i.ConstraintComment)...)
	if i.Clustered {
		addf("ALTER TABLE %s CLUSTER ON %s", i.table(), pgsql.Quote(i.Name))
	}
	if i.Identity {
		addf("ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s", i.table(), pgsql.Quote(i.Name))
	}
	return texts
}

// statements implements object. It returns the statements that drop the index and create
// it again. The index of a constraint is dropped and created with the constraint. For a
// partitioned table or a partition (Tree), ONLY leaves out the partitions below, because
// each of them gets its index by a statement of its own.
func (i *index) statements() (drop, create string) {
	if i.Constraint != "" {
		return dropAndAddConstraint(pgsql.If(i.Tree, "ONLY "), i.table(), pgsql.Quote(i.Constraint), i.Definition)
	}
	return "DROP INDEX " + i.Target(), i.Definition
}
