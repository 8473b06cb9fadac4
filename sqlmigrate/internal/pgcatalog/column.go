package pgcatalog

import (
	"context"
	"strings"
)

// A Column is what the catalog knows of one.
type Column struct {
	Node
	Name       string
	Type       string // as the server writes it
	Base       string // the type's name in the catalog; for a domain, its base type's
	Domain     bool
	Length     int  // of a string, or digits before the point; negative without a limit
	Identity   bool // declared here or, in a partition, by its parent
	Always     bool // of an identity
	Key        bool // part of the primary key
	NotNull    bool
	Statistics int // negative: the default
	Comment    *string
	Granted    bool // rights were granted on it
	Options    bool // that the planner uses
	Labelled   bool // it has a security label
}

// IsNarrow reports whether the column has to be widened.
func (c *Column) IsNarrow() bool {
	return (c.Base == "int2" || c.Base == "int4") && !c.Domain
}

// Bounds are the smallest and largest values of a narrow column.
func (c *Column) Bounds() (smallest, largest string) {
	if c.Base == "int2" {
		return "-32768", "32767"
	}
	return "-2147483648", "2147483647"
}

// columnsSQL asks for the types of columns, to see which have to be widened, and for
// whatever else a column can have, because a column that takes its place needs it
// too. Of a column's options, a user sets n_distinct and n_distinct_inherited only.
const columnsSQL = `
SELECT node.rel::bigint, node.att, a.attname, format_type(a.atttypid, a.atttypmod), b.typname, t.typtype = 'd',
       CASE WHEN b.typname IN ('varchar', 'bpchar') THEN m.typmod - 4
            WHEN b.typname = 'numeric' AND m.typmod >= 4 THEN ((m.typmod - 4) >> 16 & 65535) - ((m.typmod - 4) & 2047)
            ELSE -1 END,
       a.attidentity <> '', a.attidentity = 'a',
       EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.contype = 'p' AND k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey)),
       a.attnotnull, coalesce(a.attstattarget, -1), col_description(a.attrelid, a.attnum), a.attacl IS NOT NULL,
       EXISTS (SELECT FROM unnest(a.attoptions) AS o WHERE o LIKE 'n\_distinct%'),
       EXISTS (SELECT FROM pg_catalog.pg_seclabel l
               WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = a.attrelid AND l.objsubid = a.attnum)
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
CROSS JOIN LATERAL (SELECT CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END) AS m (typmod)
WHERE a.attnum > 0
ORDER BY node.rel, node.att`

// Columns describes columns, in the order of their tables and numbers.
func (r *Reader) Columns(ctx context.Context, nodes []Node) []Column {
	return Read[Column](ctx, r, columnsSQL, nodes)
}

// Numbers returns the number of each column of a table, by name. They show too which
// names are taken.
func (r *Reader) Numbers(ctx context.Context, table int64) map[string]int64 {
	found := map[string]int64{}
	for _, row := range Read[struct {
		Name   string
		Number int64
	}](ctx, r, `SELECT attname, attnum FROM pg_catalog.pg_attribute
WHERE attrelid = $1::bigint::oid AND attnum > 0 AND NOT attisdropped`, table) {
		found[row.Name] = row.Number
	}
	return found
}

// defaultsSQL asks for the expressions that fill columns where a row has no value:
// they are dropped and set again. A generated column's expression is not a default.
const defaultsSQL = `
SELECT ad.adrelid::bigint, ad.adnum, pg_get_expr(ad.adbin, ad.adrelid), ` + CountsSQL + `
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = node.rel AND ad.adnum = node.att
JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att AND a.attgenerated = ''`

// CountsSQL is a condition for a default ad: each row gets another number from it,
// because it calls nextval, random or the clock, itself or in the body of a function.
const CountsSQL = `(pg_get_expr(ad.adbin, ad.adrelid) ~* '\m(nextval|random|clock_timestamp)\(' OR EXISTS (
    SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_proc f ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.refobjid
    WHERE d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid AND f.prosrc ~* '\m(nextval|random|clock_timestamp)\M'))`

// A Default fills a column where a row has no value.
type Default struct {
	Expression string // empty without a default
	Counts     bool   // see [CountsSQL]
}

// IsConstant reports whether the expression calls no function.
func (d Default) IsConstant() bool { return d.Expression != "" && !strings.Contains(d.Expression, "(") }

// Defaults returns the defaults of those columns that have one.
func (q QualifiedReader) Defaults(ctx context.Context, nodes []Node) map[Node]Default {
	found := map[Node]Default{}
	for _, row := range Read[struct {
		Node Node
		Default
	}](ctx, q.Reader, defaultsSQL, nodes) {
		found[row.Node] = row.Default
	}
	return found
}
