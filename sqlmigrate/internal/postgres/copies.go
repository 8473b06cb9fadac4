package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A copied table has the columns of one, and parts of its definition.
type copied struct {
	Number  int // of the table that was asked for
	OID     int64
	Root    bool // it is that table, and not below it
	Display string
	Schema  string
	Name    string
	Columns []copiedColumn // but for generated ones
	Parts   []part

	keys []plan.Column `row:"-"` // those of Columns that hold keys
	max  types.ID      `row:"-"` // the largest in use

	passed bool `row:"-"` // its screen
}

type copiedColumn struct {
	Name, Type string
	Base       string // the type of a domain
	Required   bool
}

// A part of a definition that evaluates keys.
type part struct {
	Object, SQL string
	Screen      string // a condition that is true, without an error, only if the part accepts a row; "": not known
	Generates   bool   // a column, which the other parts may use
	Early       bool   // it comes before the rows
	Confined    bool   // it must not write anything but the copy
}

// copiesSQL asks for tables, with what is below them, and for the parts in which their
// keys are, directly or by a generated column. What a partition or child has from its
// parent is not asked for again.
const copiesSQL = `
WITH RECURSIVE asked AS (
  SELECT * FROM ROWS FROM (json_to_recordset($1::text::json) AS (name text, keys text[])) WITH ORDINALITY AS t (name, keys, number)
), member (number, keys, root, oid) AS (
  SELECT number, keys, to_regclass(name)::oid, to_regclass(name)::oid FROM asked
  UNION
  SELECT m.number, m.keys, m.root, i.inhrelid FROM member m JOIN pg_catalog.pg_inherits i ON i.inhparent = m.oid
), tree (root, oid, parent, depth) AS (
  SELECT partrelid, partrelid, 0::oid, 0 FROM pg_catalog.pg_partitioned_table WHERE partrelid IN (SELECT oid FROM member)
  UNION ALL
  SELECT t.root, i.inhrelid, t.oid, t.depth + 1 FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
), copy AS (
  SELECT m.number - 1 AS number, m.root, c.oid, c.relname, n.nspname, format('pg_temp.%I', c.relname) AS target,
         (SELECT array_agg(a.attnum) FROM pg_catalog.pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (m.keys) OR a.attgenerated <> '')) AS touched
  FROM member m LEFT JOIN pg_catalog.pg_class c ON c.oid = m.oid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
)
SELECT number, coalesce(oid, 0)::bigint, coalesce(oid = root, false), coalesce(CASE WHEN nspname = current_schema() THEN relname ELSE nspname || '.' || relname END, ''),
       coalesce(nspname, ''), coalesce(relname, ''),
       (SELECT json_agg(json_build_object('Name', a.attname, 'Type', format_type(a.atttypid, a.atttypmod), 'Required', a.attnotnull,
               'Base', CASE y.typtype WHEN 'd' THEN format_type(y.typbasetype, y.typtypmod) END) ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
        WHERE a.attrelid = copy.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')::text,
       part.list::text
FROM copy
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_object('Object', object, 'SQL', text, 'Screen', screen, 'Generates', generates, 'Early', early) ORDER BY generates DESC, early DESC, object) AS list FROM (
    SELECT pg_describe_object('pg_catalog.pg_class'::regclass, copy.oid, a.attnum) AS object, true AS generates, true AS early,
           format('ALTER TABLE %s ADD COLUMN %I %s GENERATED ALWAYS AS (%s) %s', target, a.attname, format_type(a.atttypid, a.atttypmod),
                  pg_get_expr(ad.adbin, ad.adrelid), CASE a.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END) AS text, NULL AS screen
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum
    WHERE a.attrelid = copy.oid AND a.attgenerated <> '' AND NOT a.attisdropped
    UNION ALL
    SELECT pg_describe_object('pg_catalog.pg_constraint'::regclass, c.oid, 0), false, c.contype = 'c',
           format('ALTER TABLE %s ADD CONSTRAINT %I %s', target, c.conname, regexp_replace(pg_get_constraintdef(c.oid), ' NOT VALID$', '')),
           '(' || pg_get_expr(c.conbin, c.conrelid) || ') IS NOT FALSE'
    FROM pg_catalog.pg_constraint c
    WHERE c.conrelid = copy.oid AND c.contype IN ('c', 'x') AND c.coninhcount = 0
      AND (c.conkey IS NULL OR c.conkey && (touched || 0::int2)
           OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_constraint'::regclass AND d.objid = c.oid
                      AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = copy.oid AND d.refobjsubid = ANY (touched)))
    UNION ALL
    SELECT pg_describe_object('pg_catalog.pg_class'::regclass, i.indexrelid, 0), false, false,
           'CREATE INDEX ON ' || target || substring(d.text FROM position(' USING ' IN d.text)),
           CASE WHEN NOT special THEN (
             SELECT string_agg('((' || e.text || ') IS NULL) IS NOT NULL', ' AND ') FROM (
               SELECT pg_get_indexdef(i.indexrelid, k.n::integer, false) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (att, n) WHERE k.att = 0
               UNION ALL SELECT pg_get_expr(i.indpred, i.indrelid) WHERE i.indpred IS NOT NULL) AS e (text)) END
    FROM pg_catalog.pg_index i CROSS JOIN LATERAL pg_get_indexdef(i.indexrelid) AS d (text)
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_catalog.pg_opclass o WHERE o.oid = ANY (i.indclass::oid[]) AND NOT o.opcdefault)) AS o (special)
    WHERE i.indrelid = copy.oid AND NOT i.indisexclusion AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR special)
      AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
                  AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = copy.oid AND d.refobjsubid = ANY (touched))
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)
    UNION ALL
    SELECT pg_describe_object('pg_catalog.pg_statistic_ext'::regclass, s.oid, 0), false, false,
           'CREATE STATISTICS pg_temp."snowflake trial"' || regexp_replace(substring(d.text FROM ' (?:\([a-z, ]+\) )?ON .*'), ' FROM [^)]*$', ' FROM ') || target || '; ANALYZE ' || target, NULL
    FROM pg_catalog.pg_statistic_ext s CROSS JOIN LATERAL pg_get_statisticsobjdef(s.oid) AS d (text)
    WHERE s.stxrelid = copy.oid AND to_jsonb(s) ->> 'stxexprs' IS NOT NULL
      AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_statistic_ext'::regclass AND d.objid = s.oid
                  AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = copy.oid AND d.refobjsubid = ANY (touched))
    UNION ALL
    SELECT 'partitions of ' || pg_describe_object('pg_catalog.pg_class'::regclass, copy.oid, 0), false, false,
           (SELECT string_agg(format('CREATE TEMP TABLE %I ', 'copy of ' || c.relname)
                              || CASE depth WHEN 0 THEN format('(LIKE %s)', target) ELSE format('PARTITION OF %I %s', 'copy of ' || above.relname, pg_get_expr(c.relpartbound, c.oid)) END
                              || coalesce(' PARTITION BY ' || pg_get_partkeydef(c.oid), ''), '; ' ORDER BY depth, c.oid)
            FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid LEFT JOIN pg_catalog.pg_class above ON above.oid = tree.parent WHERE tree.root = copy.oid)
           || format('; INSERT INTO %I SELECT * FROM %s', 'copy of ' || relname, target), NULL
    FROM pg_catalog.pg_partitioned_table p
    WHERE p.partrelid = copy.oid AND p.partattrs::int2[] && (touched || 0::int2)
  ) AS p
) AS part
ORDER BY number, oid <> root, oid`

