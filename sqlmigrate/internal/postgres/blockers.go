package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// findBlockers finds what would keep the plan from being carried out.
func (p *inspection) findBlockers(ctx context.Context) error {
	for _, t := range p.tables {
		for _, c := range t.columns {
			p.blockColumn(c)
		}
		p.blockTable(t)
	}
	narrow := p.narrow()
	for _, find := range []func(context.Context, []*column) error{p.blockDependents, p.blockPartitionKeys, p.blockRowTypes, p.blockRebuilt} {
		if err := find(ctx, narrow); err != nil {
			return err
		}
	}
	return nil
}

// digits is how many the largest ID has in decimal.
const digits = 19

// blockColumn checks the type of a column and what is in it.
func (p *inspection) blockColumn(c *column) {
	table, column := p.display(c.schema, c.table), "column "+c.name
	if c.key && p.want.Ahead > 0 && c.largest.Int64 >= p.want.Ahead {
		p.blocker(table, column,
			fmt.Sprintf(engine.AheadReason, c.largest.Int64), engine.AheadFix)
	}
	switch c.base {
	case "int8":
	case "text", "_int8":
		p.blockKey(c)
	case "int2", "int4":
		if c.domain {
			p.blocker(table, column, "its type is domain "+c.typ+" over an integer that is too small",
				"change the column to a domain over bigint, or to bigint, with all columns of the domain that refer to it")
		}
	case "numeric", "varchar", "bpchar":
		if !p.blockKey(c) && c.length >= 0 && c.length < digits {
			p.blocker(table, column, fmt.Sprintf("its type %s does not hold the %d digits of an ID", c.typ, digits), c.typeFix())
		}
	default:
		if !p.blockKey(c) {
			p.blocker(table, column, "its type "+c.typ+" does not hold every ID", c.typeFix())
		}
	}
}

// typeFix is for a column that refers to a key.
func (c *column) typeFix() string {
	to := "bigint"
	switch {
	case strings.HasSuffix(c.typ, "[]"):
		to = "bigint[]"
	case c.base == "varchar" || c.base == "bpchar":
		to = fmt.Sprintf("varchar(%d) or text", digits)
	case c.base == "uuid" || c.base == "bytea" || c.base == "json" || c.base == "jsonb":
		return "leave the reference out: values of this type are not these keys"
	}
	return fmt.Sprintf("change its type to %s: ALTER TABLE %s ALTER COLUMN %s TYPE %s", to, c.target(), pgsql.Quote(c.name), strings.TrimSuffix(to, " or text"))
}

// blockKey refuses a key that is not an integer; text can refer to one.
func (p *inspection) blockKey(c *column) bool {
	if c.key {
		p.blocker(p.display(c.schema, c.table), "column "+c.name, "it is a key of type "+c.typ+", not an integer", "leave the table out")
	}
	return c.key
}

func (p *inspection) blockTable(t *table) {
	for _, c := range t.narrow() {
		if c.typed {
			p.blocker(p.display(t.schema, t.name), "table "+p.display(t.schema, t.name),
				"it is a table of a composite type, and column "+c.name+" can be changed with that only",
				"ALTER TABLE … NOT OF, or change the type with CASCADE")
		}
		if c.kind != "r" && c.kind != "p" {
			p.blocker(p.display(t.schema, t.name), "foreign table "+p.display(t.schema, t.name),
				"column "+c.name+" is in another database", "move the table there, and then change the type of the column here")
		}
	}
}

// dependentsSQL finds what uses a column, without what follows automatically:
// constraints, indexes, statistics, defaults and sequences. A trigger that a
// partition has from its parent is left out.
const dependentsSQL = `
SELECT DISTINCT node.rel::bigint, node.att, d.classid::regclass::text,
       coalesce((SELECT v.oid FROM pg_catalog.pg_class v WHERE v.oid = r.ev_class AND v.relkind IN ('v', 'm')), 0)::bigint,
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END AS object
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_catalog.pg_trigger tg ON d.classid = 'pg_catalog.pg_trigger'::regclass AND tg.oid = d.objid
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
WHERE d.classid NOT IN ('pg_catalog.pg_constraint'::regclass, 'pg_catalog.pg_statistic_ext'::regclass)
  AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND (d.objsubid = 0 OR (d.objid, d.objsubid) = (node.rel, node.att)))
  AND (ad.oid IS NULL OR a.attgenerated <> '' AND (ad.adrelid, ad.adnum) <> (node.rel, node.att))
  AND coalesce((to_jsonb(tg) ->> 'tgparentid')::oid, 0) = 0
ORDER BY 1, 2, 3, 5`

