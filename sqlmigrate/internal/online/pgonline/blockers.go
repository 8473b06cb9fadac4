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

// recreateFix is the fix of a blocker for an object that the move would not keep.
const recreateFix = "drop it before, and create it again afterwards"

// blockIf adds a blocker of table t if applies is true.
func (f *findings) blockIf(applies bool, t *table, object, reason, fix string) {
	if applies {
		f.Block(t.Display, object, reason, fix)
	}
}

// blockers returns the reasons why the tables in g cannot be moved. Many are objects that
// would stay on the old column unnoticed, or that PostgreSQL creates again only under long
// locks. Other reasons are properties of the tables, rights that the role lacks, triggers
// and rules that would disturb the copy, CHECKs and indexes that the server does not accept
// for a bigint, and a lock table of the server that is too small for the swap.
func blockers(r *pgcatalog.Reader, g *graph) []plan.Blocker {
	f, locks := findings{}, 0 // locks is a generous estimate of the locks that the swap takes in one transaction
	// The swap also locks the other tables of foreign keys, which have no columns to widen.
	for _, t := range g.all() {
		for _, m := range t.members { // the table and its partitions
			f.table(r, m)
			locks += 4 + 5*len(m.indexes)
		}
	}
	for _, k := range g.keys {
		f.blockIf(k.child.isPartitioned() && !k.Valid, k.child, "foreign key "+k.Name, "it is NOT VALID, and of a partitioned table: a new one would check all rows in the swap", "VALIDATE CONSTRAINT")
		if k.parent.isPartitioned() { // each part has a foreign key, with triggers, to each partition of the parent
			locks += 3 * len(k.parts) * len(k.parent.root.members)
		}
	}
	// The swap may use half of the server's lock table, because programs need the other half.
	// The fix makes the lock table at least twice as large as the swap needs.
	if locks > r.Locks/2 {
		f.Block(g.tables[0].Display, "table "+g.tables[0].Name, fmt.Sprintf("stage swap needs about %d locks, and the server's lock table is made for %d", locks, r.Locks),
			fmt.Sprintf("multiply max_locks_per_transaction by %d, and restart the server", locks*2/r.Locks+1))
	}
	for _, v := range g.views {
		f.view(g.tables[0], v)
	}
	for _, t := range g.families() { // the tables with columns to widen, and their partitions
		for _, c := range t.columns {
			f.column(t, c)
		}
		for _, i := range t.indexes {
			f.index(t, i)
		}
		// readDefinitions has tried to create the CHECKs and indexes for wide columns in an
		// empty copy of the table, and the server has refused.
		if t.refusal != nil {
			fix := recreateFix
			if pgsql.State(t.refusal) == pgsql.InsufficientPrivilege {
				fix = "GRANT role " + r.Role + " the missing right"
			}
			f.Block(t.Display, "table "+t.Name, "the server does not make its CHECKs and indexes for new columns: "+t.refusal.Error(), fix)
		}
		for _, trigger := range t.triggers {
			f.trigger(r, t, trigger)
		}
		for _, u := range t.uses {
			// The swap creates views again, and also the objects that are Recreated, such
			// as triggers.
			f.blockIf(u.View == 0 && !u.Recreated(), t, u.Object, "it uses column "+u.Column+", and would stay on the old one", recreateFix)
		}
		for _, name := range t.rules {
			f.Block(t.Display, "rule "+name, "it would rewrite the statements that copy rows", recreateFix)
		}
	}
	return f.Blockers
}

// view adds blockers for a view that the swap cannot drop and create again, unchanged and
// in a moment. t is any table of the move, to which the blocker is assigned.
func (f *findings) view(t *table, v *pgview.View) {
	object := "view " + v.Display.String()
	f.blockIf(v.Materialized, t, object, "it is materialized: to create it again takes as long as its query", recreateFix)
	for _, reason := range v.Blocked {
		f.Block(t.Display, object, "it has to be dropped, and "+reason, recreateFix)
	}
}

