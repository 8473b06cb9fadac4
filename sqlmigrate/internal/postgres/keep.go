package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// readKept returns the statements that follow each change of a table's columns.
// PostgreSQL builds indexes, constraints and statistics again, and forgets what
// is not in their definitions: that is stated again, after the change and after
// it was taken back. What it has not forgotten may be stated twice.
func readKept(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) map[*table][]string {
	indexes := readBuiltAgain[index](ctx, q, g, indexesSQL)
	constraints := readBuiltAgain[keptConstraint](ctx, q, g, constraintsSQL)
	statistics := readBuiltAgain[keptStatistics](ctx, q, g, statisticsSQL)
	kept := map[*table][]string{}
	for _, t := range g.tables {
		kept[t] = slices.Concat(keepIndexes(indexes[t]), keepConstraints(constraints[t]))
		for _, s := range statistics[t] {
			kept[t] = append(kept[t], s.keep()...)
		}
	}
	return kept
}

// readBuiltAgain reads objects by the tables with which they are built again,
// each once for a table. A row begins with a column and the OID of the object.
func readBuiltAgain[T any](ctx context.Context, q pgcatalog.QualifiedReader, g *graph, query string) map[*table][]*T {
	type pair struct {
		table *table
		oid   int64
	}
	seen := map[pair]bool{}
	found := map[*table][]*T{}
	for _, x := range pgcatalog.Read[struct {
		Node   pgcatalog.Node
		OID    int64
		Object T
	}](ctx, q.Reader, builtAgainSQL+query, g.narrowNodes()) {
		if of := (pair{g.columns[x.Node].root.table, x.OID}); !seen[of] {
			seen[of] = true
			found[of.table] = append(found[of.table], &x.Object)
		}
	}
	return found
}

// An index is one that is built again.
type index struct {
	OID int64
	pgcatalog.Named
	Table             string
	Parent            int64 // of a partition's index
	Placed            bool  // the tablespace is not the database's own
	Tablespace        string
	Comment           *string
	Constraint        string
	ConstraintComment *string
	Clustered         bool
	Identity          bool
	Options           []string // name=value
	Targets           []target
	Extensions        []string

	above *index `row:"-"` // nil: not a partition's
}

// A target is how much is gathered of an expression.
type target struct{ Column, Target int64 }

// commented reports whether the indexes of partitions get a comment from this
// one.
func (i *index) commented() bool { return i != nil && (i.Comment != nil || i.above.commented()) }

// top is the index from whose definition PostgreSQL makes this one.
func (i *index) top() *index {
	for i.above != nil {
		i = i.above
	}
	return i
}

func (i *index) table() string { return pgsql.Qualified(i.Schema, i.Table) }

// indexColumns is what PostgreSQL forgets of an index: pg_index i, pg_class c of the
// index and r of its table, pg_namespace n, its constraint x, its parent h.
const indexColumns = `c.oid::bigint, n.nspname, c.relname, r.relname, coalesce(h.inhparent, 0)::bigint, c.reltablespace <> 0,
       (SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = coalesce(nullif(c.reltablespace, 0),
         (SELECT dattablespace FROM pg_catalog.pg_database WHERE datname = current_database()))),
       obj_description(c.oid, 'pg_class'), coalesce(x.conname, ''), obj_description(x.oid, 'pg_constraint'),
       i.indisclustered, i.indisreplident, to_json(c.reloptions)::text,
       (SELECT json_agg(json_build_object('Column', a.attnum, 'Target', a.attstattarget) ORDER BY a.attnum)::text
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attstattarget >= 0),
       (SELECT json_agg(e.extname ORDER BY e.extname)::text
        FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'x'
          AND d.refclassid = 'pg_catalog.pg_extension'::regclass)`

// indexesSQL asks for the indexes that are built again, also those that belong to
// constraints. The index of a parent comes before its partitions' indexes.
const indexesSQL = `, index AS (
  SELECT made.rel, made.att, i.indexrelid AS oid
  FROM made JOIN pg_catalog.pg_index i ON made.classid = 'pg_catalog.pg_class'::regclass AND i.indexrelid = made.objid
  UNION
  SELECT made.rel, made.att, x.conindid
  FROM made JOIN pg_catalog.pg_constraint x ON made.classid = 'pg_catalog.pg_constraint'::regclass AND x.oid = made.objid
  WHERE x.contype IN ('p', 'u', 'x')
)
SELECT index.rel::bigint, index.att, index.oid::bigint, ` + indexColumns + `
FROM index
JOIN pg_catalog.pg_index i ON i.indexrelid = index.oid
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid AND x.contype IN ('p', 'u', 'x')
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
ORDER BY greatest(1, (SELECT count(*) FROM pg_partition_ancestors(c.oid))), n.nspname, c.relname`

