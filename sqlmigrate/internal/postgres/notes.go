package postgres

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// notesOn are about the tables of a plan. asked are the OIDs of those that were
// asked for.
func notesOn(g *graph, role string, asked map[int64]bool) engine.Findings {
	var found engine.Findings
	refers := map[int64]bool{} // by foreign keys that are created again
	for _, t := range g.tables {
		for _, oid := range t.up.referring {
			refers[oid] = true
		}
	}
	for _, t := range g.tables {
		for _, c := range t.columns {
			if !g.parks {
				found.Add(noteColumn(t, c))
			}
		}
		assigned := !g.parks && len(t.assignedColumns()) > 0
		if !t.Owned && (refers[t.OID] || len(t.narrowColumns()) > 0 || len(t.checks) > 0 || assigned || g.parks && t.refusesKeys()) {
			found.Note("Role %s may not change table %s: apply the plan as %s, who owns it.", role, t.Display, t.Owner)
		}
		if !t.Creates && len(t.up.creates) > 0 {
			found.Note("Role %s may not create indexes in schema %s, and phase widen creates those of table %s again: the role that applies the plan needs CREATE on it.",
				role, t.Schema, t.Display)
		}
		if assigned && !slices.ContainsFunc(t.members, func(oid int64) bool { return asked[oid] }) {
			found.Note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", t.Display)
		}
	}
	return found
}

// notesOnWiden are about what phase widen does to programs and to the planner.
var notesOnWiden = []string{
	"After phase widen, connections with prepared statements fail once for each of them, with “cached plan must not change result type” or a value that is too large for int4: restart the programs, or let their pools open new connections.",
	"PostgreSQL forgets the planner's statistics of a column whose type changes, and a rewrite does not make autovacuum gather new ones: after phase widen, and after it is taken back, run ANALYZE on its tables.",
}

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
		case s.Internal && len(s.others) > 0:
			found.Block(t.Display, strings.Join(s.others, ", "),
				"it uses sequence "+s.Display+", which goes with the identity of column "+c.Name, "give it a sequence of its own")
		case s.goes():
		case len(s.others) > 0:
			found.Note("Sequence %s of column %s of table %s stays: it is used by %s.", s.Display, c.Name, t.Display, strings.Join(s.others, ", "))
		default:
			found.Note("Sequence %s of column %s of table %s stays: no column owns it.", s.Display, c.Name, t.Display)
		}
	}
	return found
}
