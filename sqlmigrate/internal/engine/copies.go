package engine

import (
	"context"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Fills is the number of ways to fill the columns that hold no key. In the first way they
// get values that fit their types, in the second NULL.
const Fills = 2

// Copies are the empty copies of tables into which a [Trial] inserts keys, so that it need
// not write to the tables. Each database implements them. If a method returns an error as
// its last result, the trial ends.
type Copies interface {
	// Enter inserts each row into its copy, independently of the other rows. It returns
	// for each row the error of the database, which is nil if the row was accepted. An
	// [Unanswered] error means that the row failed, but not because of its keys, for
	// example because a statement took too long.
	Enter(ctx context.Context, rows []Row) ([]error, error)

	// Views inserts rows with the key into the copies, reads each view over the copies,
	// and returns the results. It is called after all other methods, because the rows
	// stay. If asIs is true, the copies have the present types of the columns, so that
	// the result shows whether the view already failed before the move. A database whose
	// copies always have the same types ignores asIs.
	Views(ctx context.Context, key types.ID, asIs bool) ([]Shown, error)

	// Assigning returns the triggers that assign keys to rows without a key.
	Assigning(ctx context.Context) ([]Assigning, error)

	// Codes returns the triggers, rules, functions, procedures and events whose texts can
	// be analyzed, with the INSERT statements in these texts. It also returns the views
	// into which programs can insert.
	Codes(ctx context.Context) ([]Code, error)
}

// A Row is a row to insert into a copy. Keys maps the names of columns to their keys. A
// column that holds keys gets NULL if Keys has no entry for it, or the entry 0.
type Row struct {
	Table int  // index in the tables that [Trial.Run] received
	Fill  int  // which of the [Fills] the other columns get, from 0 on
	AsIs  bool // whether the copy has the present types of the table even if [Trial.Moved] is true
	Keys  map[string]types.ID
}

// An Unanswered error reports that a row failed without an answer to the question whether
// the database accepts its keys, for example because a statement took too long. If Written
// is true, the database has accepted the keys, and the row failed later.
type Unanswered struct {
	Cause   error
	Written bool // whether the database accepted the key and failed later, at a write that the trial does not allow
}

func (u Unanswered) Error() string { return u.Cause.Error() }

// A Shown is the result of reading a view over the copies.
type Shown struct {
	Table, View plan.TableName // Table is empty for a view on views
	Rows        int64          // number of rows that the view returned
	Err         error
	Fix         string // advice that is added to "change the view, or drop it"; may be empty
}

// An Assigning is a trigger that assigns a key to a row that is inserted without one. Fix
// is added to the advice of the finding.
type Assigning struct {
	Table        plan.TableName
	Trigger, Fix string
}

// A Code is an object of the database whose code may insert rows, such as a trigger, or a
// view into which programs can insert.
type Code struct {
	Object  string         // for example trigger t on table o
	Table   plan.TableName // the table of a trigger
	Fires   bool           // whether a write runs the code, so that the write fails if the code fails; otherwise a program or schedule runs the code
	View    bool           // whether the object is a view; Inserts then has one element, with the columns of the table that the view shows
	Inserts []sqltext.Insert
	Narrow  []string // the columns, with their tables and types, into which a trigger writes a key although they are too narrow for it
}

// Near returns a row of keys close to key, by column, for a trial of all columns at once.
// A column of the primary key that refers to no other key gets key itself. Each other
// column gets a smaller key of its own, because a CHECK may require that columns differ.
// These keys are smaller, because a real row is inserted after the rows to which it
// refers. For example, for key 100 and the columns id, from_id and to_id, Near returns
// 100, 98 and 99.
func Near(t plan.Table, key types.ID) map[string]types.ID {
	keys := map[string]types.ID{}
	offset := types.ID(0)
	for _, c := range slices.Backward(t.Columns) {
		if c.Key && len(c.Refers) == 0 { // the key of the row itself
			keys[c.Name] = key
		} else {
			offset++
			keys[c.Name] = key - offset
		}
	}
	return keys
}

// Same returns a row of keys, by column, in which all columns have the same key. If all
// tables contain such a row, a view that joins them finds rows, because each reference
// leads to the row with this key.
func Same(t plan.Table, key types.ID) map[string]types.ID {
	keys := map[string]types.ID{}
	for _, c := range t.Columns {
		keys[c.Name] = key
	}
	return keys
}

// chainLength is the number of rows of a [Chain]. Four rows let a view join a row with
// its parent and its grandparent.
const chainLength = 4

// Chain returns the keys of several rows of a table, by column, so that views that join
// the table with itself or with other tables find rows. Each row refers to the next row,
// and the rows of other tables have the same keys. For example, for key 100 and the
// columns id and parent_id, it returns 100 with parent 99, 99 with 98, 98 with 97, and 97
// without a parent. The last row refers to no row, so that a recursive view comes to an
// end.
func Chain(t plan.Table, key types.ID) (rows []map[string]types.ID) {
	for range chainLength {
		keys := map[string]types.ID{}
		for _, c := range t.Columns {
			if c.Key && len(c.Refers) == 0 { // the key of the row itself
				keys[c.Name] = key
			} else if len(rows)+1 < chainLength { // a reference, which the last row does not have
				keys[c.Name] = key - 1
			}
		}
		rows, key = append(rows, keys), key-1
	}
	return rows
}
