package engine

import (
	"cmp"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Findings are the blockers of a plan, the work that its phases leave undone, and notes
// for its users.
type Findings struct {
	Blockers []plan.Blocker
	Omitted  []plan.Omission
	Notes    []Note
}

// Block adds a blocker of a table.
func (f *Findings) Block(table plan.TableName, object, reason, fix string) {
	f.Blockers = append(f.Blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

// Omit adds an omission, which is work that a phase leaves undone in a table because of
// object. Unlike a blocker, it does not prevent the plan.
func (f *Findings) Omit(phase plan.PhaseName, table plan.TableName, object, reason, fix string) {
	f.Omitted = append(f.Omitted, plan.Omission{Phase: phase, Blocker: plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix}})
}

// Note adds a note for the users of the plan. format and args are those of [fmt.Sprintf].
// The note keeps them, so that a short text can group the notes of a format.
func (f *Findings) Note(format string, args ...any) {
	f.Notes = append(f.Notes, Note{Text: sentence(format, args...), Format: format, Args: args})
}

// Warn adds a note, as [Findings.Note] does, on code that works today and fails after the
// move. Such notes are printed under a title of their own.
func (f *Findings) Warn(format string, args ...any) {
	f.Notes = append(f.Notes, Note{Text: sentence(format, args...), Format: format, Args: args, Fails: true})
}

// Add appends the findings of more.
func (f *Findings) Add(more Findings) {
	f.Blockers, f.Omitted, f.Notes = append(f.Blockers, more.Blockers...), append(f.Omitted, more.Omitted...), append(f.Notes, more.Notes...)
}

// Reject adds a blocker for a column whose copy rejects key, which a generator would issue
// now. err is the error of the server.
func (f *Findings) Reject(table plan.TableName, column string, key types.ID, err error) {
	f.Block(table, columnOf(table, column), fmt.Sprintf("a copy of the table rejects key %d: %v", key, err),
		"change what rejects the key, or leave the table out")
}

// RejectLast adds a note on a column that accepts today's keys, but rejects key, the
// layout's last key. It is not a blocker, because generators reach this key only when the
// layout expires.
func (f *Findings) RejectLast(table plan.TableName, column string, key types.ID, err error) {
	f.Note("Column %s of table %s takes keys of today, but not %d, the last one of the layout: %v", column, table, key, err)
}

// Unreadable adds a blocker for a view that fails when a row with a key of today is in
// its tables. A view that reads only views has no table, so it is listed under its own
// name.
func (f *Findings) Unreadable(v Shown, key types.ID) {
	f.Block(cmp.Or(v.Table, v.View), "view "+v.View.String(), fmt.Sprintf("it cannot be read with key %d in a copy of the table: %v", key, v.Err),
		"change the view, or drop it"+v.Fix)
}

// NotTried adds a note that no key was tried in a copy of the table, and why. If no copy
// of any table could be created, the name of the table is empty.
func (f *Findings) NotTried(table plan.TableName, why error) {
	place := "a copy"
	if table.Name != "" {
		place += " of table " + table.String()
	}
	f.Note("No key was tried in %s: %v", place, why)
}

// NotPositive adds an omission for a column that already holds a key that is not positive.
// Such a key violates the guard, which is the CHECK or trigger by which phase guard rejects
// such keys. The text guard says what the phase does instead, for example "the trigger
// checks new rows only", or that the table gets no guard.
func (f *Findings) NotPositive(table plan.TableName, column string, key int64, guard string) {
	f.Omit(plan.Guard, table, columnOf(table, column), fmt.Sprintf("it holds key %d, which is not positive: %s", key, guard),
		"give the row another key, and apply phase guard again")
}

// columnOf describes the column as blockers and omissions do, for example "column id of
// table orders".
func columnOf(table plan.TableName, column string) string {
	return "column " + column + " of table " + table.String()
}
