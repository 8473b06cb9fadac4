package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A MODIFY and an ADD CONSTRAINT repeat the whole of what was inspected, so they would
// silently restore it where somebody has changed it since, or where files are run on
// another database. The statements in this file refuse that before a phase begins. They
// accept what the phase leaves out because it is done already.

// unchanged are conditions by table.
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

// unchangedFor are the rejections of a phase, up or down.
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

// widenedOr is a condition: the columns of a table have been changed already, or they
// and the indexes that are created again are as they were inspected.
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

// unassignedOr is a condition: what assigns the column has been changed already, or is
// as it was inspected.
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

// columnUnchanged is a condition: the column is as it was inspected, with its old type
// or the new one.
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
