package pgcatalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// LostSQL is a query for the properties of a relation that cannot be restored after the
// relation was dropped, as reasons for a message. The query around it names the relation's
// row of pg_class c. The properties are rights that only another role can grant, and
// security labels, which only a server with their provider can write.
const LostSQL = `
     SELECT 'its security label of provider ' || l.provider || ' would be lost'
     FROM pg_catalog.pg_seclabel l WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = c.oid
     UNION
     SELECT 'rights on it were granted by ' || pg_get_userbyid(a.grantor) || ', who would have to do it again'
     FROM (SELECT c.relacl UNION ALL SELECT attacl FROM pg_catalog.pg_attribute WHERE attrelid = c.oid) AS acl (acl), aclexplode(acl.acl) AS a
     WHERE a.grantor <> c.relowner`

// rightsSQL returns the rights that the owner of a relation has lost, and the rights that
// other roles have on the relation and its columns. The first part compares the rights
// that an owner has by default (acldefault, for a sequence 's' or a relation 'r') with
// the present rights; relacl is NULL if no right was ever changed. The second part reads
// the rights on the relation (attnum 0) and on its columns. Grantee 0 is PUBLIC. The
// order is the order of the grants.
const rightsSQL = `
SELECT c.oid::bigint, g.revoke, g.column_name, g.grantee, g.privileges, g.grantable
FROM unnest($1::text::oid[]) AS relation (oid)
JOIN pg_catalog.pg_class c ON c.oid = relation.oid
CROSS JOIN LATERAL (
  SELECT true AS revoke, '' AS column_name, quote_ident(pg_get_userbyid(c.relowner)) AS grantee,
         string_agg(o.privilege_type, ', ') AS privileges, false AS grantable, 0 AS attnum, min(o.number) AS number
  FROM aclexplode(acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner)) WITH ORDINALITY AS o (grantor, grantee, privilege_type, is_grantable, number)
  WHERE c.relacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee = c.relowner AND a.privilege_type = o.privilege_type)
  HAVING count(*) > 0
  UNION ALL
  SELECT false, acl.name, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
         string_agg(a.privilege_type, ', ' ORDER BY a.number), a.is_grantable, acl.attnum, min(a.number)
  FROM (SELECT c.relacl, '', 0 UNION ALL SELECT attacl, attname, attnum FROM pg_catalog.pg_attribute WHERE attrelid = c.oid) AS acl (acl, name, attnum),
       aclexplode(acl.acl) WITH ORDINALITY AS a (grantor, grantee, privilege_type, is_grantable, number)
  WHERE acl.attnum > 0 OR a.grantee <> c.relowner
  GROUP BY acl.name, acl.attnum, a.grantee, a.is_grantable
) AS g
ORDER BY c.oid, g.attnum, g.revoke DESC, g.number`

// Rights returns the statements that give a new relation the rights of an existing
// relation, for example if a view is dropped and created again. The keys of targets are the
// OIDs of the existing relations, and the values of targets are the quoted names of the new
// relations. The result has the statements by the OID of the existing relation. kind is
// TABLE, also for views, or SEQUENCE.
func (q QualifiedReader) Rights(ctx context.Context, kind string, targets map[int64]string) map[int64][]string {
	statements := map[int64][]string{}
	// Default privileges may grant rights on a new relation, which have to be revoked.
	if len(Read[bool](ctx, q.Reader, "SELECT true FROM pg_catalog.pg_default_acl WHERE defaclobjtype = CASE $1::text WHEN 'SEQUENCE' THEN 'S' ELSE 'r' END::\"char\" LIMIT 1", kind)) > 0 {
		for oid, target := range targets {
			statements[oid] = []string{revokeDefaults(kind, target)}
		}
	}
	for _, right := range Read[struct {
		OID                         int64
		Revoke                      bool
		Column, Grantee, Privileges string
		Grantable                   bool
	}](ctx, q.Reader, rightsSQL, slices.Sorted(maps.Keys(targets))) {
		if right.Column != "" { // each privilege is followed by the column: SELECT (id), UPDATE (id)
			column := " (" + pgsql.Quote(right.Column) + ")"
			right.Privileges = strings.ReplaceAll(right.Privileges, ", ", column+", ") + column
		}
		on := right.Privileges + " ON " + kind + " " + targets[right.OID]
		text := "GRANT " + on + " TO " + right.Grantee + pgsql.If(right.Grantable, " WITH GRANT OPTION")
		if right.Revoke { // a right that the owner has by default, and has lost on the existing relation
			text = "REVOKE " + on + " FROM " + right.Grantee
		}
		statements[right.OID] = append(statements[right.OID], text)
	}
	return statements
}

// revokeDefaults returns a statement that revokes the rights that other roles have by
// default on a new relation, which has the name target. kind is TABLE or SEQUENCE. The
// statement reads these rights from the catalog when it runs, because they depend on the
// role that created the relation. If there are none, it executes a SELECT without columns,
// which does nothing. Each % of the target is doubled, because format reads the text.
func revokeDefaults(kind, target string) string {
	revoke := "REVOKE ALL ON " + kind + " " + strings.ReplaceAll(target, "%", "%%") + " FROM %s"
	return pgsql.Do("", "  EXECUTE coalesce((SELECT pg_catalog.string_agg(pg_catalog.format("+pgsql.Literal(revoke)+",\n"+
		"      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END), '; ')\n"+
		"    FROM pg_catalog.pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = "+pgsql.Literal(target)+"::regclass AND a.grantee <> c.relowner), 'SELECT');\n")
}
