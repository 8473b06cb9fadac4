package migratetest

import (
	"slices"
	"strings"
	"testing"
)

// pgCatalogSQL returns a line for each object of the catalogs, with the properties that
// pg_dump does not show, or shows in part only.
//
// It leaves out values that the server assigns, such as OIDs and file numbers, and values
// that the server collects or counts itself, such as statistics and the option pg_attver.
// It also leaves out differences without an effect: connoinherit of keys, the column
// names of indexes, and an unused TOAST table. A missing relacl is replaced by the
// default, because both give the owner the same rights. OIDs below 16384 belong to
// objects of the server itself. The regular expressions remove the OIDs that names of
// internal triggers contain.
const pgCatalogSQL = `
WITH rel AS (
  SELECT c.oid, c.oid::regclass::text AS name
  FROM pg_class c WHERE c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
), line (catalog, object, property) AS (
  SELECT 'class', name, (to_jsonb(c) - '{oid,name,relfilenode,reltoastrelid,reltype,relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,relminmxid,relnamespace,reltablespace,relacl}'::text[])::text ||
    coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))::text ||
    coalesce((SELECT spcname::text FROM pg_tablespace s WHERE s.oid = c.reltablespace), '')
  FROM rel JOIN pg_class c ON c.oid = rel.oid
  UNION ALL
  SELECT 'attribute', rel.name || '.' || a.attnum, (to_jsonb(a) - CASE WHEN c.relkind IN ('i', 'I') THEN 'attname' ELSE '' END - '{attrelid,attcacheoff,atthasmissing,attmissingval,attoptions}'::text[])::text ||
    (SELECT coalesce(string_agg(o, ',' ORDER BY o), '') FROM unnest(a.attoptions) o WHERE o !~ '^pg_attver=')
  FROM rel JOIN pg_class c ON c.oid = rel.oid JOIN pg_attribute a ON a.attrelid = rel.oid AND a.attnum > 0
  UNION ALL
  SELECT 'index', rel.name, pg_get_indexdef(i.indexrelid) || (to_jsonb(i) - '{indexrelid,indrelid,indcheckxmin,indexprs,indpred}'::text[])::text
  FROM rel JOIN pg_index i ON i.indexrelid = rel.oid
  UNION ALL
  SELECT 'constraint', c.conrelid::regclass || '.' || c.conname,
    (to_jsonb(c) - '{oid,conrelid,conindid,confrelid,conparentid,conbin}'::text[] - CASE WHEN contype IN ('p', 'u', 'f') THEN 'connoinherit' ELSE '' END)::text || pg_get_constraintdef(c.oid) || c.conindid::regclass ||
    coalesce((SELECT p.conrelid::regclass || '.' || p.conname FROM pg_constraint p WHERE p.oid = c.conparentid), '')
  FROM rel JOIN pg_constraint c ON c.conrelid = rel.oid
  UNION ALL
  SELECT 'trigger', t.tgrelid::regclass::text, regexp_replace(pg_get_triggerdef(t.oid), '_\d+"', '"') || t.tgenabled::text || t.tgisinternal || coalesce(c.conname, '')
  FROM rel JOIN pg_trigger t ON t.tgrelid = rel.oid LEFT JOIN pg_constraint c ON c.oid = t.tgconstraint
  UNION ALL
  SELECT 'default', pg_describe_object('pg_class'::regclass, d.adrelid, d.adnum), pg_get_expr(d.adbin, d.adrelid)
  FROM pg_attrdef d
  UNION ALL
  SELECT 'statistics', s.stxname, pg_get_statisticsobjdef(s.oid) || (to_jsonb(s) - '{oid,stxrelid,stxexprs}'::text[])::text
  FROM pg_statistic_ext s
  UNION ALL
  SELECT 'sequence', s.seqrelid::regclass::text, (to_jsonb(s) - 'seqrelid')::text FROM pg_sequence s
  UNION ALL
  SELECT 'inherits', i.inhrelid::regclass::text, i.inhparent::regclass || ' ' || i.inhseqno FROM pg_inherits i
  UNION ALL
  SELECT 'comment', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
  FROM pg_description d WHERE d.objoid >= 16384
  UNION ALL
  SELECT 'label', pg_describe_object(l.classoid, l.objoid, l.objsubid), l.provider || l.label FROM pg_seclabel l
  UNION ALL
  SELECT 'publication', p.prrelid::regclass::text, (to_jsonb(p) - '{oid,prpubid,prrelid}'::text[])::text FROM pg_publication_rel p
  UNION ALL
  SELECT 'policy', polrelid::regclass || '.' || polname, pg_get_expr(polqual, polrelid) FROM pg_policy
  UNION ALL
  SELECT 'depend', pg_describe_object(classid, objid, objsubid), deptype::text || pg_describe_object(refclassid, refobjid, refobjsubid)
  FROM pg_depend WHERE (objid >= 16384 OR refobjid >= 16384) AND pg_describe_object(classid, objid, objsubid) !~ 'ConstraintTrigger_|pg_toast'
  UNION ALL
  SELECT 'shdepend', pg_describe_object(classid, objid, objsubid), deptype::text || pg_describe_object(refclassid, refobjid, 0)
  FROM pg_shdepend WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT regexp_replace(catalog || ' ' || coalesce(object, '') || ': ' || coalesce(property, ''), '(ConstraintTrigger_[ac]|Unique_ConstraintTrigger|pg_toast)_\d+', '\1', 'g') FROM line`

