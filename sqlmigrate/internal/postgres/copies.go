package postgres

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A tableCopy is a table of which the trial may create a temporary copy, to find out
// whether the table accepts certain keys. It is a table of the plan, or a partition or
// child of such a table, because these may have constraints of their own.
type tableCopy struct {
	Number          int // index of the table in the trial
	OID             int64
	Root            bool // whether it is the table of the trial itself
	Display         plan.TableName
	Schema, Name    string
	Columns         []copyColumn // without generated columns
	Screen          string       // an SQL condition that is true only if the table accepts the row; it may also fail; if empty, the table accepts every row
	UnrelatedChecks []string     // CHECKs that do not use a key or a generated column
	Partitions      []string     // statements that create a second, partitioned copy; see insertRow

	trigger *trigger     `row:"-"` // the trigger to try; the copy then has only columns and this trigger
	written []*tableCopy `row:"-"` // other tables of the trial that the trigger may write; they are copied too
	table   plan.Table   `row:"-"` // the table with its keys
}

// A copyColumn is a column of a table to copy.
type copyColumn struct {
	Name, Type string
	Value      string // a value that most columns of this type accept, for example 1; empty if none is known
	Required   bool   // whether it is NOT NULL
	Primary    bool   // whether it belongs to the primary key
	Key        bool   // whether it holds keys of the trial, of its own table or of another
}

// copiesSQL returns the tables of the trial, and their partitions and children, in the
// order of the fields of tableCopy. $1 is a list of names and columns with keys as JSON.
//
// The relation asked numbers the list. The relation member adds the partitions and children
// of each table. The relation tree has, for each member that is partitioned, the partitions
// below it with their depth, from which Partitions is made. The relation copy has the
// properties of the members, and in touched the numbers of the keys and the generated
// columns, because a constraint or index on another column cannot reject a key. Number 0,
// which is added to touched in comparisons, stands for the whole row or an expression in
// conkey and partattrs.
//
// The conditions of Screen come from CHECKs (coninhcount = 0 excludes inherited ones) and
// from expressions of indexes. The condition of an expression of an index is always true;
// it only evaluates the expression, which may fail for a key. A condition is false, so that
// the trial needs a real copy, if the table has an exclusion constraint, an operator class
// that is not the default, a generated column, a key that is not an integer, statistics on
// expressions, or a partition key that uses a key.
//
// The Value of a column depends on the category of its type, which is a string, number or
// boolean ('S', 'N', 'B') or a date or time ('D'). Other types except uuid have no Value.
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
  SELECT m.number - 1 AS number, m.root, c.oid, c.relname, n.nspname, m.keys,
         (SELECT array_agg(a.attnum) FROM pg_catalog.pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (m.keys) OR a.attgenerated <> '')) AS touched
  FROM member m LEFT JOIN pg_catalog.pg_class c ON c.oid = m.oid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
)
SELECT number, coalesce(oid, 0)::bigint, coalesce(oid = root, true), CASE WHEN nspname <> current_schema() THEN nspname ELSE '' END, coalesce(relname, ''),
       coalesce(nspname, ''), coalesce(relname, ''),
       (SELECT json_agg(json_build_object('Name', a.attname, 'Type', format_type(a.atttypid, a.atttypmod), 'Required', a.attnotnull,
               'Value', CASE WHEN y.typcategory IN ('S', 'N', 'B') THEN '1' WHEN y.typcategory = 'D' THEN 'now' WHEN y.typname = 'uuid' THEN repeat('1', 32) END, 'Key', a.attname = ANY (keys),
               'Primary', EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey::int2[]))) ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
        WHERE a.attrelid = copy.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')::text,
       coalesce((SELECT string_agg(condition, ' AND ') FROM (
         SELECT '(' || pg_get_expr(c.conbin, c.conrelid) || ') IS NOT FALSE' FROM pg_catalog.pg_constraint c
         WHERE c.conrelid = copy.oid AND c.contype = 'c' AND c.coninhcount = 0 AND (c.conkey IS NULL OR c.conkey OPERATOR(pg_catalog.&&) (touched || 0::int2))
         UNION ALL
         SELECT CASE WHEN special OR i.indisexclusion THEN 'false' ELSE '((' || e.text || ') IS NULL) IS NOT NULL' END
         FROM pg_catalog.pg_index i
         CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_catalog.pg_opclass o WHERE o.oid = ANY (i.indclass::oid[]) AND NOT o.opcdefault)) AS o (special)
         CROSS JOIN LATERAL (
           SELECT pg_get_indexdef(i.indexrelid, k.n::integer, false) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (att, n) WHERE k.att = 0
           UNION ALL SELECT pg_get_expr(i.indpred, i.indrelid) WHERE i.indpred IS NOT NULL
           UNION ALL SELECT '' WHERE special OR i.indisexclusion) AS e (text)
         WHERE i.indrelid = copy.oid AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)
           AND (i.indisexclusion OR EXISTS (
             SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
             AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = copy.oid AND d.refobjsubid = ANY (touched)))
         UNION ALL
         SELECT 'false' WHERE copy.oid = root AND (
           EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid WHERE a.attrelid = copy.oid AND NOT a.attisdropped
                   AND (a.attgenerated <> '' OR a.attname = ANY (keys) AND y.typname NOT IN ('int2', 'int4', 'int8')))
           OR EXISTS (SELECT FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = copy.oid AND to_jsonb(s) ->> 'stxexprs' IS NOT NULL)
           OR EXISTS (SELECT FROM pg_catalog.pg_partitioned_table p WHERE p.partrelid = copy.oid AND p.partattrs::int2[] OPERATOR(pg_catalog.&&) (touched || 0::int2)))
       ) AS part (condition)), ''),
       (SELECT json_agg(c.conname) FROM pg_catalog.pg_constraint c WHERE c.conrelid = copy.oid AND c.contype = 'c' AND NOT c.conkey OPERATOR(pg_catalog.&&) (touched || 0::int2))::text,
       (SELECT json_agg(format('CREATE TEMP TABLE %I ', 'copy of ' || c.relname)
                || CASE depth WHEN 0 THEN format('(LIKE pg_temp.%I)', copy.relname) ELSE format('PARTITION OF %I %s', 'copy of ' || above.relname, pg_get_expr(c.relpartbound, c.oid)) END
                || coalesce(' PARTITION BY ' || pg_get_partkeydef(c.oid), '') ORDER BY depth, c.oid)
        FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid LEFT JOIN pg_catalog.pg_class above ON above.oid = tree.parent
        JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = tree.root AND p.partattrs::int2[] OPERATOR(pg_catalog.&&) (touched || 0::int2)
        WHERE tree.root = copy.oid)::text
