package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// readViews reads the views that use columns to widen, in the order in which they can be
// created. The findings are blockers for the views that cannot be created again. uses has
// the columns that views use directly.
func readViews(ctx context.Context, q pgcatalog.QualifiedReader, g *graph, uses []pgcatalog.Use) ([]*view, engine.Findings) {
	if len(uses) == 0 {
		return nil, engine.Findings{}
	}
	oids := make([]int64, len(uses))
	for i, u := range uses {
		oids[i] = u.View
	}
	var views []*view
	var found engine.Findings
	byOID := map[int64]*view{}
	for _, v := range pgview.Read(ctx, q, oids) {
		v := &view{View: v}
		views, byOID[v.OID] = append(views, v), v
	}
	for _, u := range uses {
		if v := byOID[u.View]; v != nil {
			v.columns = append(v.columns, g.columns[u.Node])
		}
	}
	readParts(ctx, q, byOID)
	for _, v := range views { // the views that v uses come before v, so their columns are complete
		direct := v.columns
		for _, oid := range v.Uses {
			v.columns = append(v.columns, byOID[oid].columns...)
		}
		if len(direct) == 0 { // v uses columns only through other views
			direct = v.columns
		}
		// A view may also be here for a rule other than the rule of its rows, for example a rule
		// by which an INSERT reads another view. It then has no columns, and its blocker no table.
		table := plan.TableName{}
		if n := len(direct); n > 0 {
			table = direct[n-1].relation.Display
		}
		found.Add(v.block(table))
	}
	return views, found
}

// definitions returns the views in the form that package pgview takes.
func definitions(views []*view) []*pgview.View {
	list := make([]*pgview.View, len(views))
	for i, v := range views {
		list[i] = v.View
	}
	return list
}

// block returns a blocker of the table for each reason why the view cannot be created again.
func (v *view) block(table plan.TableName) engine.Findings {
	var found engine.Findings
	for _, reason := range v.Blocked {
		found.Block(table, "view "+v.Display.String(), "it has to be dropped, and "+reason, "drop what is in the way before, and create it again afterwards")
	}
	return found
}

// readParts reads the indexes and extended statistics of materialized views, because they
// are dropped with the view. It adds their statements to the views.
func readParts(ctx context.Context, q pgcatalog.QualifiedReader, views map[int64]*view) {
	const ofIndexes = " WHERE i.indrelid = ANY ($1::text::oid[]) ORDER BY c.oid"
	const ofStatistics = " WHERE s.stxrelid = ANY ($1::text::oid[]) ORDER BY s.oid"
	oids := slices.Sorted(maps.Keys(views))
	for _, i := range pgcatalog.Read[index](ctx, q.Reader, "SELECT "+indexColumnsSQL+ofIndexes, oids) {
		views[i.Of].addPart(&i)
	}
	for _, s := range pgcatalog.Read[keptStatistics](ctx, q.Reader, "SELECT "+statisticsColumnsSQL+ofStatistics, oids) {
		views[s.Of].addPart(&s)
	}
}

// addPart adds to v.Parts, which run after the view was created, the statements for an index
// or statistics of a materialized view. They create the object and restore its properties.
func (v *view) addPart(o object) {
	_, create := o.statements()
	v.Parts = slices.Concat(v.Parts, []string{create}, o.keep())
}

// withoutViews returns steps, which widen the columns of the tables in batch, between two
// further steps. The step before them drops the views, and the step after them creates the
// views again, because PostgreSQL does not change the type of a column that a view uses.
//
// The step that drops the views also runs locks, the statements that lock the tables. It
// drops the views first, because a program that reads a view locks the view before its
// tables, and another order could cause a deadlock.
func withoutViews(batch []*table, steps []plan.Step, views []*view, locks []string) []plan.Step {
	var columns []*column
	for _, t := range batch {
		columns = append(columns, t.narrowColumns()...)
	}
	narrow := anyNarrow(columns) // while it is true, both steps have to run
	list := engine.Count(len(views), "view") + " that would block it: " + pgsql.Join(views, ", ", func(v *view) string { return v.Display.String() })
	// step returns a step whose text begins with verb.
	step := func(verb string, up, down []string) plan.Step {
		return plan.Step{
			Table: plan.TableName{Name: "views"}, // in place of a table, because the step does not belong to a single table
			Text:  verb + " " + list, Transaction: steps[0].Transaction,
			Locks: "ACCESS EXCLUSIVE on the views until the end of the transaction",
			Up:    engine.Statements("SELECT NOT "+narrow, up...),
			Down:  engine.Statements("SELECT "+narrow, down...),
		}
	}
	// drop returns the statements that drop the views and lock the tables. ifExists is
	// "IF EXISTS ", or empty.
	drop := func(ifExists string) []string {
		return []string{withinTimeout(slices.Concat(pgview.Drops(definitions(views), ifExists), locks))}
	}
	// When the phase is taken back, the steps run in the reverse order, so that after drops
	// the views, and before creates them again. IF EXISTS is there because a user may have
	// dropped a view in the meantime.
	creates := pgview.CreateAll(definitions(views))
	before, after := step("drop", drop(""), creates), step("create again", creates, drop("IF EXISTS "))
	before.Check = engine.Statements("", checkAll([]string{rejectNewViews(views)}))
	return slices.Concat([]plan.Step{before}, steps, []plan.Step{after})
}