// reasons are those for which PostgreSQL does not change the type of a
// column, by the catalog in which its user is.
var reasons = map[string][2]string{
	"pg_rewrite":         {"it uses column %s, whose type PostgreSQL then does not change", "let the plan do it (WithRecreateViews, --recreate-views) if it is a view, or drop it before, and create it again afterwards with its owner, grants and comment"},
	"pg_attrdef":         {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_class":           {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_trigger":         {"it names column %s in UPDATE OF or WHEN, so PostgreSQL does not change the column's type", "drop it before, and create it again afterwards"},
	"pg_policy":          {"it uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, in one transaction"},
	"pg_proc":            {"its body uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, or write its body as a string"},
	"pg_publication_rel": {"it names column %s, whose type PostgreSQL then does not change", "take the table out of the publication before, and add it again afterwards"},
}

// A dependent is an object that uses columns.
type dependent struct {
	catalog, object string
	columns         []*column
}

func (p *inspection) blockDependents(ctx context.Context, columns []*column) error {
	tables, numbers := nodes(columns)
	found := map[string]*dependent{}
	var order []*dependent
	err := each(ctx, p.tx, dependentsSQL, []any{tables, numbers}, func(rows *sql.Rows) error {
		var n node
		var catalog, object string
		var view int64
		if err := rows.Scan(&n.table, &n.column, &catalog, &view, &object); err != nil {
			return err
		}
		if view != 0 && p.want.RecreateViews {
			p.viewed = append(p.viewed, viewed{view, p.columns[n]})
			return nil
		}
		if found[object] == nil {
			found[object] = &dependent{catalog: strings.TrimPrefix(catalog, "pg_catalog."), object: object}
			order = append(order, found[object])
		}
		found[object].columns = append(found[object].columns, p.columns[n])
		return nil
	})
	for _, d := range order {
		p.blockDependent(d)
	}
	return err
}

// blockDependent has one blocker for the object, whichever tables it uses. Of
// several columns of one table, the first is enough.
func (p *inspection) blockDependent(d *dependent) {
	texts, ok := reasons[d.catalog]
	if !ok {
		texts = [2]string{"it depends on column %s", "drop it before, and create it again afterwards"}
	}
	var tables, columns []string
	for _, c := range d.columns {
		if table := p.display(c.schema, c.table); !slices.Contains(tables, table) {
			tables, columns = append(tables, table), append(columns, table+"."+c.name)
		}
	}
	if len(tables) == 1 {
		columns[0] = d.columns[0].name
	}
	p.blocker(strings.Join(tables, ", "), d.object, fmt.Sprintf(texts[0], strings.Join(columns, ", ")), texts[1])
}

func (p *inspection) blockPartitionKeys(ctx context.Context, columns []*column) error {
	tables, numbers := nodes(columns)
	return each(ctx, p.tx, `
SELECT node.rel::bigint, node.att
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_partitioned_table t ON t.partrelid = node.rel
WHERE node.att = ANY (t.partattrs::int2[])
   OR EXISTS (SELECT FROM pg_catalog.pg_depend d
              WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = node.rel AND d.objsubid = node.att
                AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = 0 AND d.deptype = 'i')
ORDER BY 1, 2`, []any{tables, numbers}, func(rows *sql.Rows) error {
		var n node
		if err := rows.Scan(&n.table, &n.column); err != nil {
			return err
		}
		c := p.columns[n]
		p.blocker(p.display(c.schema, c.table), "partition key of table "+p.display(c.schema, c.table),
			"it has column "+c.name+", whose type PostgreSQL then does not change",
			"create a table that is partitioned by a bigint, and copy the rows")
		return nil
	})
}

// rowTypesSQL finds columns whose type is a table's row, directly or in an
// array, a domain or a composite type. It goes by pg_depend, which has an index
// for that.
const rowTypesSQL = `
WITH RECURSIVE uses (rel, type) AS (
  SELECT oid, reltype FROM pg_catalog.pg_class WHERE oid = ANY ($1::text::oid[]) AND reltype <> 0
  UNION
  SELECT uses.rel, coalesce(c.reltype, d.objid)
  FROM uses
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid = uses.type
  LEFT JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'c'
  WHERE d.classid = 'pg_catalog.pg_type'::regclass OR c.oid IS NOT NULL
)
SELECT DISTINCT uses.rel::bigint, pg_describe_object('pg_catalog.pg_class'::regclass, d.objid, d.objsubid)
FROM uses
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid = uses.type
  AND d.classid = 'pg_catalog.pg_class'::regclass AND d.objsubid > 0
JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'p', 'm', 'f')
ORDER BY 1, 2`

func (p *inspection) blockRowTypes(ctx context.Context, columns []*column) error {
	tables, _ := nodes(columns)
	names := map[int64]string{}
	for _, c := range columns {
		names[c.node.table] = p.display(c.schema, c.table)
	}
	return each(ctx, p.tx, rowTypesSQL, []any{tables}, func(rows *sql.Rows) error {
		var table int64
		var object string
		if err := rows.Scan(&table, &object); err != nil {
			return err
		}
		p.blocker(names[table], object, "its type is made of rows of the table, which PostgreSQL then does not change",
			"drop it before, and add it again afterwards")
		return nil
	})
}

func nodes(columns []*column) (tables, numbers string) {
	var t, n []int64
	for _, c := range columns {
		t, n = append(t, c.node.table), append(n, c.node.column)
	}
	return arrayLiteral(t), arrayLiteral(n)
}
