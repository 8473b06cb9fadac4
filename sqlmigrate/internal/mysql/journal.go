package mysql

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// This file has the statements that write the journal, which is a table with the
// definitions that an interrupted run would lose. See [mycatalog.JournalTable]. It is not
// the journal of package myonline, which stores online moves.

// createJournal creates the journal. A row is an entry, which has the definition of a
// column or foreign key. The column id is the hash of the name of this object, see
// [mycatalog.Entry.ID].
const createJournal = "CREATE TABLE IF NOT EXISTS `" + mycatalog.JournalTable + "` (" +
	"id char(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, kind varchar(16) NOT NULL, " +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, name varchar(64) NOT NULL, definition mediumtext NOT NULL" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: what a run that is under way has to put back'"

// withJournal returns the steps of a phase with a first step that writes the entries to
// the journal, and a last step that removes them. On the way back, the steps run in
// reverse order, so the last step writes the entries and the first removes them.
func withJournal(steps []plan.Step, entries []mycatalog.Entry) []plan.Step {
	write, remove := openJournal(entries), closeJournal(entries)
	journal := plan.TableName{Name: mycatalog.JournalTable}
	return slices.Concat(
		[]plan.Step{{Table: journal, Text: "write down what a run that fails half-way would otherwise lose", Up: write, Down: remove}},
		steps,
		[]plan.Step{{Table: journal, Text: "remove it: everything is in place", Up: remove, Down: write}})
}

// openJournal returns the statements that create the journal and insert the entries. If
// the journal has an entry of the same object already, that entry stays as it is, because
// it has the original definition.
func openJournal(entries []mycatalog.Entry) []plan.Statement {
	statements := []plan.Statement{{SQL: createJournal}}
	if len(entries) == 0 { // an interrupted run has created the journal, but written no entry
		return statements
	}
	statements = append(statements, rejectMissing(entries)...)
	return append(statements, plan.Statement{SQL: "INSERT INTO `" + mycatalog.JournalTable +
		"` (id, kind, table_schema, table_name, name, definition) VALUES\n" +
		mycatalog.Join(entries, ",\n", func(e mycatalog.Entry) string {
			return "(" + mycatalog.Literals([]string{e.ID(), e.Kind, e.Table.Schema, e.Table.Name, e.Name, e.Definition}) + ")"
		}) +
		"\nON DUPLICATE KEY UPDATE definition = definition"})
}

// closeJournal returns the statements that remove the entries, and then drop the journal
// unless it has other entries.
func closeJournal(entries []mycatalog.Entry) []plan.Statement {
	drop := plan.Statement{
		SQL:    "DROP TABLE `" + mycatalog.JournalTable + "`",
		Unless: "SELECT COUNT(*) > 0 FROM `" + mycatalog.JournalTable + "`",
	}
	if len(entries) == 0 {
		return []plan.Statement{drop}
	}
	ids := mycatalog.Join(entries, ", ", func(e mycatalog.Entry) string { return mycatalog.Literal(e.ID()) })
	return []plan.Statement{{SQL: "DELETE FROM `" + mycatalog.JournalTable + "` WHERE id IN (" + ids + ")"}, drop}
}

// rejectMissing returns statements that fail if a foreign key of the entries does not exist
// and the journal has no entry for it. In this case somebody else has dropped the foreign
// key, and not an earlier run of a plan. The statements of rejectChanged, which run before
// the journal is created, detect this too, but not if an earlier run has left a journal.
// The statements of rejectMissing read the journal, so they run after it has been created.
func rejectMissing(entries []mycatalog.Entry) []plan.Statement {
	conditions := unchangedConditions{}
	for _, e := range entries {
		if f, ok := e.ForeignKey(); ok {
			conditions[f.Child] = append(conditions[f.Child], fmt.Sprintf("((%s) OR (SELECT COUNT(*) = 1 FROM `%s` WHERE id = '%s'))",
				mycatalog.HasAll(f.Child, mycatalog.ForeignKind, f.Name), mycatalog.JournalTable, e.ID()))
		}
	}
	return conditions.rejections()
}

// mergeEntries returns the older entries, which an unfinished run has written, and the
// entries of objects that have no older entry. The older entry of an object has its
// original definition.
func mergeEntries(entries, older []mycatalog.Entry) []mycatalog.Entry {
	recorded := map[string]bool{}
	for _, e := range older {
		recorded[e.ID()] = true
	}
	return append(slices.Clone(older), slices.DeleteFunc(entries, func(e mycatalog.Entry) bool { return recorded[e.ID()] })...)
}
