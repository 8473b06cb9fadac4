package engine

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A Trial is what [Engine.Try] puts into copies of tables.
type Trial struct {
	Tables []plan.Table // as [Engine.Inspect] returns them: each of their columns holds keys

	// Moved: the copies have the types that the plan gives to the columns, and nothing
	// assigns keys in them. Else they are as the tables are.
	Moved  bool
	Phases []plan.Phase // of the plan, if the copies are Moved

	Small types.ID // a key that tables hold today: what rejects it as well rejects the row, not the key
	Today types.ID // one that would be issued now
	Last  types.ID // the last one of the layout
}

// Reject blocks: a column does not take a key of today. err has the server's words.
func (f *Findings) Reject(table, column string, key types.ID, err error) {
	f.Block(table, columnOf(table, column), fmt.Sprintf("a copy of the table rejects key %d: %v", key, err),
		"change what rejects the key, or leave the table out")
}

// RejectLast notes that a column takes keys of today, and not the layout's last one.
func (f *Findings) RejectLast(table, column string, key types.ID, err error) {
	f.Note("Column %s of table %s takes keys of today, but not %d, the last one of the layout: %v", column, table, key, err)
}

// Unreadable blocks: a view fails when it is read with a key of today.
func (f *Findings) Unreadable(table, view string, key types.ID, err error) {
	f.Block(table, "view "+view, fmt.Sprintf("it cannot be read with key %d in a copy of the table: %v", key, err),
		"change the view, or drop it")
}

// NotTried notes a table of which no copy can be tried, or that there are no copies if
// its name is empty.
func (f *Findings) NotTried(table string, why error) {
	of := ""
	if table != "" {
		of = " of table " + table
	}
	f.Note("No key was tried in a copy%s: %v", of, why)
}

// Assigns is for a trigger that gives a key to a row without one, so that the
// database continues to assign keys after phase detach.
func (f *Findings) Assigns(table, trigger string) {
	f.Omit(plan.Detach, table, "trigger "+trigger, "it assigns keys to rows that have none", "drop it once programs assign the keys")
}

// NotPositive is for a key of a table that the guard does not allow. guard says what
// there is of it all the same.
func (f *Findings) NotPositive(table, column string, key int64, guard string) {
	f.Omit(plan.Guard, table, columnOf(table, column), fmt.Sprintf("it holds key %d, which is not positive: %s", key, guard),
		"give the row another key, and apply phase guard again")
}

func columnOf(table, column string) string { return "column " + column + " of table " + table }