// pgKeptSQL returns a line for each index, constraint and statistics object, with the
// properties that must stay the same after the type of a column has changed. It leaves
// out OIDs below 16384, which belong to the server itself, and the CHECK constraints of
// phase guard, which the move adds. The target of a statistics object is read through
// JSON, because the column is missing before PostgreSQL 13.
const pgKeptSQL = `
SELECT format('index %s of %s, parent %s, tablespace %s, options %s, clustered %s, identity %s, targets %s, extensions %s, comment %s',
  c.oid::regclass, i.indrelid::regclass, (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = c.oid),
  (SELECT spcname FROM pg_tablespace s WHERE s.oid = c.reltablespace), (SELECT array_agg(o ORDER BY o) FROM unnest(c.reloptions) AS o), i.indisclustered, i.indisreplident,
  (SELECT array_agg(a.attstattarget ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid),
  (SELECT array_agg(refobjid ORDER BY refobjid) FROM pg_depend WHERE objid = c.oid AND deptype = 'x'), obj_description(c.oid, 'pg_class'))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.oid >= 16384 AND c.relnamespace <> 'pg_toast'::regnamespace
UNION ALL
SELECT format('constraint %s of %s, parent %s, own %s, inherited %s, validated %s, deferrable %s %s, no inherit %s, comment %s', c.conname, c.conrelid::regclass,
  (SELECT p.conname FROM pg_constraint p WHERE p.oid = c.conparentid), c.conislocal, c.coninhcount, c.convalidated, c.condeferrable, c.condeferred,
  contype = 'c' AND c.connoinherit, obj_description(c.oid, 'pg_constraint'))
FROM pg_constraint c WHERE c.oid >= 16384 AND c.conname !~ '^chk_|_positive\d*$'
UNION ALL
SELECT format('statistics %s of %s, kinds %s, owner %s, target %s, comment %s', s.stxname, s.stxrelid::regclass, s.stxkind, s.stxowner::regrole,
  to_jsonb(s) ->> 'stxstattarget', obj_description(s.oid, 'pg_statistic_ext'))
FROM pg_statistic_ext s`

// Kept returns the properties that a move has to preserve, as pgKeptSQL reads them.
func (d *PgDatabase) Kept(t *testing.T) string {
	t.Helper()
	return d.lines(t, pgKeptSQL)
}

// State returns the whole state of the database: its dump, and the properties that
// pg_dump does not show.
func (d *PgDatabase) State(t *testing.T) string {
	t.Helper()
	return d.Dump(t) + d.lines(t, pgCatalogSQL)
}

// lines returns the rows of a query of one column, sorted.
func (d *PgDatabase) lines(t *testing.T, query string) string {
	t.Helper()
	var lines []string
	if err := d.Raw(query).Scan(&lines).Error; err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}
