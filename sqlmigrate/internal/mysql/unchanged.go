package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// The statements MODIFY and ADD CONSTRAINT of a phase contain whole definitions from the
// time of the inspection. If the schema has changed since, or if a migration file runs in
// another database, they would silently restore the old definitions. The statements in
// this file make a phase fail before that. They do not fail for parts of the phase that
// have already been done.

// unchangedConditions maps each table to SQL conditions, which all hold if nobody has
// changed the table.
type unchangedConditions map[plan.TableName][]string

// rejections returns a statement for each table, which fails unless all conditions of the
// table hold. The text also mentions a missing right, because MariaDB hides foreign keys
// from an account without this right, so that an unchanged table looks changed.
func (u unchangedConditions) rejections() []plan.Statement {
	tables := slices.SortedFunc(maps.Keys(u), plan.TableName.Compare)
	statements := make([]plan.Statement, len(tables))
	for i, t := range tables {
		statements[i] = rejectUnless(fmt.Sprintf("sqlmigrate: refused: table %s has changed since it was inspected: inspect it again (or the account may not ALTER it)", t),
			"SELECT "+strings.Join(u[t], "\nAND "))
	}
	return statements
}

// unchangedFor returns statements that fail if a table of phase detach or widen has
// changed since the inspection. If down is false, they run before the phase, and expect
// the tables as they were inspected. If down is true, they run before the way back, and
// expect the tables as the phase has left them.
func unchangedFor(g *graph, phase plan.PhaseName, down bool) []plan.Statement {
	u := unchangedConditions{}
	if phase == plan.Detach {
		for _, c := range g.assignedColumns() {
			u[c.Table.TableName] = append(u[c.Table.TableName], unassignedOrUnchanged(c, down))
		}
		return u.rejections()
	}
	for _, columns := range byTable(g.columnsToWiden()) {
		u[columns[0].Table.TableName] = append(u[columns[0].Table.TableName], widenedOrUnchanged(g, columns, down))
	}
	for _, f := range g.allDropped() {
		u[f.Child] = append(u[f.Child], f.Unchanged())
	}
	return u.rejections()
}

// widenedOrUnchanged returns a condition on columns of one table. If down is false, the
// condition is for the beginning of phase widen. It holds if the columns have their new
// types already, because the phase has then changed the table. It also holds if the
// columns, and the indexes that the phase creates again, are as they were inspected.
//
// If down is true, the condition is for the way back. It holds if the columns have their
// original types already, or if only their types differ from the inspection.
func widenedOrUnchanged(g *graph, columns []*column, down bool) string {
	// done returns the type that a column has when this direction is complete.
	t, done := columns[0].Table, (*column).to
	if down {
		done = (*column).from
	}
	var conditions []string
	for _, c := range columns {
		// On the way back the type has changed, and with it the texts of the checks, so only
		// their number is compared.
		conditions = append(conditions, columnUnchanged(c, c.Definition.Auto(), c.Preset)+c.AndChecks(!down))
	}
	if !down {
		for _, e := range g.indexesToRebuild(t) {
			conditions = append(conditions, t.IndexUnchanged(indexName(e)))
		}
	}
	return "((" + columnsAre(columns, done) + ")\nOR " + strings.Join(conditions, "\nAND ") + ")"
}

// unassignedOrUnchanged returns a condition on a column that the database assigns. It holds
// if phase detach has already removed the AUTO_INCREMENT or the default of the column, or
// if the column is as it was inspected. On the way back, the condition holds if the column
// has the AUTO_INCREMENT or the default again, or if the column is as phase detach leaves
// it.
func unassignedOrUnchanged(c *column, down bool) string {
	whenAssigned, whenUnassigned := assignmentQueries(c)
	auto, preset, done := c.Definition.Auto(), c.Preset, whenUnassigned
	if down {
		if !auto { // phase detach has removed the default
			preset = "NULL"
		}
		auto, done = false, whenAssigned
	}
	// Phase widen may have changed the type, and with it the texts of the checks, so only
	// their number is compared.
	return "((" + done + ")\nOR " + columnUnchanged(c, auto, preset) + c.AndChecks(false) + ")"
}

// columnUnchanged returns a condition that the column is as it was inspected, except that
// it may have the type before or after phase widen. If auto is true, it must have
// AUTO_INCREMENT, and otherwise it must not. preset is the default that it must have, in
// the form of [mycatalog.Column.Preset].
func columnUnchanged(c *column, auto bool, preset string) string {
	extra := "EXTRA NOT LIKE '%auto_increment%'"
	if auto {
		extra = "EXTRA LIKE '%auto_increment%'"
	}
	typ := "(" + c.Integer().Condition() + ")"
	if c.widens() {
		typ += " OR (" + c.newType.Condition() + ")"
	}
	return "(" + c.Has("("+typ+")", extra, c.Same(preset)) + ")"
}
