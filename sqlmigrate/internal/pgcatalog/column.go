package pgcatalog

import (
	"context"
	"strings"
)

// ColumnProperties holds the properties of a column in the catalog.
type ColumnProperties struct {
	Node
	Name       string
	Type       string // as the server writes it
	Base       string // the name of the type in pg_type; for a domain, of its base type
	Domain     bool
	Length     int  // length of a string type, or digits of a numeric before the decimal point; negative if unlimited
	Identity   bool // whether it has an identity, declared for it or, in a partition, for its parent
	Always     bool // whether the identity is GENERATED ALWAYS
	Key        bool // whether it is part of the primary key
	NotNull    bool
	Statistics int // target of the statistics; negative for the default
	Comment    *string
	Granted    bool // whether rights were granted on the column
	Options    bool // whether it has options for the planner
	Labelled   bool // whether it has a security label
}

// IsNarrow reports whether the column is a smallint or integer, which cannot hold a
// Snowflake ID and has to become a bigint. It returns false for a column with a domain,
// because a change of its type would lose the domain.
func (c *ColumnProperties) IsNarrow() bool {
	return (c.Base == "int2" || c.Base == "int4") && !c.Domain
}

// Bounds returns the smallest and the largest value of a narrow column, for use in SQL.
func (c *ColumnProperties) Bounds() (smallest, largest string) {
	if c.Base == "int2" {
		return "-32768", "32767"
	}
	return "-2147483648", "2147483647"
}

// columnsSQL returns the types of columns, and all other properties that a column can have.
// An online move gives these properties to the new column that takes the place of a column.
// For a domain (typtype 'd'), Type is the name of the domain, and Base and Length are those
// of the type below the domain. A typmod of a string is its length plus 4. A typmod of a
// numeric, minus 4, has the number of digits in the upper 16 bits, and the number of digits
// after the decimal point in the lower 11.
// Identities that are GENERATED ALWAYS have attidentity 'a'. Of the options of a column,
// users can only set n_distinct and n_distinct_inherited.
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

// Columns returns the columns, sorted by table and number.
func (r *Reader) Columns(ctx context.Context, nodes []Node) []ColumnProperties {
	return Read[ColumnProperties](ctx, r, columnsSQL, nodes)
}

// Numbers returns the number of each column of a table, by name. Callers also use it to
// learn which names are taken.
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

// defaultsSQL returns the defaults of columns. It excludes generated columns
// (attgenerated), whose expressions are in the same catalog.
const defaultsSQL = `
SELECT ad.adrelid::bigint, ad.adnum, pg_get_expr(ad.adbin, ad.adrelid), ` + CountsSQL + `
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = node.rel AND ad.adnum = node.att
JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att AND a.attgenerated = ''`

// CountsSQL is an SQL condition that is true if a default gives another number to each row,
// for example nextval('orders_id_seq'). A query that contains it must name the default's
// row of pg_attrdef ad. The condition looks for a call of nextval, random or
// clock_timestamp in the default, and for these names in the body of a function on which
// the default depends. In the patterns, \m and \M are the beginning and the end of a word.
const CountsSQL = `(pg_get_expr(ad.adbin, ad.adrelid) ~* '\m(nextval|random|clock_timestamp)\(' OR EXISTS (
    SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_proc f ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.refobjid
    WHERE d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid AND f.prosrc ~* '\m(nextval|random|clock_timestamp)\M'))`

// A Default is the default of a column.
type Default struct {
	Expression string // empty without a default
	Counts     bool   // whether it gives another number to each row, as [CountsSQL] defines it
}

// IsConstant reports whether the column has a default that calls no function, for example
// 0. A parenthesis counts as a call.
func (d Default) IsConstant() bool { return d.Expression != "" && !strings.Contains(d.Expression, "(") }

// Defaults returns the defaults of the columns that have a default.
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