func keepIndexes(indexes []*index) []string {
	byOID := map[int64]*index{}
	for _, i := range indexes {
		byOID[i.OID] = i
		i.above = byOID[i.Parent]
	}
	texts := renameIndexes(indexes)
	for _, i := range indexes {
		texts = append(texts, i.keep()...)
	}
	return texts
}

// A renaming gives names back that were lost. All of them are passing before
// one is final: PostgreSQL may have chosen that for another object.
type renaming struct{ passing, final strings.Builder }

func (r *renaming) texts() []string {
	if r.passing.Len() == 0 {
		return nil
	}
	return []string{pgsql.Do("", r.passing.String()+r.final.String())}
}

// passing is a name that nobody else has. Its length does not depend on the number, so
// that neither does the statement's layout.
func passing(oid int64) string { return fmt.Sprintf("sqlmigrate_%010d", oid) }

// renameIndexes gives partitions' indexes their names back: those that a parent's
// index brings with it have names that PostgreSQL chose. It finds them by that
// parent and their table, parents first.
func renameIndexes(indexes []*index) []string {
	var r renaming
	for _, i := range indexes {
		if i.above == nil {
			continue
		}
		parent := i.above.Target()
		if i.above.above != nil {
			parent = pgsql.Qualified(i.above.Schema, passing(i.above.OID))
		}
		fmt.Fprintf(&r.passing, "  EXECUTE (SELECT pg_catalog.format('ALTER INDEX %%s RENAME TO %s', h.inhrelid::regclass)\n"+
			"    FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_index i ON i.indexrelid = h.inhrelid\n"+
			"    WHERE h.inhparent = %s::regclass AND i.indrelid = %s::regclass);\n",
			passing(i.OID), pgsql.Literal(parent), pgsql.Literal(i.table()))
		fmt.Fprintf(&r.final, "  ALTER INDEX %s RENAME TO %s;\n", pgsql.Qualified(i.Schema, passing(i.OID)), pgsql.Quote(i.Name))
	}
	return r.texts()
}

func (i *index) keep() []string {
	var texts []string
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if i.above != nil {
		texts = append(texts, i.keepOptions()...)
	}
	if i.Placed || i.top().Placed {
		say("ALTER INDEX %s SET TABLESPACE %s", i.Target(), pgsql.Quote(i.Tablespace))
	}
	for _, t := range i.Targets {
		say("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", i.Target(), t.Column, t.Target)
	}
	for _, extension := range i.Extensions {
		say("ALTER INDEX %s DEPENDS ON EXTENSION %s", i.Target(), pgsql.Quote(extension))
	}
	texts = append(texts, pgsql.Comment("INDEX "+i.Target(), i.Comment)...)
	if i.Comment == nil && i.above.commented() {
		say("COMMENT ON INDEX %s IS NULL", i.Target())
	}
	texts = append(texts, pgsql.Comment("CONSTRAINT "+pgsql.Quote(i.Constraint)+" ON "+i.table(), i.ConstraintComment)...)
	if i.Clustered {
		say("ALTER TABLE %s CLUSTER ON %s", i.table(), pgsql.Quote(i.Name))
	}
	if i.Identity {
		say("ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s", i.table(), pgsql.Quote(i.Name))
	}
	return texts
}

// keepOptions is for a partition's index, which has the topmost's options.
func (i *index) keepOptions() []string {
	if slices.Equal(i.Options, i.top().Options) {
		return nil
	}
	var texts []string
	names := pgsql.Join(i.top().Options, ", ", func(option string) string {
		name, _, _ := strings.Cut(option, "=")
		return pgsql.Quote(name)
	})
	values := pgsql.Join(i.Options, ", ", func(option string) string {
		name, value, _ := strings.Cut(option, "=")
		return pgsql.Quote(name) + " = " + pgsql.Literal(value)
	})
	if names != "" {
		texts = append(texts, "ALTER INDEX "+i.Target()+" RESET ("+names+")")
	}
	if values != "" {
		texts = append(texts, "ALTER INDEX "+i.Target()+" SET ("+values+")")
	}
	return texts
}

