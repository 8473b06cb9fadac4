package mysql

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// widenNote is the note for the users of a plan that drops foreign keys.
const widenNote = "MySQL and MariaDB cannot change the type of a column that has a foreign key. Phase widen drops foreign keys at its beginning and adds them back at its end: nothing checks rows that are written in between, and the children of a deleted row stay. If a row then breaks a foreign key, that is added back all the same, and the phase ends with an error that has the query for such rows: fix them, and run the same again."

// widenPhase returns the phase that changes the types of narrow columns to bigint, or to
// bigint unsigned. Its steps drop the foreign keys of the columns, change the types, add
// the foreign keys back, and look for rows that violate them. The foreign keys have to be
// dropped because no server changes the type of a column that has a foreign key, even with
// foreign_key_checks = 0.
func widenPhase(g *graph) plan.Phase {
	phase := plan.Phase{Name: plan.Widen}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, dropStep(g, keys))
	}
	for _, columns := range byTable(g.columnsToWiden()) {
		phase.Steps = append(phase.Steps, widenStep(g, columns))
		// Revert runs the checks of all phases before it takes the first phase back. With phase
		// park, the counters are still parked then. So these checks leave the counters out, and
		// rejectChanged checks the counters when the way back of phase widen begins.
		phase.Check = append(phase.Check, fitOldTypes(columns, !g.parks)...)
	}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, addStep(g, keys))
	}
	for _, keys := range g.dropped {
		phase.Steps = append(phase.Steps, verifyStep(g, keys))
	}
	// On the way back, the first step runs last. It ends with the search for rows that
	// violate foreign keys, because all foreign keys exist again then.
	if len(g.dropped) > 0 {
		first := &phase.Steps[0]
		first.Down = append(first.Down, verifyRows(g, g.allDropped())...)
	}
	return phase
}

// dropStep returns the step that drops the foreign keys of a table. Its way back adds them
// again, with the indexes that the server has created for them.
func dropStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "drop foreign key " + strings.Join(foreignNames(keys), ", ") + " for the time being",
		Up:    []plan.Statement{dropForeignKeys(g, t, keys, (*column).to)},
		Down:  addBeforeIndexes(g, t, keys),
		Locks: "waits for transactions that use the table or the tables that it refers to; all others wait until it is done",
	}
}

// addStep returns the step that adds the foreign keys of a table back without checking the
// rows. The step therefore takes only a moment. To check the rows, the server would copy
// the table. The way back of the step drops the foreign keys again.
func addStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "add foreign key " + strings.Join(foreignNames(keys), ", ") + " back",
		Up:    withoutChecks(addForeignKeys(t, keys)),
		Down:  []plan.Statement{dropForeignKeys(g, t, keys, (*column).from)},
		Locks: "waits for transactions that use the table and, on MySQL, for those that write the tables that it refers to; all others wait until it is done",
	}
}

// dropForeignKeys returns a statement that drops these foreign keys of a table together,
// so that either all of them exist or none. The statement is skipped if none of them
// exists, or if their columns already have the types that typeOf returns, because the work
// for which they are dropped is done then.
//
// It is always skipped if the plan changes no type of their columns. Such foreign keys are
// in the plan only because an unfinished run has dropped them, so the plan adds them back
// and never drops them.
func dropForeignKeys(g *graph, t *mycatalog.Table, keys []mycatalog.ForeignKey, typeOf func(*column) mycatalog.Integer) plan.Statement {
	var columns []*column
	for _, f := range keys {
		columns = append(columns, g.changedColumns(f)...)
	}
	drops := mycatalog.Join(foreignNames(keys), ", ", func(name string) string { return "DROP FOREIGN KEY " + mycatalog.Quote(name) })
	unless := "SELECT TRUE" // always skip, because the plan only adds these foreign keys back
	if len(columns) > 0 {
		unless = "SELECT (" + mycatalog.HasNone(t.TableName, mycatalog.ForeignKind, foreignNames(keys)...) + ") OR " +
			mycatalog.Join(byTable(columns), " AND ", func(columns []*column) string { return "(" + columnsAre(columns, typeOf) + ")" })
	}
	return plan.Statement{SQL: alter(t, drops), Unless: unless}
}