// readCopies returns a copy of each table, and of those below it.
func (r *trial) readCopies() []*copied {
	var tables []map[string]any
	for _, t := range r.Tables {
		tables = append(tables, map[string]any{"name": pgsql.Qualified(t.Schema, t.Name), "keys": columnNames(t.Columns)})
	}
	var found []*copied
	for _, c := range read[copied](r, copiesSQL, asJSON(tables)) {
		t := r.Tables[c.Number]
		if c.Display == "" {
			r.NotTried(t.Name, errors.New("it is not in the search path of this connection"))
			continue
		}
		c.max = t.MaxKey
		c.keys = keepIf(t.Columns, func(k plan.Column) bool { return c.column(k.Name) != nil })
		found = append(found, &c)
	}
	return found
}

func columnNames(columns []plan.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

func (c *copied) target() string { return "pg_temp." + pgsql.Quote(c.Name) }

// column is nil for one that is generated.
func (c *copied) column(name string) *copiedColumn {
	for i := range c.Columns {
		if c.Columns[i].Name == name {
			return &c.Columns[i]
		}
	}
	return nil
}

// create makes a table of the columns, all of which may be NULL.
func (c *copied) create(moved bool) string {
	columns := pgsql.Join(c.Columns, ", ", func(column copiedColumn) string { return c.sql(column, moved) })
	return fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM (SELECT (NULL::%s).*) AS r WITH NO DATA", c.target(), columns, pgsql.Qualified(c.Schema, c.Name))
}

func (c *copied) sql(column copiedColumn, moved bool) string {
	name, base := pgsql.Quote(column.Name), column.Base
	if k := c.key(column.Name); k != nil {
		base = pgsql.If(moved, k.To)
	}
	if base == "" {
		return "r." + name
	}
	return fmt.Sprintf("r.%s::%s AS %[1]s", name, base)
}

// key is nil for a column that holds none.
func (c *copied) key(name string) *plan.Column {
	for i := range c.keys {
		if c.keys[i].Name == name {
			return &c.keys[i]
		}
	}
	return nil
}

// typeOf is a key's, by the plan or as it is.
func (c *copied) typeOf(key plan.Column, moved bool) string {
	return cmp.Or(pgsql.If(moved, key.To), c.column(key.Name).Type)
}

// screen is a condition that is true only if the table accepts rows with both keys. It is
// read from rows that no table has.
func (c *copied) screen(t engine.Trial) string {
	if slices.ContainsFunc(c.Parts, func(p part) bool { return p.Screen == "" }) {
		return "false"
	}
	for _, k := range c.keys {
		if c.typeOf(k, t.Moved) != "bigint" {
			return "false"
		}
	}
	if len(c.Parts) == 0 {
		return "true"
	}
	conditions := pgsql.Join(c.Parts, " AND ", func(p part) string { return p.Screen })
	return fmt.Sprintf("(SELECT bool_and(%s) FROM (%s) AS %s)", conditions, c.rows(t.Moved, t.Today, t.Last), pgsql.Quote(c.Name))
}

// rows is a query for rows that have a key in each column that holds one.
func (c *copied) rows(moved bool, keys ...types.ID) string {
	columns := pgsql.Join(c.Columns, ", ", func(column copiedColumn) string {
		k := c.key(column.Name)
		if k == nil {
			return c.sql(column, moved)
		}
		value, typ := "k.key", c.typeOf(*k, moved)
		if strings.HasSuffix(typ, "[]") {
			value = "ARRAY[k.key]"
		}
		return value + "::" + typ + " AS " + pgsql.Quote(column.Name)
	})
	list := pgsql.Join(keys, ",", types.ID.String)
	return fmt.Sprintf("SELECT %s FROM (SELECT (NULL::%s).*) AS r CROSS JOIN unnest('{%s}'::bigint[]) AS k (key)", columns, pgsql.Qualified(c.Schema, c.Name), list)
}

// fill creates the table with parts and rows, and reads these.
func (c *copied) fill(moved bool, rows []row, parts []part) []string {
	texts := []string{c.create(moved)}
	late := 0
	for late < len(parts) && parts[late].Early {
		texts = append(texts, parts[late].SQL)
		if parts[late].Confined {
			texts = append(texts, readOnly)
		}
		late++
	}
	for _, row := range rows {
		texts = append(texts, c.insert(row))
	}
	for _, p := range parts[late:] {
		texts = append(texts, p.SQL)
	}
	return append(texts, "SELECT count(r::text) FROM "+c.target()+" AS r")
}

// readOnly is until what was done is rolled back. Temporary tables can be written.
const readOnly = "SET LOCAL transaction_read_only = on"

func (c *copied) insert(row row) string {
	if len(row) == 0 {
		return "INSERT INTO " + c.target() + " DEFAULT VALUES"
	}
	var columns, values []string
	for _, k := range c.keys {
		key, given := row[k.Name]
		if !given {
			continue
		}
		value := key.String()
		if strings.HasSuffix(k.Type, "[]") {
			value = "{" + value + "}"
		}
		columns, values = append(columns, pgsql.Quote(k.Name)), append(values, pgsql.Literal(value))
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", c.target(), strings.Join(columns, ", "), strings.Join(values, ", "))
}

// tried reports whether the table is tried: one below another is if it has parts.
func (c *copied) tried() bool { return c.Root || len(c.Parts) > 0 }

// with returns a part and those that it may use, or none for a part that is none.
func (c *copied) with(p part) []part {
	switch {
	case p.Object == "":
		return nil
	case p.Generates:
		return []part{p}
	}
	return append(keepIf(c.Parts, func(p part) bool { return p.Generates }), p)
}

// small are keys that the table may have accepted.
func (c *copied) small(small types.ID) []types.ID {
	if c.max > small {
		return []types.ID{small, c.max}
	}
	return []types.ID{small}
}

// others are rows in which a column is tried: with keys in all the others, which are
// below it or above, in those that need one, and in another one.
func (c *copied) others(column string, small, large types.ID) []row {
	needed := keepIf(c.keys, func(k plan.Column) bool { return c.column(k.Name).Required })
	found := []row{rowOf(c.keys, small), rowOf(needed, small), rowOf(needed, large)}
	for _, k := range c.keys {
		if k.Name != column && !c.column(k.Name).Required {
			found = append(found, rowOf(append(slices.Clip(needed), k), small))
		}
	}
	return found
}
