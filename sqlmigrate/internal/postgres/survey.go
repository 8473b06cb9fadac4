package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// inSurvey is an SQL condition that is true for the schemas whose columns are surveyed, in
// a query that names pg_namespace n. These are the schemas that the user names ($1) and the
// schemas on the search_path, because the latter belong to the application as far as the
// server knows.
const inSurvey = `(n.nspname = ANY (current_schemas(false)) OR n.nspname = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))))`

// displaySchema is an SQL expression for the schema of a name in a plan, which is empty
// for the current schema.
const displaySchema = `CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END`

// narrowSQL returns all columns that contain integers of 16 or 32 bits, and therefore
// cannot hold an ID. It reads tables, partitioned tables and foreign tables (relkind 'r',
// 'p', 'f'). attinhcount = 0 excludes a column that a partition or child has from its
// parent, because it changes together with the parent's column.
//
// The recursive part takes types apart, down to their integers. These types are domains
// (typtype 'd'), arrays (typcategory 'A') and composite types (typtype 'c'). path collects
// the attributes of composite types, for example ".address.city_id"; arrays counts the
// arrays; domain is the outermost domain, and composite the innermost composite type. The
// depth of 16 is more than a schema has, and ends the recursion in any case. COLLATE "C"
// gives the parts of the recursion the same collation.
const narrowSQL = `
WITH RECURSIVE part (rel, att, path, type, arrays, domain, composite, depth) AS (
  SELECT c.oid, a.attnum, ''::text COLLATE "C", a.atttypid, 0, ''::text, ''::text, 0
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE ` + inSurvey + ` AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount = 0
  UNION ALL
  SELECT p.rel, p.att, (p.path || m.path) COLLATE "C", m.type, p.arrays + m.arrays,
         coalesce(nullif(p.domain, ''), m.domain), CASE m.composite WHEN '' THEN p.composite ELSE m.composite END, p.depth + 1
  FROM part p JOIN pg_catalog.pg_type t ON t.oid = p.type
  CROSS JOIN LATERAL (
    SELECT ''::text COLLATE "C" AS path, t.typbasetype AS type, 0 AS arrays, format_type(t.oid, NULL) AS domain, '' AS composite WHERE t.typtype = 'd'
    UNION ALL
    SELECT ''::text COLLATE "C", t.typelem, 1, '', '' WHERE t.typcategory = 'A' AND t.typelem <> 0
    UNION ALL
    SELECT ('.' || a.attname)::text COLLATE "C", a.atttypid, 0, '', format_type(t.oid, NULL)
    FROM pg_catalog.pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
  ) AS m
  WHERE p.depth < 16
)
SELECT ` + displaySchema + `, c.relname, a.attname::text || p.path, format_type(a.atttypid, a.atttypmod),
       coalesce(col_description(c.oid, a.attnum), ''),
       a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false),
       EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.contype = 'p' AND k.conrelid = c.oid AND k.conkey = ARRAY[a.attnum]),
       c.relkind = 'f', p.arrays, p.domain, p.composite
FROM part p
JOIN pg_catalog.pg_class c ON c.oid = p.rel
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = p.rel AND a.attnum = p.att
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = p.rel AND d.adnum = p.att
WHERE p.type IN ('int2'::regtype, 'int4'::regtype, 'int4range'::regtype)
  AND a.attname NOT LIKE 'gormflake\_old\_%' -- of an online move that is not finished
ORDER BY 1, 2, a.attnum, 3`

const (
	// tablesSQL returns the tables to which a column may refer by its name.
	tablesSQL = `
SELECT ` + displaySchema + `, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE ` + inSurvey + ` AND c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition ORDER BY 1, 2`

	// typesSQL returns columns whose name ends with _type. They may name the table of the
	// keys in the column beside them, as owner_type does for owner_id in a polymorphic
	// association. The last three values are empty, because these columns do not refer to a
	// key.
	typesSQL = `
SELECT ` + displaySchema + `, c.relname, a.attname, '', '', '' FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE ` + inSurvey + ` AND NOT a.attisdropped AND right(a.attname, 5) = '_type'`

	// foreignKeysSQL returns the pairs of columns of all foreign keys. They show which
	// columns are references for certain, and how the schema names such columns.
	foreignKeysSQL = `
SELECT ` + displaySchema + `, c.relname, a.attname,
       CASE WHEN o.nspname = current_schema() THEN '' ELSE o.nspname END, p.relname, b.attname
FROM pg_catalog.pg_constraint f
CROSS JOIN LATERAL unnest(f.conkey, f.confkey) AS k (a, b)
JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.a
JOIN pg_catalog.pg_class p ON p.oid = f.confrelid
JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace
JOIN pg_catalog.pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.b
WHERE f.contype = 'f' AND ` + inSurvey

	// textsSQL returns the definitions of views and functions, because they may compare a
	// column with a key. It excludes functions that an extension has created (deptype
	// 'e'), and functions in C, which have no text.
	textsSQL = `
SELECT pg_describe_object('pg_catalog.pg_class'::regclass, c.oid, 0), pg_get_viewdef(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm') AND ` + inSurvey + `
UNION ALL
SELECT pg_describe_object('pg_catalog.pg_proc'::regclass, f.oid, 0), coalesce(nullif(f.prosrc, ''), pg_get_functiondef(f.oid))
FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = f.prolang AND l.lanname NOT IN ('c', 'internal')
WHERE f.prokind IN ('f', 'p') AND ` + inSurvey + `
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
ORDER BY 1`
)

