package pgcatalog

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A Sequence gives values to columns, or is owned by a column.
type Sequence struct {
	OID int64
	Named
	Internal          bool // whether it belongs to an identity
	Owner             Node // the column with which it is dropped; zero if it has no owner
	Unlogged          bool
	LoggedUnlikeTable bool // whether it belongs to an identity, and only one of it and the identity's table is unlogged
	Comment           *string
	HasExtras         bool // whether it has rights, a comment, a security label or a user of its own

	Type              string // smallint, integer or bigint
	Start, Increment  int64
	Smallest, Largest int64
	Cache             int64
	Cycle             bool

	Columns []Node // the columns that take values from it
}

// sequencesSQL returns the sequences that the columns own (deptype 'a'), the sequences of
// their identities (deptype 'i'), and the sequences in their defaults. The relation node
// has the columns, and found the pairs of a column and a sequence (relkind 'S'). gives
// reports whether the column takes values from the sequence, which is not so if the
// column only owns it. The relation used has each sequence once, with the columns that
// take values from it. The join o finds the owner of the sequence. LoggedUnlikeTable is
// only possible since PostgreSQL 15, which has unlogged sequences.
const sequencesSQL = `
WITH node (rel, att) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[])
), found (rel, att, seq, gives) AS (
  SELECT node.rel, node.att, d.objid, d.deptype = 'i'
  FROM node JOIN pg_catalog.pg_depend d
    ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
   AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')
  UNION ALL
  SELECT node.rel, node.att, d.refobjid, true
  FROM node
  JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = node.rel AND ad.adnum = node.att
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
   AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjsubid = 0
), used (seq, columns) AS (
  SELECT seq, json_agg(json_build_object('Table', rel::bigint, 'Column', att) ORDER BY rel, att) FILTER (WHERE gives)
  FROM (SELECT seq, rel, att, bool_or(gives) AS gives FROM found GROUP BY seq, rel, att) AS f GROUP BY seq
)
SELECT c.oid::bigint, n.nspname, c.relname,
       coalesce(o.deptype = 'i', false), coalesce(o.refobjid, 0)::bigint, coalesce(o.refobjsubid, 0), c.relpersistence = 'u',
       coalesce(o.deptype = 'i' AND c.relpersistence <> r.relpersistence, false) AND current_setting('server_version_num')::integer >= 150000,
       obj_description(c.oid, 'pg_class'),
       c.relacl IS NOT NULL OR obj_description(c.oid, 'pg_class') IS NOT NULL
         OR EXISTS (SELECT FROM pg_catalog.pg_seclabel l WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = c.oid)
         OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid),
       format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle, used.columns::text
FROM used
JOIN pg_catalog.pg_class c ON c.oid = used.seq AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
LEFT JOIN pg_catalog.pg_depend o ON o.classid = 'pg_catalog.pg_class'::regclass AND o.objid = c.oid
  AND o.refclassid = 'pg_catalog.pg_class'::regclass AND o.refobjsubid > 0 AND o.deptype IN ('a', 'i')
LEFT JOIN pg_catalog.pg_class r ON r.oid = o.refobjid
ORDER BY n.nspname, c.relname`

// Sequences returns the sequences of the columns, sorted by name.
func (r *Reader) Sequences(ctx context.Context, nodes []Node) []*Sequence {
	var found []*Sequence
	for _, s := range Read[Sequence](ctx, r, sequencesSQL, nodes) {
		s.Display = r.Display(s.Schema, s.Name)
		found = append(found, &s)
	}
	return found
}

// Identity returns the clause of ALTER COLUMN that creates an identity with this
// sequence. The identity is GENERATED ALWAYS if always is true, and otherwise BY DEFAULT.
func (s *Sequence) Identity(always bool) string {
	kind := "BY DEFAULT"
	if always {
		kind = "ALWAYS"
	}
	return fmt.Sprintf("ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)", kind, s.Target(), s.Options())
}

// Options returns the clauses of CREATE SEQUENCE or an identity, for example START WITH 1
// INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1. If a limit is the default of the type, it
// returns NO MINVALUE or NO MAXVALUE, so that the limit changes with the type.
func (s *Sequence) Options() string {
	low, high := s.limits()
	return fmt.Sprintf("START WITH %d INCREMENT BY %d", s.Start, s.Increment) +
		limit("MINVALUE", s.Smallest, low) + limit("MAXVALUE", s.Largest, high) +
		fmt.Sprintf(" CACHE %d", s.Cache) + pgsql.If(s.Cycle, " CYCLE")
}

// limit returns a clause such as MAXVALUE 99, in which word is MAXVALUE and value is 99. If
// value is the default limit of the sequence's type, limit returns NO MAXVALUE.
func limit(word string, value, byDefault int64) string {
	if value == byDefault {
		return " NO " + word
	}
	return fmt.Sprintf(" %s %d", word, value)
}

// EndsWithType reports whether the sequence has the default largest value. If the sequence
// counts up, this is the largest value of its type. If it counts down, this is -1.
func (s *Sequence) EndsWithType() bool {
	_, high := s.limits()
	return s.Largest == high
}

// limits returns the default limits of the sequence. A sequence that counts up goes from 1
// to the largest value of its type, for example 2147483647 for integer. A sequence that
// counts down goes from -1 to the smallest value of its type.
func (s *Sequence) limits() (low, high int64) {
	low, high = -1<<63, 1<<63-1 // of bigint
	switch s.Type {
	case "smallint":
		low, high = -1<<15, 1<<15-1
	case "integer":
		low, high = -1<<31, 1<<31-1
	}
	if s.Increment > 0 {
		return 1, high
	}
	return low, -1
}
