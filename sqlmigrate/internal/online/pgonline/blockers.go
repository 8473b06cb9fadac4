package pgonline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// findings collects the blockers of an online move that Inspect has not found already.
type findings struct{ engine.Findings }

const again = "drop it before, and create it again afterwards"

// when adds a blocker if found is true.
func (f *findings) when(found bool, t *table, object, reason, fix string) {
	if found {
		f.Block(t.Display, object, reason, fix)
	}
}

// blockers returns the objects that would not survive the move, because they would stay
// on the old column unnoticed, or because PostgreSQL recreates them only under long
// locks.
func blockers(r *pgcatalog.Reader, g *graph) []plan.Blocker {
	f, locks := findings{}, 0 // an estimate of the locks of the swap
	for _, t := range g.all() {
		for _, m := range t.members {
			f.table(r, m)
			locks += 4 + 5*len(m.indexes)
		}
	}
	for _, k := range g.keys {
		f.when(k.child.parted() && !k.Valid, k.child, "foreign key "+k.Name, "it is NOT VALID, and of a partitioned table: a new one would check all rows in the swap", "VALIDATE CONSTRAINT")
		if k.parent.parted() { // each part has a foreign key, with triggers, to each partition of the parent
			locks += 3 * len(k.parts) * len(k.parent.root.members)
		}
	}
	if locks > r.Locks/2 {
		f.Block(g.tables[0].Display, "table "+g.tables[0].Name, fmt.Sprintf("stage swap needs about %d locks, and the server's lock table is made for %d", locks, r.Locks),
			fmt.Sprintf("multiply max_locks_per_transaction by %d, and restart the server", locks*2/r.Locks+1))
	}
	for _, v := range g.views {
		f.view(g.tables[0], v)
	}
	for _, t := range g.families() {
		for _, c := range t.columns {
			f.column(t, c)
		}
		for _, i := range t.indexes {
			f.index(t, i)
		}
		if t.refused != nil {
			fix := again
			if pgsql.State(t.refused) == pgsql.InsufficientPrivilege {
				fix = "GRANT that to role " + r.Role
			}
			f.Block(t.Display, "table "+t.Name, "the server does not make its CHECKs and indexes for new columns: "+t.refused.Error(), fix)
		}
		for _, trigger := range t.triggers {
			f.trigger(r, t, trigger)
		}
		for _, u := range t.uses {
			f.when(u.View == 0 && !u.Recreated(), t, u.Object, "it uses column "+u.Column+", and would stay on the old one", again)
		}
		for _, name := range t.rules {
			f.Block(t.Display, "rule "+name, "it would rewrite the statements that copy rows", again)
		}
	}
	return f.Blockers
}

// view adds a blocker for a view that cannot be created again unchanged in a moment.
func (f *findings) view(t *table, v *pgview.View) {
	object := "view " + v.Display.String()
	f.when(v.Materialized, t, object, "it is materialized: to create it again takes as long as its query", again)
	for _, reason := range v.Blocked {
		f.Block(t.Display, object, "it has to be dropped, and "+reason, again)
	}
}

func (f *findings) table(r *pgcatalog.Reader, t *table) {
	object := "table " + t.Name
	f.when(t.Inherits && !t.parted() && !t.Partition, t, object, "it inherits from a table, or a table from it", "apply phase widen instead, with its locks")
	f.when(t.Kind != "r" && t.Kind != "p", t, object, "it is not an ordinary table", "leave it out")
	f.when(!t.Owned, t, object, "role "+r.Role+" may not change it", "do this as "+t.Owner+", who owns it")
	f.when(t.Owned && !t.Creates && len(t.columns) > 0 && t.root == t, t, "schema "+t.Schema, "role "+r.Role+" may not create the function of a trigger in it",
		"GRANT CREATE ON SCHEMA "+pgsql.Quote(t.Schema)+" TO "+pgsql.Quote(r.Role))
	f.when(t.Forced && !r.Bypass, t, object, "its policies hide rows from role "+r.Role+", which would not be copied", "do this as a role with BYPASSRLS")
}

func (f *findings) column(t *table, c *column) {
	object := "column " + c.Name
	f.when(c.taken, t, object, fmt.Sprintf("the table has a column %s or %s already", fresh(c), old(c)), "rename it, or drop it if an earlier move has left it")
	f.when(c.Granted, t, object, "rights on the column were granted, which stay on the old one", "grant them on the table, or again afterwards")
	f.when(c.Labelled, t, object, "it has a security label, which stays on the old one", "take the label off, and write it again afterwards")
	f.when(c.Options, t, object, "it has options, which stay on the old one", "RESET them, and set them again afterwards")
	of, owns := t.root.widened(c.Name), slices.ContainsFunc(c.sequences, func(s *pgcatalog.Sequence) bool { return s.Owner == c.Node })
	f.when(t.root != t && (owns || c.NotNull != of.NotNull || c.value != of.value), t, object,
		"the partition has a sequence, a default or NOT NULL for it that table "+t.root.Name+" does not have, and that the move would not keep", "give both columns the same")
	for _, s := range c.sequences {
		f.when(s.Internal && s.Special, t, "sequence "+s.Name,
			"it is an identity's, which is created again, and has rights, a comment or a user of its own that would be lost", "take them off, and write them again afterwards")
	}
}

func (f *findings) index(t *table, i index) {
	f.when(i.Kind == "x", t, "constraint "+i.Constraint,
		"an exclusion constraint cannot be made from an index that exists", "drop it before, and add it again afterwards")
}

func (f *findings) trigger(r *pgcatalog.Reader, t *table, g pgcatalog.Trigger) {
	object := "trigger " + g.Name
	f.when(g.ChangesRows() && g.Name > triggerName, t, object,
		"it fires after "+triggerName+", by its name, and could change a key that has been copied", "ALTER TRIGGER … RENAME TO a name that comes before")
	f.when(g.OnUpdate() && (!r.Super && g.Enabled != "R" || r.Super && g.Enabled != "O"), t, object,
		"it would fire for every row that is copied",
		"do this as a superuser, or GRANT SET ON PARAMETER session_replication_role TO "+pgsql.Quote(r.Role)+", with which triggers that are ENABLE ALWAYS or ENABLE REPLICA fire nevertheless")
	f.when(g.Language == "plpgsql" && !g.Owned, t, object,
		"its function "+g.Function+" remembers the type of the keys until it is altered, which role "+r.Role+" may not do", "do this as "+g.FunctionOwner+", who owns it")
}

// notes returns notes on work that has to be done on other servers.
func notes(g *graph) []string {
	var found []string
	for _, t := range g.families() {
		if len(t.publications) > 0 {
			found = append(found, fmt.Sprintf("Table %s is in publication %s: before stage prepare, add the new columns, as bigint, to the subscribers, or they stop; after stage swap, rename the columns there as the swap does.",
				t.Name, strings.Join(t.publications, ", ")))
		}
	}
	return found
}
