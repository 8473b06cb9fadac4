package mysql

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const widenNote = "MySQL and MariaDB cannot change the type of a column that has a foreign key. Phase widen drops foreign keys at its beginning and adds them back at its end: nothing checks rows that are written in between, and the children of a deleted row stay. If a row then breaks a foreign key, that is added back all the same, and the phase ends with an error that has the query for such rows: fix them, and run the same again."

// widenPhase returns the phase that widens columns. It drops their foreign keys first,
// because no server changes the type of a column that has a foreign key, even with
// foreign_key_checks = 0.
func widenPhase(g *graph) plan.Phase {
	phase := plan.Phase{Name: plan.Widen}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, dropStep(g, keys))
	}
	for _, columns := range byTable(g.widened()) {
		phase.Steps = append(phase.Steps, widenStep(g, columns))
		phase.Check = append(phase.Check, fit(columns, !g.parks)...) // with phase park, the counters are still parked when the checks run; rejectChanged checks them later
	}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, addStep(g, keys))
	}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, verifyStep(g, keys))
	}
	if len(g.dropped) > 0 {
		first := &phase.Steps[0]
		first.Down = append(first.Down, verify(g, g.allDropped())...)
	}
	return phase
}

// dropStep returns the step that drops the foreign keys of a table.
func dropStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "drop foreign key " + strings.Join(foreignNames(keys), ", ") + " for the time being",
		Up:    []plan.Statement{drop(g, t, keys, (*column).to)},
		Down:  addBeforeIndexes(g, t, keys),
		Locks: "waits for transactions that use the table or the tables that it refers to; all others wait until it is done",
	}
}

// addStep returns the step that adds the foreign keys back without checking the rows.
// That takes a moment; with a check, the server would copy the table.
func addStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "add foreign key " + strings.Join(foreignNames(keys), ", ") + " back",
		Up:    unchecked(addForeignKeys(t, keys)),
		Down:  []plan.Statement{drop(g, t, keys, (*column).from)},
		Locks: "waits for transactions that use the table and, on MySQL, for those that write the tables that it refers to; all others wait until it is done",
	}
}

// drop returns a statement that drops all these foreign keys together, so that either all
// of them exist or none. It is skipped if the columns have their new types already.
func drop(g *graph, t *mycatalog.Table, keys []mycatalog.ForeignKey, typeOf func(*column) mycatalog.Integer) plan.Statement {
	var columns []*column
	for _, f := range keys {
		columns = append(columns, g.changed(f)...)
	}
	drops := mycatalog.Join(foreignNames(keys), ", ", func(name string) string { return "DROP FOREIGN KEY " + mycatalog.Quote(name) })
	unless := "SELECT TRUE" // only an earlier run has dropped them
	if len(columns) > 0 {
		unless = "SELECT (" + mycatalog.HasNone(t.TableName, mycatalog.ForeignKind, foreignNames(keys)...) + ") OR " +
			mycatalog.Join(byTable(columns), " AND ", func(columns []*column) string { return "(" + columnsAre(columns, typeOf) + ")" })
	}
	return plan.Statement{SQL: alter(t, drops), Unless: unless}
}

func addForeignKeys(t *mycatalog.Table, keys []mycatalog.ForeignKey) plan.Statement {
	return plan.Statement{SQL: alter(t, addClauses(keys)), Unless: mycatalog.HasAll(t.TableName, mycatalog.ForeignKind, foreignNames(keys)...)}
}

func addClauses(keys []mycatalog.ForeignKey) string {
	return mycatalog.Join(keys, ", ", func(f mycatalog.ForeignKey) string { return "ADD " + f.Text })
}

// addBeforeIndexes returns the statements that add the foreign keys back when the phase
// is taken back. If widenStep has not created the indexes explicitly, the first statement
// does, unless somebody has changed the indexes since.
func addBeforeIndexes(g *graph, t *mycatalog.Table, keys []mycatalog.ForeignKey) []plan.Statement {
	add := addForeignKeys(t, keys)
	own := g.rebuilt(t)
	if len(own) == 0 {
		return unchecked(add)
	}
	unchanged := mycatalog.Join(own, " AND ", func(e string) string { return t.IndexUnchanged(nameOf(e)) })
	both := plan.Statement{
		SQL:    alter(t, rebuild(own), addClauses(keys)),
		Unless: "SELECT (" + add.Unless + ") OR NOT (" + unchanged + ")",
	}
	return unchecked(both, add)
}

func widenStep(g *graph, columns []*column) plan.Step {
	var up, down []string
	for _, c := range columns {
		up = append(up, "MODIFY "+string(c.afterWiden()))
		down = append(down, "MODIFY "+string(c.Definition))
	}
	t := columns[0].Table
	if own := g.rebuilt(t); len(own) > 0 {
		up = append(up, rebuild(own))
	}
	return rewrite(g, t, plan.Step{
		Text: mycatalog.Join(columns, ", ", func(c *column) string { return c.Name + " becomes " + c.wide.String() }),
		Up:   []plan.Statement{{SQL: alter(t, up...), Unless: columnsAre(columns, (*column).to)}},
		Down: []plan.Statement{{SQL: alter(t, down...), Unless: columnsAre(columns, (*column).from)}},
	})
}

func rebuild(indexes []string) string {
	return mycatalog.Join(indexes, ", ", func(e string) string { return "DROP KEY " + mycatalog.Quote(nameOf(e)) }) + ", ADD " + strings.Join(indexes, ", ADD ")
}

// fit returns statements that fail if the old types are too narrow for the present keys
// or, if counters is true, for the present counters.
func fit(columns []*column, counters bool) []plan.Statement {
	var statements []plan.Statement
	for _, c := range columns {
		low, high := c.Integer().Range()
		statements = append(statements, rejectUnless(
			fmt.Sprintf("sqlmigrate: refused: %s does not hold all of %s", c.Integer(), c),
			fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s NOT BETWEEN %d AND %d)",
				mycatalog.QuoteTable(c.Table.TableName), mycatalog.Quote(c.Name), low, high)))
		if counters {
			statements = append(statements, countersFit([]*column{c})...)
		}
	}
	return statements
}
