package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PostgreSQL builds indexes, constraints and statistics again when the type of
// one of their columns changes, and forgets what is not in their definitions.
// keep plans to state that again, after the change and after it was taken back.
// What it has not forgotten may be stated twice.
func (p *inspection) keep(ctx context.Context) error {
	for _, read := range []func(context.Context, *table, []*column) error{p.keepIndexes, p.keepConstraints, p.keepStatistics} {
		for _, t := range p.tables {
			var columns []*column
			for _, c := range t.narrow() {
				columns = append(columns, c.members...)
			}
			if len(columns) == 0 {
				continue
			}
			if err := read(ctx, t, columns); err != nil {
				return err
			}
		}
	}
	return nil
}

// An index is one that is built again.
type index struct {
	OID                 int64
	Schema, Name, Table string
	Parent              int64 // of a partition's index
	Tablespace          string
	Placed              bool // the tablespace is not the database's own
	Comment             *string
	Constraint          string
	ConstraintComment   *string
	Clustered, Identity bool
	Options             []string // name=value
	Targets             []target
	Extensions          []string

	above *index // nil: not a partition's
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

func (i *index) target() string { return qualified(i.Schema, i.Name) }
func (i *index) table() string  { return qualified(i.Schema, i.Table) }

// usersSQL are the indexes, constraints and statistics that are built again.
const usersSQL = `
WITH RECURSIVE made AS (
  SELECT DISTINCT d.classid, d.objid
  FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
)`

// indexesSQL has the index of a parent before its partitions' indexes.
const indexesSQL = usersSQL + `, index AS (
  SELECT i.*
  FROM pg_catalog.pg_index i
  LEFT JOIN pg_catalog.pg_constraint x ON x.conindid = i.indexrelid AND x.contype IN ('p', 'u', 'x')
  WHERE EXISTS (SELECT FROM made WHERE (classid, objid) IN (('pg_catalog.pg_class'::regclass, i.indexrelid), ('pg_catalog.pg_constraint'::regclass, x.oid)))
), depth (oid, depth) AS (
  SELECT indexrelid, 0 FROM index WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = indexrelid)
  UNION ALL
  SELECT h.inhrelid, depth + 1 FROM depth JOIN pg_catalog.pg_inherits h ON h.inhparent = depth.oid
)
SELECT jsonb_build_object('OID', c.oid::bigint, 'Schema', n.nspname, 'Name', c.relname, 'Table', r.relname,
  'Parent', coalesce(h.inhparent, 0)::bigint,
  'Placed', c.reltablespace <> 0,
  'Tablespace', (SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = coalesce(nullif(c.reltablespace, 0),
    (SELECT dattablespace FROM pg_catalog.pg_database WHERE datname = current_database()))),
  'Comment', obj_description(c.oid, 'pg_class'), 'Constraint', coalesce(x.conname, ''), 'ConstraintComment', obj_description(x.oid, 'pg_constraint'),
  'Clustered', i.indisclustered, 'Identity', i.indisreplident,
  'Options', c.reloptions,
  'Targets', (SELECT jsonb_agg(jsonb_build_object('Column', a.attnum, 'Target', a.attstattarget) ORDER BY a.attnum)
              FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attstattarget >= 0),
  'Extensions', (SELECT jsonb_agg(e.extname ORDER BY e.extname)
                 FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
                 WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'x'
                   AND d.refclassid = 'pg_catalog.pg_extension'::regclass))::text
FROM index i
JOIN depth ON depth.oid = i.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conindid = i.indexrelid AND x.contype IN ('p', 'u', 'x')
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
ORDER BY depth.depth, n.nspname, c.relname`

func (p *inspection) keepIndexes(ctx context.Context, t *table, columns []*column) error {
	var indexes []*index
	found := map[int64]*index{}
	err := p.users(ctx, indexesSQL, columns, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		i := &index{}
		if err := json.Unmarshal([]byte(text), i); err != nil {
			return err
		}
		i.above, found[i.OID] = found[i.Parent], i
		indexes = append(indexes, i)
		return nil
	})
	if err != nil {
		return err
	}
	t.kept = append(t.kept, rename(indexes)...)
	for _, i := range indexes {
		t.kept = append(t.kept, i.keep()...)
	}
	return nil
}

