package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// checkMoved reports whether there is something left to move. A table that does
// not exist is an error.
func (d *doctor) checkMoved(table string) error {
	const check = "moved"
	plan, err := sqlmigrate.Inspect(d.ctx, d.db, sqlmigrate.WithLayout(d.layout), table)
	if err != nil {
		if denied(err) {
			d.unseen(check, table, err)
			return nil
		}
		return err
	}
	for _, b := range plan.Blockers {
		d.report.problem(check, b.Table, b.Object+" stands in the way of moving it: "+b.Reason, b.Fix)
	}
	switch {
	case len(plan.Blockers) > 0:
	case plan.Empty():
		d.report.ok(check, table, "its keys, and what refers to them, are moved")
	default:
		d.report.problem(check, table, leftToDo(phasesOf(plan)), "gormflake migrate plan "+table)
	}
	return nil
}

// leftToDo does not say of a table that was made for Snowflake keys, and lacks
// the guard alone, that it was to be moved.
func leftToDo(phases []string) string {
	if slices.Equal(phases, []string{string(sqlmigrate.Guard)}) {
		return "nothing refuses a row whose key is missing or not positive: guard is to do"
	}
	return fmt.Sprintf("it is not moved: %s %s to do", strings.Join(phases, " and "), isAre(len(phases)))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
