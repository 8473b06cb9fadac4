package postgres

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A sequence gives values to columns.
type sequence struct {
	*pgcatalog.Sequence
	at     position
	users  []sequenceUser // that need it
	lost   []string       // with the sequence, and why
	grants []string       // statements for the rights on it

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
// is not among its parameters, what needs it, and what it would not get back.
func readSequence(ctx context.Context, q pgcatalog.QualifiedReader, known *pgcatalog.Sequence) *sequence {
	return &sequence{
		Sequence: known,
		at:       pgcatalog.One[position](ctx, q.Reader, "the value of sequence "+known.Display.String(), "SELECT last_value, is_called FROM "+known.Target()),
		users:    pgcatalog.Read[sequenceUser](ctx, q.Reader, sequenceUsersSQL, known.OID),
		lost: pgcatalog.Read[string](ctx, q.Reader,
			"SELECT reason FROM pg_catalog.pg_class c CROSS JOIN LATERAL ("+pgcatalog.LostSQL+") AS lost (reason) WHERE c.oid = $1::bigint::oid ORDER BY 1", known.OID),
		grants: q.Rights(ctx, "SEQUENCE", map[int64]string{known.OID: known.Target()})[known.OID],
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
func (s *sequence) block(table plan.TableName) engine.Findings {
	var found engine.Findings
	for _, reason := range s.lost {
		found.Block(table, "sequence "+s.Display.String(), "phase detach drops it, and "+reason,
			"revoke the rights, or take the label off, and restore that when phase detach is taken back")
	}
	return found
}
