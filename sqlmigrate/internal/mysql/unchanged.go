package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// MODIFY and ADD CONSTRAINT contain whole definitions from the time of the inspection. If
// the schema has changed since, or if a file runs in another database, they would
// silently restore the old definitions. The statements in this file make a phase fail
// before that. They do not fail for parts of the phase that have already been done.

// unchanged holds the conditions for each table.
type unchanged map[plan.TableName][]string

func (u unchanged) rejections() []plan.Statement {
	tables := slices.SortedFunc(maps.Keys(u), plan.TableName.Compare)
	statements := make([]plan.Statement, len(tables))
	for i, t := range tables {
		statements[i] = rejectUnless(fmt.Sprintf("sqlmigrate: refused: table %s has changed since it was inspected: inspect it again (or the account may not ALTER it)", t),
			"SELECT "+strings.Join(u[t], "\nAND "))
	}
	return statements
}

// unchangedFor returns the statements that fail if a table of the phase has changed.
func unchangedFor(g *graph, phase plan.PhaseName, down bool) []plan.Statement {
	u := unchanged{}
	if phase == plan.Detach {
		for _, c := range g.assigned() {
			u[c.Table.TableName] = append(u[c.Table.TableName], unassignedOr(c, down))
		}
		return u.rejections()
	}
	for _, columns := range byTable(g.widened()) {
		u[columns[0].Table.TableName] = append(u[columns[0].Table.TableName], widenedOr(g, columns, down))
	}
	for _, f := range g.allDropped() {
		u[f.Child] = append(u[f.Child], f.Unchanged())
	}
	return u.rejections()
}

// widenedOr returns a condition that the columns of a table have their new types already
// or, with the indexes that are created again, are as they were inspected.
func widenedOr(g *graph, columns []*column, down bool) string {
	t, done := columns[0].Table, (*column).to
	if down {
		done = (*column).from
	}
	var same []string
	for _, c := range columns {
		same = append(same, columnUnchanged(c, c.Definition.Auto(), c.Preset)+c.AndChecks(!down))
	}
	if !down {
		for _, e := range g.rebuilt(t) {
			same = append(same, t.IndexUnchanged(nameOf(e)))
		}
	}
	return "((" + columnsAre(columns, done) + ")\nOR " + strings.Join(same, "\nAND ") + ")"
}

// unassignedOr returns a condition that the change of the column's AUTO_INCREMENT or
// default has been done already, or that the column is as it was inspected.
func unassignedOr(c *column, down bool) string {
	with, without := isAssigned(c)
	auto, preset, done := c.Definition.Auto(), c.Preset, without
	if down {
		if !auto {
			preset = "NULL"
		}
		auto, done = false, with
	}
	return "((" + done + ")\nOR " + columnUnchanged(c, auto, preset) + c.AndChecks(false) + ")"
}

// columnUnchanged returns a condition that the column is as it was inspected, except that
// it may have the old or the new type.
func columnUnchanged(c *column, auto bool, preset string) string {
	extra := "EXTRA NOT LIKE '%auto_increment%'"
	if auto {
		extra = "EXTRA LIKE '%auto_increment%'"
	}
	typ := "(" + c.Integer().Condition() + ")"
	if c.widens() {
		typ += " OR (" + c.wide.Condition() + ")"
	}
	return "(" + c.Has("("+typ+")", extra, c.Same(preset)) + ")"
}