func (p *inspection) users(ctx context.Context, query string, columns []*column, f func(*sql.Rows) error) error {
	tables, numbers := nodes(columns)
	return each(ctx, p.tx, query, []any{tables, numbers}, f)
}

// A renaming gives names back that were lost. All of them are passing before
// one is final: PostgreSQL may have chosen that for another object.
type renaming struct{ passing, final strings.Builder }

func (r *renaming) texts() []string {
	if r.passing.Len() == 0 {
		return nil
	}
	return []string{doBlock(r.passing.String() + r.final.String())}
}

// passing is a name that nobody else has.
func passing(oid int64) string { return "sqlmigrate_" + strconv.FormatInt(oid, 10) }

// rename gives partitions' indexes their names back: those that a parent's
// index brings with it have names that PostgreSQL chose. It finds them by that
// parent and their table, parents first.
func rename(indexes []*index) []string {
	var r renaming
	for _, i := range indexes {
		if i.above == nil {
			continue
		}
		parent := i.above.target()
		if i.above.above != nil {
			parent = qualified(i.above.Schema, passing(i.above.OID))
		}
		fmt.Fprintf(&r.passing, "  EXECUTE (SELECT pg_catalog.format('ALTER INDEX %%s RENAME TO %s', h.inhrelid::regclass)\n"+
			"    FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_index i ON i.indexrelid = h.inhrelid\n"+
			"    WHERE h.inhparent = %s::regclass AND i.indrelid = %s::regclass);\n",
			passing(i.OID), literal(parent), literal(i.table()))
		fmt.Fprintf(&r.final, "  ALTER INDEX %s RENAME TO %s;\n", qualified(i.Schema, passing(i.OID)), quote(i.Name))
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
		say("ALTER INDEX %s SET TABLESPACE %s", i.target(), quote(i.Tablespace))
	}
	for _, t := range i.Targets {
		say("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", i.target(), t.Column, t.Target)
	}
	for _, extension := range i.Extensions {
		say("ALTER INDEX %s DEPENDS ON EXTENSION %s", i.target(), quote(extension))
	}
	switch {
	case i.Comment != nil:
		say("COMMENT ON INDEX %s IS %s", i.target(), literal(*i.Comment))
	case i.above.commented():
		say("COMMENT ON INDEX %s IS NULL", i.target())
	}
	if i.ConstraintComment != nil {
		say("COMMENT ON CONSTRAINT %s ON %s IS %s", quote(i.Constraint), i.table(), literal(*i.ConstraintComment))
	}
	if i.Clustered {
		say("ALTER TABLE %s CLUSTER ON %s", i.table(), quote(i.Name))
	}
	if i.Identity {
		say("ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s", i.table(), quote(i.Name))
	}
	return texts
}

// keepOptions is for a partition's index, which has the topmost's options.
func (i *index) keepOptions() []string {
	if slices.Equal(i.Options, i.top().Options) {
		return nil
	}
	var texts, names, values []string
	for _, option := range i.top().Options {
		name, _, _ := strings.Cut(option, "=")
		names = append(names, quote(name))
	}
	for _, option := range i.Options {
		name, value, _ := strings.Cut(option, "=")
		values = append(values, quote(name)+" = "+literal(value))
	}
	if len(names) > 0 {
		texts = append(texts, "ALTER INDEX "+i.target()+" RESET ("+strings.Join(names, ", ")+")")
	}
	if len(values) > 0 {
		texts = append(texts, "ALTER INDEX "+i.target()+" SET ("+strings.Join(values, ", ")+")")
	}
	return texts
}

