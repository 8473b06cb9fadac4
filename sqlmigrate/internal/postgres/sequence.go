package postgres

import (
	"context"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// readSequences reads the sequences that give values to columns, sorted by name.
func readSequences(ctx context.Context, q pgcatalog.QualifiedReader, nodes []pgcatalog.Node) []*sequence {
	var found []*sequence
	for _, s := range q.Sequences(ctx, nodes) {
		if len(s.Columns) > 0 { // excludes a sequence that a column owns but does not use
			found = append(found, readSequence(ctx, q, s))
		}
	}
	return found
}

// sequenceUsersSQL returns the objects that depend on a sequence. They would fail if the
// sequence was dropped. For a default, the query returns the table and the number of the
// column that has the default; for other objects both are 0. For a view, it returns the view
// instead of the rule _RETURN, for which the catalog records the dependency.
const sequenceUsersSQL = `
SELECT coalesce(ad.adrelid, 0)::bigint, coalesce(ad.adnum, 0),
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid
ORDER BY 3`

// readSequence adds to a sequence the facts that need a query for each sequence. These are
// its position (last_value), which is not in the catalog, the objects that need it, the
// properties that could not be recreated, and the statements that grant the rights on it
// again.
func readSequence(ctx context.Context, q pgcatalog.QualifiedReader, known *pgcatalog.Sequence) *sequence {
	return &sequence{
		Sequence: known,
		position: pgcatalog.One[position](ctx, q.Reader, "the value of sequence "+known.Display.String(), "SELECT last_value, is_called FROM "+known.Target()),
		users:    pgcatalog.Read[sequenceUser](ctx, q.Reader, sequenceUsersSQL, known.OID),
		losses: pgcatalog.Read[string](ctx, q.Reader,
			"SELECT reason FROM pg_catalog.pg_class c CROSS JOIN LATERAL ("+pgcatalog.LostSQL+") AS lost (reason) WHERE c.oid = $1::bigint::oid ORDER BY 1", known.OID),
		grants: q.Rights(ctx, "SEQUENCE", map[int64]string{known.OID: known.Target()})[known.OID],
	}
}

// linkSequences adds the sequences to the columns that use them, and decides which of them
// phase detach drops. A sequence is dropped if it is owned by a column of the graph, and
// only this column and the columns that partitions and children inherit from it use it. All
// other users are recorded in otherUsers. The findings are blockers for properties that
// would be lost with a sequence that phase detach removes.
func (g *graph) linkSequences(sequences []*sequence) engine.Findings {
	var found engine.Findings
	for _, s := range sequences {
		for _, n := range s.Columns {
			g.columns[n].sequences = append(g.columns[n].sequences, s)
		}
		// holder is the root of the column that owns the sequence or, if the graph does not
		// have this column, the root of the first column that uses the sequence. A root is
		// the topmost column of inheritance. The sequence is dropped only if all its users
		// are holder and columns below holder.
		user := g.columns[s.Columns[0]].root
		holder := user
		if owner := g.columns[s.Owner]; owner != nil {
			holder = owner.root
			s.isDropped = !s.Internal // the sequence of an identity goes with the identity
		}
		for _, u := range s.users {
			// c is nil if the object is no default, or the default of a column outside the graph.
			if c := g.columns[u.Column]; c == nil || c.root != holder {
				s.isDropped = false
				s.otherUsers = append(s.otherUsers, u.Object)
			}
		}
		if s.isRemoved() && !g.parks { // phase park replaces phase detach, and removes no sequence
			found.Add(s.block(user.relation.Display))
		}
	}
	return found
}

// block returns a blocker of the table for each property of the sequence that could not be
// recreated after phase detach has dropped the sequence.
func (s *sequence) block(table plan.TableName) engine.Findings {
	var found engine.Findings
	for _, reason := range s.losses {
		found.Block(table, "sequence "+s.Display.String(), "phase detach drops it, and "+reason,
			"revoke the rights, or take the label off, and restore that when phase detach is taken back")
	}
	return found
}
