package pgonline

import (
	"context"
	"database/sql"
	"fmt"
)

// A sequence gives values to a column.
type sequence struct {
	oid               int64
	schema, name, typ string
	internal          bool // of an identity
	owned             bool // by the column
	special           bool // an identity's, with rights, a comment or a label that would be lost
	start, increment  int64
	smallest, largest int64
	natural           [2]bool // smallest and largest are the type's
	cache             int64
	cycle             bool
}

func (s *sequence) target() string { return qualified(s.schema, s.name) }

func (p *inspection) readSequences(ctx context.Context, t *table, c *column) error {
	return each(ctx, p.tx, `
WITH used (seq, internal, owned) AS (
  SELECT d.objid, d.deptype = 'i', true FROM pg_catalog.pg_depend d
  WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid AND d.refobjsubid = $2::integer
    AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')
  UNION ALL
  SELECT d.refobjid, false, false
  FROM pg_catalog.pg_attrdef ad
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
   AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjsubid = 0
  WHERE ad.adrelid = $1::bigint::oid AND ad.adnum = $2::integer
)
SELECT c.oid::bigint, n.nspname, c.relname, format_type(s.seqtypid, NULL), bool_or(used.internal), bool_or(used.owned),
       c.relacl IS NOT NULL OR obj_description(c.oid, 'pg_class') IS NOT NULL
         OR EXISTS (SELECT FROM pg_catalog.pg_seclabel l WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = c.oid)
         OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid),
       s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle
FROM used
JOIN pg_catalog.pg_class c ON c.oid = used.seq AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
GROUP BY c.oid, n.nspname, c.relname, c.relacl, s.seqtypid, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle
ORDER BY 2, 3`, []any{t.oid, c.number}, func(rows *sql.Rows) error {
		var s sequence
		if err := rows.Scan(&s.oid, &s.schema, &s.name, &s.typ, &s.internal, &s.owned, &s.special,
			&s.start, &s.increment, &s.smallest, &s.largest, &s.cache, &s.cycle); err != nil {
			return err
		}
		s.natural = s.limits()
		c.sequences = append(c.sequences, &s)
		return nil
	})
}

// limits reports which limits are the defaults of the type.
func (s *sequence) limits() [2]bool {
	low, high := int64(-1<<63), int64(1<<63-1)
	switch s.typ {
	case "smallint":
		low, high = -1<<15, 1<<15-1
	case "integer":
		low, high = -1<<31, 1<<31-1
	}
	if s.increment > 0 {
		low = 1
	} else {
		high = -1
	}
	return [2]bool{s.smallest == low, s.largest == high}
}

// options are clauses of an identity. A limit that is the type's is not
// named: it follows the type.
func (s *sequence) options() string {
	text := fmt.Sprintf("START WITH %d INCREMENT BY %d", s.start, s.increment)
	text += s.limit("MINVALUE", s.smallest, s.natural[0]) + s.limit("MAXVALUE", s.largest, s.natural[1])
	text += fmt.Sprintf(" CACHE %d", s.cache)
	if s.cycle {
		text += " CYCLE"
	}
	return text
}

func (s *sequence) limit(word string, value int64, natural bool) string {
	if natural {
		return " NO " + word
	}
	return fmt.Sprintf(" %s %d", word, value)
}

// narrow reports whether the sequence ends before a bigint does. An identity's
// gets the type of its column.
func (s *sequence) narrow() bool { return !s.internal && s.typ != "bigint" }

// moveIdentity makes one column an identity instead of another, and continues
// where that was. Its name is free only once the old one is gone.
func (s *sequence) moveIdentity(table, from, to, kind string) string {
	always := "BY DEFAULT"
	if kind == "a" {
		always = "ALWAYS"
	}
	return block("reached bigint; called boolean;", fmt.Sprintf(
		"  SELECT last_value, is_called INTO reached, called FROM %[1]s;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[3]s DROP IDENTITY;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[4]s ADD GENERATED %[5]s AS IDENTITY (SEQUENCE NAME %[1]s %[6]s);\n"+
			"  PERFORM pg_catalog.setval(%[7]s, reached, called);\n",
		s.target(), table, quote(from), quote(to), always, s.options(), literal(s.target())))
}