FROM copy
ORDER BY number, oid <> root, oid`

// target returns the quoted name of the temporary copy, which has the name of the table.
func (c *tableCopy) target() string { return "pg_temp." + pgsql.Quote(c.Name) }

// source returns the quoted name of the table that is copied.
func (c *tableCopy) source() string { return pgsql.Qualified(c.Schema, c.Name) }

// typeOf returns the type of a column in the copy. That is the type of the column in the
// table or, if moved is true, the type that the plan gives to it.
func (c *tableCopy) typeOf(column copyColumn, moved bool) string {
	for _, k := range c.table.Columns {
		if moved && k.Name == column.Name {
			return cmp.Or(k.To, column.Type) // To is empty if the plan does not change the type
		}
	}
	return column.Type
}

// create returns the statements that create the copy, with the column types after the plan
// if moved is true. If the copy serves to try a trigger, it has only the columns and the
// trigger. The statements then also create copies of the other tables that the trigger
// writes, because the plan may widen these tables too. Without Partitions, the last
// statement makes the transaction read-only.
func (c *tableCopy) create(moved bool) []string {
	var statements []string
	for _, other := range c.written {
		statements = append(statements, other.createColumns(moved)...)
	}
	if c.trigger != nil {
		statements = append(append(statements, c.createColumns(moved)...), c.trigger.Copied)
	} else {
		statements = append(statements, c.createWhole(moved)...)
	}
	// Do not let a trigger, for example, write to a permanent table. For a table with
	// Partitions the transaction stays writable, because insertRow creates the partitions
	// later.
	if len(c.Partitions) == 0 {
		statements = append(statements, readOnly)
	}
	return statements
}

// createColumns returns the statements that create a copy which has the columns of the
// table, and neither its constraints nor its indexes. All columns may be NULL.
func (c *tableCopy) createColumns(moved bool) []string {
	return c.createLike("", moved, nil, func(column copyColumn) bool { return column.Required })
}

// createWhole returns the statements that create a copy with everything that may reject a
// key, such as CHECKs and indexes. The trial does not know which values the columns without
// keys accept. So all columns except the primary key may be NULL in the copy, and the copy
// does not have the CHECKs that cannot reject a key.
func (c *tableCopy) createWhole(moved bool) []string {
	const including = " INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING INDEXES INCLUDING STATISTICS"
	drops := make([]string, len(c.UnrelatedChecks))
	for i, name := range c.UnrelatedChecks {
		drops[i] = "DROP CONSTRAINT " + pgsql.Quote(name)
	}
	return c.createLike(including, moved, drops, func(column copyColumn) bool { return column.Required && !column.Primary })
}

// createLike returns a CREATE TABLE … LIKE for the copy, and an ALTER TABLE that changes
// the copy, if a change is needed. including has the INCLUDING clauses of LIKE, which say
// which parts of the table are copied. drops has commands of ALTER TABLE that drop parts
// again. The ALTER TABLE runs them, lets each column be NULL for which mayBeNull returns
// true, and gives the columns their types after the plan if moved is true.
func (c *tableCopy) createLike(including string, moved bool, drops []string, mayBeNull func(copyColumn) bool) []string {
	statements := []string{"CREATE TEMP TABLE " + pgsql.Quote(c.Name) + " (LIKE " + c.source() + including + ")"}
	changes := drops
	for _, column := range c.Columns {
		if mayBeNull(column) {
			changes = append(changes, "ALTER "+pgsql.Quote(column.Name)+" DROP NOT NULL")
		}
		if to := c.typeOf(column, moved); to != column.Type {
			changes = append(changes, "ALTER "+pgsql.Quote(column.Name)+" TYPE "+to)
		}
	}
	if len(changes) > 0 {
		statements = append(statements, "ALTER TABLE "+c.target()+" "+strings.Join(changes, ", "))
	}
	return statements
}

// readOnly makes the transaction read-only until the attempt is rolled back, so that a
// trigger, for example, cannot write to a permanent table. Temporary tables can still be
// written.
const readOnly = "SET LOCAL transaction_read_only = on"

// insertRow returns the statements that insert a row into the copy, and make the server
// evaluate all expressions that may fail for the keys of the row. ANALYZE evaluates the
// expressions of statistics. If the partition key of the table may depend on a key, the last
// statements create a second, partitioned copy, and insert the row there. This INSERT fails
// if no partition accepts the key.
func (c *tableCopy) insertRow(row engine.Row) []string {
	statements := []string{"INSERT INTO " + c.target() + " (" +
		pgsql.Join(c.Columns, ", ", func(column copyColumn) string { return pgsql.Quote(column.Name) }) + ") VALUES (" +
		pgsql.Join(c.Columns, ", ", func(column copyColumn) string { return c.value(column, row, column.Primary) }) + ")"}
	if c.trigger != nil { // the copy has only columns and the trigger
		return statements
	}
	statements = append(statements, "ANALYZE "+c.target())
	if len(c.Partitions) > 0 {
		statements = append(append(statements, c.Partitions...), "INSERT INTO "+pgsql.Quote("copy of "+c.Name)+" SELECT * FROM "+c.target())
	}
	return statements
}

// value returns the literal for a column of a row. If the row has a key for the column, the
// literal is the key. Otherwise it is the column's Value, such as 1, or NULL. The literal is
// the Value if needed is true, because the column cannot be NULL then. It is also the Value
// if the row's Fill is 0 and the column does not hold keys. An array has one element.
func (c *tableCopy) value(column copyColumn, row engine.Row, needed bool) string {
	value := pgsql.If(needed || row.Fill == 0 && !column.Key, column.Value)
	if key := row.Keys[column.Name]; key != 0 {
		value = key.String()
	}
	switch {
	case value == "":
		return "NULL"
	case strings.HasSuffix(column.Type, "[]"):
		value = "{" + value + "}"
	}
	return pgsql.Literal(value)
}

// screenQuery returns a query that returns one row if the condition c.Screen is true for the
// keys, so that the table accepts them, and otherwise no row. It tests the keys in each fill,
// which is a way to fill the columns that hold no key, with values or with NULL. If moved is
// true, the columns have their types after the plan.
func (c *tableCopy) screenQuery(moved bool, keys map[string]types.ID) string {
	return "SELECT FROM (" + c.constantRows(moved, keys) + ") AS " + pgsql.Quote(c.Name) + " HAVING bool_and(" + c.Screen + ")"
}

// constantRows returns a query that returns constant rows with the columns of the table,
// without reading a table. The column types are those after the plan if moved is true. Each
// element of keySets maps columns to keys. The query has a row for each element in each
// fill, which is a way to fill the columns that hold no key, with values or with NULL.
// Unlike in insertRow, a column of the primary key may be NULL.
func (c *tableCopy) constantRows(moved bool, keySets ...map[string]types.ID) string {
	var queries []string
	for _, keys := range keySets {
		for fill := range engine.Fills {
			queries = append(queries, "SELECT "+pgsql.Join(c.Columns, ", ", func(column copyColumn) string {
				return fmt.Sprintf("%s::%s AS %s", c.value(column, engine.Row{Fill: fill, Keys: keys}, false), c.typeOf(column, moved), pgsql.Quote(column.Name))
			}))
		}
	}
	return strings.Join(queries, "\nUNION ALL ")
}
