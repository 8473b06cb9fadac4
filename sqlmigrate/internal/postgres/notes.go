package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// notesOn returns notes on the tables of a plan, for example that the role may not change a
// table. role is the current role. requested has the OIDs of the tables that the user
// named. If g.parks is true, the plan has phase park instead of phases detach and guard, so
// the notes on phase detach are left out.
func notesOn(g *graph, role string, requested map[int64]bool) engine.Findings {
	var found engine.Findings
	referring := map[int64]bool{} // tables with foreign keys that widen creates again, which only their owner may do
	for _, t := range g.tables {
		for _, oid := range t.up.referringTables {
			referring[oid] = true
		}
	}
	for _, t := range g.tables {
		for _, c := range t.columns {
			if !g.parks {
				found.Add(noteColumn(t, c))
			}
		}
		assigned := !g.parks && len(t.assignedColumns()) > 0 // phase detach changes the table
		// The second condition is that a phase changes the table.
		if !t.MayChange && (referring[t.OID] || len(t.narrowColumns()) > 0 || len(t.checks) > 0 || assigned || g.parks && t.refusesKeys()) {
			found.Note("Role %s may not change table %s: apply the plan as %s, who owns it.", role, t.Display, t.Owner)
		}
		if !t.MayCreate && len(t.up.creates) > 0 {
			found.Note("Role %s may not create indexes in schema %s, and phase widen creates those of table %s again: the role that applies the plan needs CREATE on it.",
				role, t.Schema, t.Display)
		}
		if assigned && !slices.ContainsFunc(t.members, func(oid int64) bool { return requested[oid] }) {
			found.Note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", t.Display)
		}
	}
	return found
}

// noteOnPrepared and noteOnStatistics are notes on the effect of phase widen on programs
// and on the planner.
const (
	noteOnPrepared   = "After phase widen, connections with prepared statements fail once for each of them, with “cached plan must not change result type” or a value that is too large for int4: restart the programs, or let their pools open new connections."
	noteOnStatistics = "PostgreSQL forgets the planner's statistics of a column whose type changes, and a rewrite does not make autovacuum gather new ones: after phase widen, and after it is taken back, run ANALYZE on its tables."
)

// noteColumn returns notes on identities that refuse the keys of programs, and on sequences
// that phase detach does not drop. It returns a blocker if another object uses the sequence
// of an identity, because an identity is always removed together with its sequence.
func noteColumn(t *table, c *column) engine.Findings {
	var found engine.Findings
	for _, m := range c.members {
		if m.Always && m.ownIdentity() != nil {
			found.Note("Column %s of table %s is GENERATED ALWAYS: until phase detach, the database refuses keys that a program brings.",
				c.Name, m.relation.Display)
		}
	}
	for _, s := range c.allSequences() {
		switch {
		case s.Internal && len(s.otherUsers) > 0:
			found.Block(t.Display, strings.Join(s.otherUsers, ", "),
				"it uses sequence "+s.Display.String()+", which goes with the identity of column "+c.Name, "give it a sequence of its own")
		case s.isRemoved(): // no other object needs it
		case len(s.otherUsers) > 0:
			found.Note("Sequence %s of column %s of table %s stays: it is used by %s.", s.Display, c.Name, t.Display, strings.Join(s.otherUsers, ", "))
		default:
			found.Note("Sequence %s of column %s of table %s stays: no column owns it.", s.Display, c.Name, t.Display)
		}
	}
	return found
}

// functionsSQL returns functions that meet two conditions. The first condition is that the
// text of the function contains one of the names ($1), or that the function is a trigger
// function of one of the tables ($2). The second condition is that the text matches the
// pattern ($3), or that the result or an argument has one of the types ($4). Functions of the
// server and of extensions (deptype 'e') are excluded, and functions in C, which have no
// text.
const functionsSQL = `
WITH name (name) AS MATERIALIZED (
  SELECT lower(name) FROM json_array_elements_text($1::text::json) AS name
)
SELECT DISTINCT pg_describe_object('pg_catalog.pg_proc'::regclass, f.oid, 0)
FROM pg_catalog.pg_proc f
JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_'
  AND l.lanname NOT IN ('c', 'internal')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
  AND (EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgfoid = f.oid AND t.tgrelid = ANY ($2::text::oid[]))
       OR EXISTS (SELECT FROM name WHERE position(name IN lower(f.prosrc)) > 0))
  AND (f.prosrc ~* $3::text
       OR f.prorettype = ANY ($4::text::oid[])
       OR coalesce(f.proallargtypes, f.proargtypes::oid[]) OPERATOR(pg_catalog.&&) $4::text::oid[])
ORDER BY 1`

const (
	// integerWords is a pattern for the words for narrow integers in the text of a
	// function.
	integerWords = `\m(smallint|integer|int[24]?)\M`
	// anyText is a pattern that every text matches.
	anyText = `.`
)

// integerOIDs are the OIDs of smallint, integer and their arrays, which are the same on
// every server.
const integerOIDs = "{21,23,1005,1007}"

// readFunctions returns the descriptions of the functions that contain one of the names, or
// are trigger functions of one of the tables. Their text must also match the pattern, or
// their result or an argument must be a narrow integer.
func readFunctions(ctx context.Context, r *pgcatalog.Reader, names []string, tables []int64, pattern string) []string {
	return pgcatalog.Read[string](ctx, r, functionsSQL, names, tables, pattern, integerOIDs)
}

// noteFunctions adds a note on the functions that use a table to be widened, and smallint or
// integer. Such a function may fail for a larger key, and the server analyzes its body only
// when it runs.
func noteFunctions(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	var names []string
	var tables []int64
	for _, t := range g.tables {
		if len(t.narrowColumns()) > 0 {
			names, tables = append(names, t.Name), append(tables, t.members...)
		}
	}
	if functions := readFunctions(ctx, r, names, tables, integerWords); len(functions) > 0 {
		found.Note("These use a table to be widened, and integers; see that they can do with a bigint, because PostgreSQL only finds out when they run: %s.",
			engine.List(functions))
	}
	return found
}

// noteSequenceFunctions adds a note for each sequence that phase detach removes and whose
// name is in the text of a function, because the function may need it. It passes anyText
// and no tables to readFunctions, so that the name alone decides. First it searches for all
// names together, because usually no function contains any of them, and only then for each
// name.
func noteSequenceFunctions(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	var removed []*sequence
	var names []string
	for _, t := range g.tables {
		for _, c := range t.columns {
			for _, s := range c.allSequences() {
				if s.isRemoved() {
					removed, names = append(removed, s), append(names, s.Name)
				}
			}
		}
	}
	if len(readFunctions(ctx, r, names, nil, anyText)) == 0 {
		return found
	}
	for _, s := range removed {
		if functions := readFunctions(ctx, r, []string{s.Name}, nil, anyText); len(functions) > 0 {
			found.Note("Sequence %s goes in phase detach, and is named in the text of %s.", s.Display, engine.List(functions))
		}
	}
	return found
}

// notePublications adds a note for each table to be widened that is in a publication,
// because subscribers stop if a value does not fit into their column.
func notePublications(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	for _, t := range g.tables {
		if len(t.narrowColumns()) == 0 {
			continue
		}
		if names := r.Publications(ctx, t.Relation); len(names) > 0 {
			found.Note("Table %s is in publication %s: widen the columns of the subscribers first.", t.Display, strings.Join(names, ", "))
		}
	}
	return found
}
