package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A sequence gives values to columns.
type sequence struct {
	*pgcatalog.Sequence
	at       position
	users    []sequenceUser // that need it
	labels   []string       // providers of security labels
	grants   []string       // statements, after REVOKE where that is needed
	grantors []string       // but for the owner

	drop   bool     // goes when its column does without
	others []string // that use it
}

// goes reports whether phase detach removes the sequence: by itself, or with its
// identity.
func (s *sequence) goes() bool { return s.drop || s.Internal }

// A position is how far a sequence has come.
type position struct {
	Last   int64
	Called bool // Last has been given away
}

// A sequenceUser is an object that depends on a sequence.
type sequenceUser struct {
	Column pgcatalog.Node // of a default
	Object string
}

// readSequences reads the sequences that give values to columns, by their names.
func readSequences(ctx context.Context, q pgcatalog.QualifiedReader, nodes []pgcatalog.Node) []*sequence {
	var found []*sequence
	for _, s := range q.Sequences(ctx, nodes) {
		if len(s.Columns) > 0 { // not only owned by one
			found = append(found, readSequence(ctx, q, s))
		}
	}
	return found
}

// sequenceUsersSQL asks what would fail without a sequence. A view is named instead of
// its rule.
const sequenceUsersSQL = `
SELECT coalesce(ad.adrelid, 0)::bigint, coalesce(ad.adnum, 0),
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid
ORDER BY 3`

// readSequence reads what takes a query for each sequence: how far it has come, which
// is not among its parameters, what needs it, and its security labels, which only a
// server with their provider could write again.
func readSequence(ctx context.Context, q pgcatalog.QualifiedReader, known *pgcatalog.Sequence) *sequence {
	s := &sequence{
		Sequence: known,
		at:       pgcatalog.One[position](ctx, q.Reader, "the value of sequence "+known.Display, "SELECT last_value, is_called FROM "+known.Target()),
		users:    pgcatalog.Read[sequenceUser](ctx, q.Reader, sequenceUsersSQL, known.OID),
		labels: pgcatalog.Read[string](ctx, q.Reader, `
SELECT provider FROM pg_catalog.pg_seclabel
WHERE classoid = 'pg_catalog.pg_class'::regclass AND objoid = $1::bigint::oid ORDER BY provider`, known.OID),
	}
	s.readRights(ctx, q)
	return s
}

// A right on a sequence. Changed reports whether any has been granted or revoked since
// it was created: before, the catalog has none.
type right struct {
	Owner               string
	Changed, Own        bool // Own: it is the owner's
	Grantee, Privileges string
	Grantable           bool
	Grantor             string // unless it is the owner
}

// rightsSQL asks who has rights on a sequence, and who granted them: they are lost
// when it is dropped.
const rightsSQL = `
SELECT pg_get_userbyid(c.relowner), c.relacl IS NOT NULL, coalesce(a.grantee = c.relowner, false),
       coalesce(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ''),
       coalesce(string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type), ''), coalesce(a.is_grantable, false),
       CASE WHEN a.grantor <> c.relowner THEN pg_get_userbyid(a.grantor) ELSE '' END
FROM pg_catalog.pg_class c LEFT JOIN LATERAL aclexplode(c.relacl) AS a ON true
WHERE c.oid = $1::bigint::oid
GROUP BY c.oid, a.grantee, a.is_grantable, a.grantor ORDER BY 4, 6, 7`

// defaultRightsSQL asks who gets rights on each new sequence of a schema that the
// current role, or the owner, creates: the old one need not have given them these.
const defaultRightsSQL = `
SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
FROM pg_catalog.pg_default_acl d
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace
CROSS JOIN LATERAL aclexplode(d.defaclacl) AS a
WHERE d.defaclobjtype = 'S' AND (n.nspname IS NULL OR n.nspname = $1::text) AND a.grantee <> d.defaclrole
  AND pg_get_userbyid(d.defaclrole) IN (current_user, $2::text)
ORDER BY 1`

// readRights writes the statements that give a new sequence the rights on this one.
func (s *sequence) readRights(ctx context.Context, q pgcatalog.QualifiedReader) {
	rights := pgcatalog.Read[right](ctx, q.Reader, rightsSQL, s.OID)
	if len(rights) == 0 {
		return
	}
	for _, grantee := range pgcatalog.Read[string](ctx, q.Reader, defaultRightsSQL, s.Schema, rights[0].Owner) {
		s.grants = append(s.grants, "REVOKE ALL ON SEQUENCE "+s.Target()+" FROM "+grantee)
	}
	var own []string
	for _, x := range rights {
		switch {
		case x.Grantor != "":
			s.grantors = append(s.grantors, x.Grantor)
		case x.Own:
			own = append(own, strings.Split(x.Privileges, ", ")...)
		case x.Grantee != "":
			s.grants = append(s.grants, "GRANT "+x.Privileges+" ON SEQUENCE "+s.Target()+" TO "+x.Grantee+pgsql.If(x.Grantable, " WITH GRANT OPTION"))
		}
	}
	for _, privilege := range []string{"SELECT", "UPDATE", "USAGE"} {
		if rights[0].Changed && !slices.Contains(own, privilege) {
			s.grants = append(s.grants, "REVOKE "+privilege+" ON SEQUENCE "+s.Target()+" FROM "+pgsql.Quote(rights[0].Owner))
		}
	}
}

// link gives columns their sequences, and finds out whether these can go: nothing
// but the column that owns one, and those that have this from it, may use it.
func (g *graph) link(sequences []*sequence) engine.Findings {
	var found engine.Findings
	for _, s := range sequences {
		for _, n := range s.Columns {
			g.columns[n].sequences = append(g.columns[n].sequences, s)
		}
		user := g.columns[s.Columns[0]].root
		home := user
		if owner := g.columns[s.Owner]; owner != nil {
			home = owner.root
			s.drop = !s.Internal
		}
		for _, u := range s.users {
			if c := g.columns[u.Column]; c == nil || c.root != home {
				s.drop = false
				s.others = append(s.others, u.Object)
			}
		}
		if s.goes() && !g.parks {
			found.Add(s.block(user.relation.Display))
		}
	}
	return found
}

// block is for what a sequence that goes could not get back.
func (s *sequence) block(table string) engine.Findings {
	var found engine.Findings
	for _, provider := range s.labels {
		found.Block(table, "sequence "+s.Display,
			"phase detach drops it, and its security label of provider "+provider+" with it",
			"take the label off, and write it again when phase detach is taken back")
	}
	if len(s.grantors) > 0 {
		found.Block(table, "sequence "+s.Display,
			"rights on it were granted by "+strings.Join(s.grantors, ", ")+", who would have to do it again when phase detach is taken back",
			"revoke them, and grant them as the owner")
	}
	return found
}