// constraintsSQL asks for the comments on a CHECK, since one that comes from a
// parent loses its own, and for the foreign keys that come from one on
// partitioned tables, which lose their names too. Parents are first: one of the tables
// of each is a partition of theirs.
const constraintsSQL = `
SELECT made.rel::bigint, made.att, c.oid::bigint, c.oid::bigint, n.nspname, r.relname, c.conname, obj_description(c.oid, 'pg_constraint'), coalesce(quote_ident(fn.nspname) || '.' || quote_ident(f.relname), ''),
       coalesce(pn.nspname, ''), coalesce(pr.relname, ''), coalesce(pc.conname, ''), coalesce(pc.oid, 0)::bigint, coalesce(pc.conparentid, 0)::bigint
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_catalog.pg_class f ON f.oid = c.confrelid
LEFT JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
LEFT JOIN pg_catalog.pg_constraint pc ON pc.oid = c.conparentid
LEFT JOIN pg_catalog.pg_class pr ON pr.oid = pc.conrelid
LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pr.relnamespace
WHERE c.contype = 'c' AND obj_description(c.oid, 'pg_constraint') IS NOT NULL OR c.contype = 'f' AND c.conparentid <> 0
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.conrelid)) + (SELECT count(*) FROM pg_partition_ancestors(c.confrelid)), n.nspname, r.relname, c.conname`

// A keptConstraint is one whose comment, or whose name, has to be stated again.
type keptConstraint struct {
	OID                               int64
	Schema, Table, Name               string
	Comment                           *string
	Refers                            string // of a foreign key
	ParentSchema, ParentTable, Parent string
	ParentOID, Above                  int64
}

func keepConstraints(constraints []*keptConstraint) []string {
	var r renaming
	var comments []string
	for _, c := range constraints {
		comments = append(comments, pgsql.Comment("CONSTRAINT "+pgsql.Quote(c.Name)+" ON "+pgsql.Qualified(c.Schema, c.Table), c.Comment)...)
		if c.ParentOID != 0 {
			c.rename(&r)
		}
	}
	return append(r.texts(), comments...)
}

func (c *keptConstraint) rename(r *renaming) {
	parent, target := c.Parent, pgsql.Qualified(c.Schema, c.Table)
	if c.Above != 0 {
		parent = passing(c.ParentOID)
	}
	fmt.Fprintf(&r.passing, "  EXECUTE (SELECT pg_catalog.format('ALTER TABLE %%s RENAME CONSTRAINT %%I TO %s', c.conrelid::regclass, c.conname)\n"+
		"    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid\n"+
		"    WHERE p.conrelid = %s::regclass AND p.conname = %s AND c.conrelid = %s::regclass AND c.confrelid = %s::regclass);\n",
		passing(c.OID), pgsql.Literal(pgsql.Qualified(c.ParentSchema, c.ParentTable)), pgsql.Literal(parent), pgsql.Literal(target), pgsql.Literal(c.Refers))
	fmt.Fprintf(&r.final, "  ALTER TABLE %s RENAME CONSTRAINT %s TO %s;\n", target, passing(c.OID), pgsql.Quote(c.Name))
}

// statisticsSQL asks for the targets, owners and comments of extended statistics.
// It reads the targets as JSON: PostgreSQL 12 has none, and 17 has NULL where
// those before have -1.
const statisticsSQL = `
SELECT made.rel::bigint, made.att, s.oid::bigint, n.nspname, s.stxname, pg_get_userbyid(s.stxowner), s.stxowner = r.relowner, rn.nspname, r.relname,
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext')
FROM made
JOIN pg_catalog.pg_statistic_ext s ON s.oid = made.objid
JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
JOIN pg_catalog.pg_class r ON r.oid = s.stxrelid
JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
WHERE made.classid = 'pg_catalog.pg_statistic_ext'::regclass
ORDER BY n.nspname, s.stxname`

// keptStatistics are statistics of a table.
type keptStatistics struct {
	Schema, Name, Owner string
	Same                bool // the owner is the table's
	TableSchema, Table  string
	Target              int
	Comment             *string
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