// table adds the blockers of a table's kind, owner, rights and number of columns. It blocks
// a table that inherits from another table, or from which another table inherits, because
// the move handles no inheritance except partitioning.
//
// It checks the right to create a function only for the tables that get a trigger. These
// have columns to widen and are not partitions, because a partition has the trigger of its
// partitioned table. If the role may not change the table at all, only that is a blocker.
func (f *findings) table(r *pgcatalog.Reader, t *table) {
	object := "table " + t.Name
	f.blockIf(t.Inherits && !t.isPartitioned() && !t.Partition, t, object, "it inherits from a table, or a table from it", "apply phase widen instead, with its locks")
	f.blockIf(t.Kind != "r" && t.Kind != "p", t, object, "it is not an ordinary table", "leave it out")
	f.blockIf(!t.MayChange, t, object, "role "+r.Role+" may not change it", "do this as "+t.Owner+", who owns it")
	f.blockIf(t.MayChange && !t.MayCreate && len(t.columns) > 0 && t.root == t, t, "schema "+t.Schema, "role "+r.Role+" may not create the function of a trigger in it",
		"GRANT CREATE ON SCHEMA "+pgsql.Quote(t.Schema)+" TO "+pgsql.Quote(r.Role))
	f.blockIf(t.Attributes+len(t.columns) > mostColumns, t, object,
		fmt.Sprintf("it has had %d columns, dropped ones included, and with the new ones would have more than the %d that PostgreSQL allows", t.Attributes, mostColumns),
		"apply phase widen instead, or copy the table into a new one, which has no dropped columns")
	f.blockIf(t.ForcesRowSecurity && !r.BypassesPolicies, t, object, "its policies hide rows from role "+r.Role+", which would not be copied", "do this as a role with BYPASSRLS")
}

// mostColumns is the limit of a table's columns in PostgreSQL, MaxHeapAttributeNumber.
const mostColumns = 1600

// column adds the blockers of a column to widen. Most are properties of the old column that
// the new column would not get.
func (f *findings) column(t *table, c *column) {
	object := "column " + c.Name
	f.blockIf(c.temporaryNameTaken, t, object, fmt.Sprintf("the table has a column %s or %s already", fresh(c), old(c)), "rename it, or drop it if an earlier move has left it")
	f.blockIf(c.Granted, t, object, "rights on the column were granted, which stay on the old one", "grant them on the table, or again afterwards")
	f.blockIf(c.Labelled, t, object, "it has a security label, which stays on the old one", "take the label off, and write it again afterwards")
	f.blockIf(c.Options, t, object, "it has options, which stay on the old one", "RESET them, and set them again afterwards")
	// The new column of a partition comes from the partitioned table, with the properties
	// of the column there.
	rootColumn, ownsSequence := t.root.widened(c.Name), slices.ContainsFunc(c.sequences, func(s *pgcatalog.Sequence) bool { return s.Owner == c.Node })
	f.blockIf(t.root != t && (ownsSequence || c.NotNull != rootColumn.NotNull || c.value != rootColumn.value), t, object,
		"the partition has a sequence, a default or NOT NULL for it that table "+t.root.Name+" does not have, and that the move would not keep", "give both columns the same")
	for _, s := range c.sequences {
		f.blockIf(s.Internal && s.HasExtras, t, "sequence "+s.Name,
			"it is an identity's, which is created again, and has rights, a comment or a user of its own that would be lost", "take them off, and write them again afterwards")
	}
}

// index adds a blocker for the index of an exclusion constraint (kind x), because the swap
// creates constraints from indexes that were built before it.
func (f *findings) index(t *table, i index) {
	f.blockIf(i.Kind == "x", t, "constraint "+i.Constraint,
		"an exclusion constraint cannot be made from an index that exists", "drop it before, and add it again afterwards")
}

// trigger adds the blockers of a trigger of a user. There are three reasons:
//
//   - It could change a key after the trigger of the move has copied the key to the new
//     column. Triggers fire in the order of their names.
//   - It would fire for each UPDATE by which the copy fills the new columns. If the role may
//     set session_replication_role, the copy turns off triggers that are enabled as usual
//     (O), but triggers that are ENABLE ALWAYS (A) or ENABLE REPLICA (R) then fire.
//     Otherwise all enabled triggers fire except ENABLE REPLICA. OnUpdate returns false for a
//     disabled trigger (D).
//   - Sessions have cached the plans of its function, and the role may not alter the
//     function to drop them.
func (f *findings) trigger(r *pgcatalog.Reader, t *table, g pgcatalog.Trigger) {
	object := "trigger " + g.Name
	f.blockIf(g.ChangesRows() && g.Name > triggerName, t, object,
		"it fires after "+triggerName+", by its name, and could change a key that has been copied", "ALTER TRIGGER … RENAME TO a name that comes before")
	f.blockIf(g.OnUpdate() && (!r.MaySetReplicationRole && g.Enabled != "R" || r.MaySetReplicationRole && g.Enabled != "O"), t, object,
		"it would fire for every row that is copied",
		"do this as a superuser, or GRANT SET ON PARAMETER session_replication_role TO "+pgsql.Quote(r.Role)+", with which triggers that are ENABLE ALWAYS or ENABLE REPLICA fire nevertheless")
	f.blockIf(g.Language == "plpgsql" && !g.MayChangeFunction, t, object,
		"its function "+g.Function+" remembers the type of the keys until it is altered, which role "+r.Role+" may not do", "do this as "+g.FunctionOwner+", who owns it")
}

// notes returns notes on work that users have to do on other servers, which are the
// subscribers of publications that contain the tables.
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