// Survey implements [engine.Engine]. It reads the columns that are too narrow for a
// Snowflake ID, and the tables, foreign keys and texts by which package likely judges
// whether they hold keys.
func (Engine) Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*engine.Survey, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &engine.Survey{
		Current:     r.Schema,
		Tables:      pgcatalog.Read[plan.TableName](ctx, r, tablesSQL, schemas),
		TypeColumns: pgcatalog.Read[engine.Reference](ctx, r, typesSQL, schemas),
		ForeignKeys: pgcatalog.Read[engine.Reference](ctx, r, foreignKeysSQL, schemas),
		Texts:       pgcatalog.Read[engine.Text](ctx, r, textsSQL, schemas),
	}
	for _, c := range pgcatalog.Read[surveyedColumn](ctx, r, narrowSQL, schemas) {
		c.Change = c.howToWiden()
		s.Columns = append(s.Columns, c.NarrowColumn)
	}
	return s, r.Err()
}

// A surveyedColumn is a narrow column with the structure of its type, which its change
// depends on.
type surveyedColumn struct {
	engine.NarrowColumn

	Foreign           bool   // whether the table is a foreign table
	Arrays            int    // number of arrays around the integer
	Domain, Composite string // see narrowSQL; empty if there is none
}

// howToWiden returns advice on how a user can make the column wide, or "" if a plan can do
// it. An attribute of a composite column has the name column.attribute.
func (c *surveyedColumn) howToWiden() string {
	column, attribute, _ := strings.Cut(c.Name, ".")
	switch {
	case c.Foreign:
		return "change the type in the database that the foreign table is of, and here"
	case c.Composite != "" && strings.Contains(c.Name, "."):
		return "create a type like " + c.Composite + " in which " + attribute[strings.LastIndex(attribute, ".")+1:] +
			" is wide, and change the column to it: ALTER TABLE … ALTER COLUMN … TYPE … USING ROW(…), because PostgreSQL changes no composite type that a column has"
	case strings.HasPrefix(c.Type, "int4range"):
		return "make it an int8range"
	case c.Arrays > 0 || c.Domain != "": // an array of an array has the same type as the array
		return "ALTER TABLE " + pgsql.Qualified(c.Table.Schema, c.Table.Name) + " ALTER COLUMN " + pgsql.Quote(column) + " TYPE bigint" + strings.Repeat("[]", min(c.Arrays, 1))
	}
	return ""
}

// Limits of the rows and texts that Sample reads.
const (
	sampledPages = 50 // on average, because the server chooses pages at random
	sampledRows  = 5000
	sampledText  = 500 // in characters; a value may be a long array
)

// Sample implements [engine.Engine]. It returns rows with the values of the columns as
// text. It reads a few pages of the table, which are the same at each call (REPEATABLE), so
// that equal tables give equal results. An attribute of a composite column has the name
// column.attribute.
func (Engine) Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	name := pgsql.Qualified(table.Schema, table.Name)
	var pages float64
	// Read the number of pages of the table and its partitions, to compute the percentage
	// for TABLESAMPLE. The FROM clause sets the lock timeout of the transaction.
	err = tx.QueryRowContext(ctx, `
SELECT greatest(1, (SELECT sum(pg_relation_size(oid)) FROM (
    SELECT relid::oid FROM pg_partition_tree($1::text::regclass) UNION SELECT $1::text::regclass::oid) AS member (oid)
  )::float8 / current_setting('block_size')::float8)
FROM set_config('lock_timeout', '1s', true)`, name).Scan(&pages)
	if err != nil {
		return nil, err
	}
	values := pgsql.Join(columns, ", ", func(c engine.NarrowColumn) string {
		column, path, composite := strings.Cut(c.Name, ".")
		value := pgsql.Quote(column)
		if composite { // the attribute is written (column).attribute
			value = "(" + value + ")." + pgsql.Quote(path)
		}
		return fmt.Sprintf("left(%s::text, %d)", value, sampledText)
	})
	_, texts, err := rows.Texts(ctx, tx, fmt.Sprintf("SELECT %s FROM %s TABLESAMPLE SYSTEM (%g) REPEATABLE (1) LIMIT %d",
		values, name, min(100, 100*sampledPages/pages), sampledRows))
	return texts, err
}
