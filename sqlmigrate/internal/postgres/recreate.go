package postgres

import (
	"cmp"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A recreated is what has to be dropped before a column is made narrow again,
// and then created as it was, because its expressions would not be what they
// were.
type recreated struct{ drops, creates, attaches []string }

// recreate plans what the expressions belong to, by the tables with which that is
// changed, parents first.
func recreate(g *graph, rewritten []expression) map[*table]*recreated {
	roots, ranks, found := map[int64]*table{}, map[int64]int{}, map[*table]*recreated{}
	for _, t := range g.tables {
		found[t] = &recreated{}
		for rank, member := range t.members {
			roots[member], ranks[member] = t, rank
		}
	}
	for _, t := range g.tables { // a child's other columns can be in a table of their own
		roots[t.OID] = t
	}
	slices.SortStableFunc(rewritten, func(a, b expression) int { return cmp.Compare(ranks[a.Table], ranks[b.Table]) })
	seen := map[int64]bool{}
	for _, e := range rewritten {
		if !seen[e.OID] {
			seen[e.OID] = true
			e.Created.addTo(found[roots[e.Table]])
		}
	}
	return found
}

// A definition is of an index, a constraint or statistics.
type definition struct {
	Kind, Schema, Name, Create string
	Table                      string // of a constraint
	ParentSchema, Parent       string // of a partition's index
}

// addTo plans the object. A partition's index is created separately, to keep its
// name, and attached to its parent, with which it was dropped. A constraint that
// a table has both from a parent and of its own is dropped after its parent's,
// since it cannot be before.
func (d *definition) addTo(into *recreated) {
	target := pgsql.Qualified(d.Schema, d.Name)
	switch {
	case d.Table != "":
		alter, constraint := "ALTER TABLE "+pgsql.Qualified(d.Schema, d.Table), pgsql.Quote(d.Name)
		into.drops = append(into.drops, alter+" DROP CONSTRAINT "+constraint)
		d.Create = alter + " ADD CONSTRAINT " + constraint + " " + d.Create
	case d.Parent != "":
		into.attaches = append(into.attaches, "ALTER INDEX "+pgsql.Qualified(d.ParentSchema, d.Parent)+" ATTACH PARTITION "+target)
	default:
		into.drops = append(into.drops, "DROP "+d.Kind+" "+target)
	}
	into.creates = append(into.creates, d.Create)
}

// noTablespace comes before anything is created: the connection's would be used
// otherwise, and what has one gets it afterwards.
const noTablespace = "SET LOCAL default_tablespace = ''"

// around puts the statements around that which changes the type.
func (r *recreated) around(alter string) []string {
	creates := r.creates
	if len(creates) > 0 {
		creates = append([]string{noTablespace}, creates...)
	}
	return slices.Concat(r.drops, []string{alter}, creates, r.attaches)
}
