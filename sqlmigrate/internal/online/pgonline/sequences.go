package pgonline

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A sequence gives values to a column.
type sequence struct {
	pgsql.Sequence
	oid          int64
	schema, name string
	internal     bool // of an identity
	owned        bool // by the column
	special      bool // an identity's, with rights, a comment or a label that would be lost
}

func (s *sequence) target() string { return pgsql.Qualified(s.schema, s.name) }

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
SELECT c.oid::bigint, n.nspname, c.relname, bool_or(used.internal), bool_or(used.owned),
       c.relacl IS NOT NULL OR obj_description(c.oid, 'pg_class') IS NOT NULL
         OR EXISTS (SELECT FROM pg_catalog.pg_seclabel l WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = c.oid)
         OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid),
       format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle
FROM used
JOIN pg_catalog.pg_class c ON c.oid = used.seq AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
GROUP BY c.oid, n.nspname, c.relname, c.relacl, s.seqtypid, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle
ORDER BY 2, 3`, []any{t.oid, c.number}, func(rows *sql.Rows) error {
		var s sequence
		into := []any{&s.oid, &s.schema, &s.name, &s.internal, &s.owned, &s.special}
		if err := rows.Scan(append(into, s.Fields()...)...); err != nil {
			return err
		}
		c.sequences = append(c.sequences, &s)
		return nil
	})
}

// narrow reports whether the sequence ends before a bigint does. An identity's
// gets the type of its column.
func (s *sequence) narrow() bool { return !s.internal && s.Type != "bigint" }

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
		s.target(), table, pgsql.Quote(from), pgsql.Quote(to), always, s.Options(), pgsql.Literal(s.target())))
}