// addForeignKeys returns a statement that adds the foreign keys, unless they exist.
func addForeignKeys(t *mycatalog.Table, keys []mycatalog.ForeignKey) plan.Statement {
	return plan.Statement{SQL: alter(t, addClauses(keys)), Unless: mycatalog.HasAll(t.TableName, mycatalog.ForeignKind, foreignNames(keys)...)}
}

// addClauses returns the part of an ALTER TABLE that adds the foreign keys, for example
// ADD CONSTRAINT `fk_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`).
func addClauses(keys []mycatalog.ForeignKey) string {
	return mycatalog.Join(keys, ", ", func(f mycatalog.ForeignKey) string { return "ADD " + f.Text })
}

// addBeforeIndexes returns the statements of the way back that add the foreign keys of a
// table back. For these foreign keys the server has created indexes without being asked,
// and would now replace such an index, see (*graph).indexesToRebuild. The server keeps an
// index that a statement has created explicitly. The step of widenStep creates the indexes
// explicitly, but the phase may have stopped before that step. So the first statement
// creates the indexes again and adds the foreign keys.
//
// The first statement is skipped if somebody has changed the indexes since the inspection.
// The second statement then only adds the foreign keys.
func addBeforeIndexes(g *graph, t *mycatalog.Table, keys []mycatalog.ForeignKey) []plan.Statement {
	add := addForeignKeys(t, keys)
	indexes := g.indexesToRebuild(t)
	if len(indexes) == 0 {
		return withoutChecks(add)
	}
	indexesUnchanged := mycatalog.Join(indexes, " AND ", func(e string) string { return t.IndexUnchanged(indexName(e)) })
	both := plan.Statement{
		SQL:    alter(t, recreateIndexes(indexes), addClauses(keys)),
		Unless: "SELECT (" + add.Unless + ") OR NOT (" + indexesUnchanged + ")",
	}
	return withoutChecks(both, add)
}

// widenStep returns the step that changes the types of columns of one table. A single
// ALTER TABLE changes all types and creates the indexes of (*graph).indexesToRebuild, so
// that the server copies the table only once.
func widenStep(g *graph, columns []*column) plan.Step {
	var up, down []string
	for _, c := range columns {
		up = append(up, "MODIFY "+string(c.afterWiden()))
		down = append(down, "MODIFY "+string(c.Definition))
	}
	t := columns[0].Table
	if indexes := g.indexesToRebuild(t); len(indexes) > 0 {
		up = append(up, recreateIndexes(indexes))
	}
	return withCopyCosts(g, t, plan.Step{
		Text: mycatalog.Join(columns, ", ", func(c *column) string { return c.Name + " becomes " + c.newType.String() }),
		Up:   []plan.Statement{{SQL: alter(t, up...), Unless: columnsAre(columns, (*column).to)}},
		Down: []plan.Statement{{SQL: alter(t, down...), Unless: columnsAre(columns, (*column).from)}},
	})
}

// recreateIndexes returns the part of an ALTER TABLE that drops indexes and creates them
// again. indexes are their definitions, for example KEY `ix_user` (`user_id`), which
// becomes DROP KEY `ix_user`, ADD KEY `ix_user` (`user_id`).
func recreateIndexes(indexes []string) string {
	return mycatalog.Join(indexes, ", ", func(e string) string { return "DROP KEY " + mycatalog.Quote(indexName(e)) }) + ", ADD " + strings.Join(indexes, ", ADD ")
}

// fitOldTypes returns statements that fail if the old types of the columns are too narrow
// for the values that they hold now. They run before phase widen is taken back. If
// counters is true, they also fail if an AUTO_INCREMENT counter is too large for its old
// type.
func fitOldTypes(columns []*column, counters bool) []plan.Statement {
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