// constraintsSQL finds the comments on a CHECK, since one that comes from a
// parent loses its own, and the foreign keys that come from one on partitioned
// tables, which lose their names too. Parents are first.
const constraintsSQL = usersSQL + `, depth (oid, depth) AS (
  SELECT oid, 0 FROM pg_catalog.pg_constraint WHERE conparentid = 0
  UNION ALL
  SELECT c.oid, depth + 1 FROM depth JOIN pg_catalog.pg_constraint c ON c.conparentid = depth.oid
)
SELECT c.oid::bigint, n.nspname, r.relname, c.conname, obj_description(c.oid, 'pg_constraint'), coalesce(quote_ident(fn.nspname) || '.' || quote_ident(f.relname), ''),
       coalesce(pn.nspname, ''), coalesce(pr.relname, ''), coalesce(pc.conname, ''), coalesce(pc.oid, 0)::bigint, coalesce(pc.conparentid, 0)::bigint
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN depth ON depth.oid = c.oid
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_catalog.pg_class f ON f.oid = c.confrelid
LEFT JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
LEFT JOIN pg_catalog.pg_constraint pc ON pc.oid = c.conparentid
LEFT JOIN pg_catalog.pg_class pr ON pr.oid = pc.conrelid
LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pr.relnamespace
WHERE c.contype = 'c' AND obj_description(c.oid, 'pg_constraint') IS NOT NULL OR c.contype = 'f' AND c.conparentid <> 0
ORDER BY depth.depth, n.nspname, r.relname, c.conname`

func (p *inspection) keepConstraints(ctx context.Context, t *table, columns []*column) error {
	var r renaming
	var comments []string
	err := p.users(ctx, constraintsSQL, columns, func(rows *sql.Rows) error {
		var oid, parentOID, above int64
		var schema, table, name, refers, parentSchema, parentTable, parent string
		var comment sql.NullString
		if err := rows.Scan(&oid, &schema, &table, &name, &comment, &refers, &parentSchema, &parentTable, &parent, &parentOID, &above); err != nil {
			return err
		}
		target := qualified(schema, table)
		if comment.Valid {
			comments = append(comments, "COMMENT ON CONSTRAINT "+quote(name)+" ON "+target+" IS "+literal(comment.String))
		}
		if parentOID == 0 {
			return nil
		}
		if above != 0 {
			parent = passing(parentOID)
		}
		fmt.Fprintf(&r.passing, "  EXECUTE (SELECT pg_catalog.format('ALTER TABLE %%s RENAME CONSTRAINT %%I TO %s', c.conrelid::regclass, c.conname)\n"+
			"    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid\n"+
			"    WHERE p.conrelid = %s::regclass AND p.conname = %s AND c.conrelid = %s::regclass AND c.confrelid = %s::regclass);\n",
			passing(oid), literal(qualified(parentSchema, parentTable)), literal(parent), literal(target), literal(refers))
		fmt.Fprintf(&r.final, "  ALTER TABLE %s RENAME CONSTRAINT %s TO %s;\n", target, passing(oid), quote(name))
		return nil
	})
	t.kept = append(append(t.kept, r.texts()...), comments...)
	return err
}

// statisticsSQL reads their targets as JSON: PostgreSQL 12 has none, and 17
// has NULL where those before have -1.
const statisticsSQL = usersSQL + `
SELECT n.nspname, s.stxname, pg_get_userbyid(s.stxowner), s.stxowner = r.relowner, rn.nspname, r.relname,
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext')
FROM made
JOIN pg_catalog.pg_statistic_ext s ON s.oid = made.objid
JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
JOIN pg_catalog.pg_class r ON r.oid = s.stxrelid
JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
WHERE made.classid = 'pg_catalog.pg_statistic_ext'::regclass
ORDER BY 1, 2`

func (p *inspection) keepStatistics(ctx context.Context, t *table, columns []*column) error {
	return p.users(ctx, statisticsSQL, columns, func(rows *sql.Rows) error {
		var schema, name, owner, tableSchema, table string
		var same bool
		var target int
		var comment sql.NullString
		if err := rows.Scan(&schema, &name, &owner, &same, &tableSchema, &table, &target, &comment); err != nil {
			return err
		}
		statistics := qualified(schema, name)
		if target >= 0 {
			t.kept = append(t.kept, fmt.Sprintf("ALTER STATISTICS %s SET STATISTICS %d", statistics, target))
		}
		if comment.Valid {
			t.kept = append(t.kept, "COMMENT ON STATISTICS "+statistics+" IS "+literal(comment.String))
		}
		if same {
			t.kept = append(t.kept, doBlock(ownerOf("STATISTICS", statistics, qualified(tableSchema, table))))
		} else {
			t.kept = append(t.kept, "ALTER STATISTICS "+statistics+" OWNER TO "+quote(owner))
		}
		return nil
	})
}
