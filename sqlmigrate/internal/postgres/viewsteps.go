package postgres

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// withoutViews puts the steps between two that drop views and create them again.
// The views are dropped before the tables are locked, for a reader of a view
// locks the view first.
func withoutViews(batch []*table, steps []plan.Step, views []*view, locks []string) []plan.Step {
	var columns []*column
	for _, t := range batch {
		columns = append(columns, t.narrowColumns()...)
	}
	narrow := areNarrow(columns)
	list := engine.Count(len(views), "view") + " that would block it: " + pgsql.Join(views, ", ", func(v *view) string { return v.Display })
	step := func(what string, up, down []string) plan.Step {
		return plan.Step{
			Table: "views", Text: what + " " + list, Transaction: steps[0].Transaction,
			Locks: "ACCESS EXCLUSIVE on the views until the end of the transaction",
			Up:    engine.Statements("SELECT NOT "+narrow, up...),
			Down:  engine.Statements("SELECT "+narrow, down...),
		}
	}
	drop := func(ifExists string) []string {
		return []string{withinTimeout(slices.Concat(pgview.Drops(definitions(views), ifExists), locks))}
	}
	creates := pgview.CreateAll(definitions(views))
	before, after := step("drop", drop(""), creates), step("create again", creates, drop("IF EXISTS "))
	before.Check = engine.Statements("", checkAll([]string{rejectNewViews(views)}))
	return slices.Concat([]plan.Step{before}, steps, []plan.Step{after})
}
