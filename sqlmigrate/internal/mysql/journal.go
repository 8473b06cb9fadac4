package mysql

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// This file has the statements that write the journal, a table with the definitions that
// an interrupted run would lose. See [mycatalog.JournalTable].

// createJournal creates the journal. Its column id identifies the object of an entry, see
// [mycatalog.Entry.ID].
const createJournal = "CREATE TABLE IF NOT EXISTS `" + mycatalog.JournalTable + "` (" +
	"id char(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, kind varchar(16) NOT NULL, " +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, name varchar(64) NOT NULL, definition mediumtext NOT NULL" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: what a run that is under way has to put back'"

// withJournal adds a step before the steps of a phase that writes the journal, and a step
// after them that removes it. On the way back, the last step writes the journal and the
// first removes it.
func withJournal(steps []plan.Step, entries []mycatalog.Entry) []plan.Step {
	open, end := openJournal(entries), closeJournal(entries)
	journal := plan.TableName{Name: mycatalog.JournalTable}
	return slices.Concat(
		[]plan.Step{{Table: journal, Text: "write down what a run that fails half-way would otherwise lose", Up: open, Down: end}},
		steps,
		[]plan.Step{{Table: journal, Text: "remove it: everything is in place", Up: end, Down: open}})
}

// openJournal returns the statements that create the journal and insert the entries. An
// entry that exists already stays as it is, because it has the original definition.
func openJournal(entries []mycatalog.Entry) []plan.Statement {
	statements := []plan.Statement{{SQL: createJournal}}
	if len(entries) == 0 {
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

// closeJournal returns the statements that remove the entries. They drop the journal only
// if it has no other entries.
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

// rejectMissing returns statements that fail if a foreign key of the entries does not
// exist, although no earlier run has dropped it. They read the journal, so they must run
// after it has been created. They only matter if the journal existed before, because
// otherwise the statements of rejectChanged have already failed.
func rejectMissing(entries []mycatalog.Entry) []plan.Statement {
	u := unchangedConditions{}
	for _, e := range entries {
		if f, ok := e.ForeignKey(); ok {
			u[f.Child] = append(u[f.Child], fmt.Sprintf("((%s) OR (SELECT COUNT(*) = 1 FROM `%s` WHERE id = '%s'))",
				mycatalog.HasAll(f.Child, mycatalog.ForeignKind, f.Name), mycatalog.JournalTable, e.ID()))
		}
	}
	return u.rejections()
}

// mergeEntries adds to the older entries, which an unfinished run has written, the
// entries of other objects. The older entry of an object has its original definition.
func mergeEntries(entries, older []mycatalog.Entry) []mycatalog.Entry {
	recorded := map[string]bool{}
	for _, e := range older {
		recorded[e.ID()] = true
	}
	return append(slices.Clone(older), slices.DeleteFunc(entries, func(e mycatalog.Entry) bool { return recorded[e.ID()] })...)
}
