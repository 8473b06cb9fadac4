package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A Trial describes the keys that [Engine.Try] inserts into copies of tables, to find out
// whether the tables accept Snowflake IDs.
type Trial struct {
	Tables []plan.Table // the tables as [Engine.Inspect] returns them; all their columns hold keys

	// Moved reports that the copies have the column types of the plan, and that the
	// database does not assign keys in the copies. If Moved is false, the copies are like
	// the tables today.
	Moved  bool
	Phases []plan.Phase // the phases of the plan, if Moved is true
	Parked bool         // whether the plan has phase park, so that the database still assigns keys

	Small types.ID // a key that fits into every column; if a row is rejected even with this key, the cause is not the size of the key
	Today types.ID // a key that would be issued now
	Last  types.ID // the last key of the layout
}

// Unassigned returns the names of the key columns that an INSERT must name after the move.
// These are the columns of the primary key that the database does not assign today and, if the
// plan has phase detach, also those that it assigns today. Unassigned leaves out keys that refer
// to another key, and keys with a computed default, which detach keeps. If the counters are
// parked, it returns nothing, because the move then ends no assignment.
func (t Trial) Unassigned(table plan.Table) (names []string) {
	detached := slices.ContainsFunc(t.Phases, func(p plan.Phase) bool { return p.Name == plan.Detach })
	for _, c := range table.Columns {
		if c.Key && len(c.Refers) == 0 && !t.Parked && c.Auto != plan.Computed && (c.Auto == "" || detached) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Run tries today's key and then the layout's last key in the copies c. It returns findings
// about the columns that reject a key, the triggers that assign keys, the code that inserts
// rows without a key, and the views that cannot be read.
//
// copied has the table of each copy, so that [Row.Table] is an index in copied. It has a
// table several times if parts of the table's definition are tried in separate copies.
func (t Trial) Run(ctx context.Context, c Copies, copied []plan.Table) (found Findings, err error) {
	r := &trialRun{Trial: t, Copies: c, Findings: &found, copied: copied, decided: map[plan.TableName]bool{}}
	err = r.tryKeys(ctx, t.Today, r.Reject, r.NotTried)
	if err == nil {
		// NotTried has already reported the tables in which today's key could not be tried.
		// The argument notTried does nothing, so that no table is reported twice.
		err = r.tryKeys(ctx, t.Last, r.RejectLast, func(plan.TableName, error) {})
	}
	if err == nil {
		err = r.findAssigning(ctx)
	}
	if err == nil {
		err = r.findCodes(ctx)
	}
	if err == nil {
		err = r.tryViews(ctx)
	}
	return found, err
}

// A trialRun is one call of [Trial.Run]. Its methods add their results to Findings.
type trialRun struct {
	Trial
	Copies
	*Findings

	copied  []plan.Table            // the table of each copy
	decided map[plan.TableName]bool // the tables that were reported for a key, so that further keys are not tried

	assigning []plan.TableName // the tables with a trigger that assigns keys
}

// tryKeys inserts into each copy rows that have keys close to key in all columns at once,
// because a row for each column would take longer, and most tables accept every key. If a
// copy rejects a row, tryKeys examines the columns of the copy one by one. It then calls
// reject for each column that rejects the key, or notTried for the table if the cause of
// the rejection stays unknown. It leaves out copies without columns to move, and tables
// that were reported for an earlier key.
func (r *trialRun) tryKeys(ctx context.Context, key types.ID, reject func(table plan.TableName, column string, key types.ID, err error), notTried func(plan.TableName, error)) error {
	var rows []Row
	for i, t := range r.copied {
		for fill := range Fills {
			if len(t.Columns) > 0 && !r.decided[t.TableName()] {
				rows = append(rows, Row{Table: i, Fill: fill, Keys: Near(t, key)})
			}
		}
	}
	refusals, err := r.Enter(ctx, rows)
	failed := map[int]bool{} // the copies of which a row was rejected, by their index
	for i, refusal := range refusals {
		failed[rows[i].Table] = failed[rows[i].Table] || refusal != nil
	}
	for i, t := range r.copied {
		if failed[i] && err == nil {
			err = r.examine(ctx, i, t, key, reject, notTried)
		}
	}
	return err
}

// examine tries the key in each column of copy i, whose table is t, and calls reject for
// the columns that reject it. It calls reject once for columns that fail with the same
// error, because they have the same cause. If no column rejects the key, but an insertion
// failed, it calls notTried.
func (r *trialRun) examine(ctx context.Context, i int, t plan.Table, key types.ID, reject func(table plan.TableName, column string, key types.ID, err error), notTried func(plan.TableName, error)) error {
	var untried error            // the first error of unknown cause
	reasons := map[string]bool{} // the errors that were reported
	for _, column := range t.Columns {
		rejected, refusal, err := r.rejects(ctx, i, t, column.Name, key)
		switch {
		case err != nil:
			return err
		case rejected && !reasons[refusal.Error()]:
			reasons[refusal.Error()], r.decided[t.TableName()] = true, true
			reject(t.TableName(), column.Name, key, refusal)
		case refusal != nil:
			untried = cmp.Or(untried, refusal)
		}
		if errors.As(refusal, new(Unanswered)) { // for example after a timeout, which the trial of the next column would probably reach too
			break
		}
	}
	if len(reasons) == 0 && untried != nil {
		r.decided[t.TableName()] = true
		notTried(t.TableName(), untried)
	}
	return nil
}

// rejects reports whether a column of copy i rejects the key, and returns as refusal the
// error of the database. A row can also fail for other reasons, for example because of a
// CHECK on another column. Therefore rejects tries several rows with the key, which differ
// in the keys of the other columns and in the [Fills]. It also tries the same rows with a
// small key in the column. The column rejects the key if, with one of the fills, all rows
// with the key fail, and one of the rows with a small key is accepted.
//
// If the column accepts the key, rejects returns false and a nil refusal. The cause of a
// refusal is unknown if all rows fail, even those with small keys, or if the first row gets
// an [Unanswered] error. Then rejects returns false and the refusal.
func (r *trialRun) rejects(ctx context.Context, i int, t plan.Table, column string, key types.ID) (rejected bool, refusal, err error) {
	// The keys to compare are the key itself, and small keys. The largest key that is in
	// the table is one of the small keys, because a CHECK may reject keys below a limit,
	// such as r.Small.
	values := []types.ID{key, r.Small}
	if t.MaxKey > r.Small && t.MaxKey < key {
		values = append(values, t.MaxKey)
	}
	accepted := false // whether a row with the key was accepted
	for fill := range Fills {
		// Of each combination of other keys, the first row has the key, and the next rows
		// have the small keys.
		var rows []Row
		for _, other := range r.otherKeys(t, column, key) {
			for _, value := range values {
				keys := maps.Clone(other)
				keys[column] = value
				rows = append(rows, Row{Table: i, Fill: fill, AsIs: value != key, Keys: keys}) // small keys are tried in the table as it is today
			}
		}
		refusals, err := r.Enter(ctx, rows)
		if err != nil {
			return false, nil, err
		}
		if errors.As(refusals[0], new(Unanswered)) {
			return false, refusals[0], nil // the time limit may have passed, so do not try more rows
		}
		accepts, failure := decide(slices.Collect(slices.Chunk(refusals, len(values))))
		if !accepts && failure != nil {
			return true, failure, nil
		}
		accepted, refusal = accepted || accepts, cmp.Or(refusal, refusals[0])
	}
	if accepted {
		refusal = nil
	}
	return false, refusal, nil
}

// decide decides whether a column accepts a key, from the errors of several rows. Each
// element of combinations holds first the error of a row with the key, and then the errors
// of the same row with small keys instead. The column accepts the key if one of the rows
// with the key was written to the copy. Otherwise, failure is the error of a row that was
// rejected with the key and written with a small key, because only the size of the key can
// be the cause of this error. If there is no such row, failure is nil.
func decide(combinations [][]error) (accepts bool, failure error) {
	for _, refusals := range combinations {
		if reachedTable(refusals[0]) {
			return true, nil
		}
		if slices.ContainsFunc(refusals[1:], reachedTable) {
			failure = cmp.Or(failure, refusals[0])
		}
	}
	return false, failure
}

// reachedTable reports whether the row with this error, or with nil, was written to its
// copy, which means that the database has accepted its keys.
func reachedTable(refusal error) bool {
	var unanswered Unanswered
	return refusal == nil || errors.As(refusal, &unanswered) && unanswered.Written
}

// otherKeys returns combinations of keys for the columns other than column, in which a
// trial of key in column can succeed. A CHECK may require any of them, for example that
// exactly one of two references is set. The combinations are large keys in all columns,
// small keys in all, NULL in all, and for each column a small key in this column alone.
// The first combination also has an entry for column, which the caller overwrites.
func (r *trialRun) otherKeys(t plan.Table, column string, key types.ID) []map[string]types.ID {
	// Near subtracts up to the number of columns, so these small keys are not below
	// Small.
	large, small := Near(t, key), Near(t, r.Small+types.ID(len(t.Columns)))
	delete(small, column)
	combinations := []map[string]types.ID{large, small, {}}
	if len(small) > 1 { // for a single other column, the combination would be small again
		for _, name := range slices.Sorted(maps.Keys(small)) {
			combinations = append(combinations, map[string]types.ID{name: small[name]})
		}
	}
	return combinations
}

// tryViews reports each view that can be read while its tables hold rows with a small key,
// but not while they hold rows with a key of today. It adds a note on the views that return
// no row or that fail with any key, because the trial shows nothing about them. The note
// leaves out a view that reads only views, which is a view without a table.
func (r *trialRun) tryViews(ctx context.Context) error {
	views, err := r.Views(ctx, r.Today, false) // with the types of the plan
	var before []Shown                         // the results with a small key, in the order of views
	if err == nil && slices.ContainsFunc(views, func(v Shown) bool { return v.Err != nil }) {
		before, err = r.Views(ctx, r.Small, true) // with the present types
	}
	var untried []string
	for i, v := range views {
		switch {
		case v.Rows > 0: // it can be read with the key
		case v.Err != nil && err == nil && before[i].Rows > 0 && !errors.As(v.Err, new(Unanswered)):
			r.Unreadable(v, r.Today)
		case v.Table.Name != "":
			untried = append(untried, v.View.String())
		}
	}
	if len(untried) > 0 {
		r.Note("No key was tried in view %s: over copies, it shows no row, or fails with any key.", List(untried))
	}
	return err
}

// findAssigning reports the triggers that still assign keys after phase detach, as
// omissions of this phase. It also stores their tables for findInsert.
func (r *trialRun) findAssigning(ctx context.Context) error {
	triggers, err := r.Assigning(ctx)
	for _, t := range triggers {
		r.assigning = AppendNew(r.assigning, t.Table)
		r.Omit(plan.Detach, t.Table, "trigger "+t.Trigger, "it assigns keys to rows that have none", "drop it once programs assign the keys"+t.Fix)
	}
	return err
}

// findCodes reports the code in the database, such as triggers and functions, that inserts
// rows without a key, and the triggers that write a key into a narrow column.
func (r *trialRun) findCodes(ctx context.Context) error {
	codes, err := r.Codes(ctx)
	r.findViews(codes)
	for _, code := range codes {
		for _, t := range r.Tables {
			r.findInsert(code, t)
		}
		for _, column := range code.Narrow {
			r.Block(code.Table, code.Object, "it writes a key into "+column+", which does not hold a Snowflake ID: every write that fires it fails", "make the column bigint")
		}
	}
	return err
}

// findViews adds a note for each key on the views of its table that do not have the key
// among their columns. A program that inserts into such a view cannot give the key, so its
// INSERT fails after phase detach. It is only a note, because the database does not know
// whether a program inserts into the view.
func (r *trialRun) findViews(codes []Code) {
	for _, t := range r.Tables {
		for _, key := range r.Unassigned(t) {
			var views []string
			for _, code := range codes {
				// A view has a single Insert, with the columns that the view reads.
				if code.View && isInto(code.Inserts[0], t) && !code.Inserts[0].Gives(key) {
					views = append(views, code.Object)
				}
			}
			if len(views) > 0 {
				r.Warn("An INSERT into %s fails after phase detach, because it cannot give key %s of table %s. Let programs insert into the table.", List(views), key, t.TableName())
			}
		}
	}
}

// findInsert reports each key of table t that the code omits in an INSERT. It reports a
// key once, even if several statements omit it. If a write runs the code, the finding is
// a blocker, because the write fails. Otherwise only calls of the code fail, so it is a
// note. A view is left out, because findViews has reported it, and so is a table whose
// keys a trigger assigns, because findAssigning has reported the trigger.
func (r *trialRun) findInsert(code Code, t plan.Table) {
	const reason = "inserts into table %s without its key %s, which the database does not assign after phase detach"
	const fix = "let it insert a key, give the key a DEFAULT that calls a function which returns one, or leave the table out"
	for _, key := range r.Unassigned(t) {
		missing := slices.ContainsFunc(code.Inserts, func(in sqltext.Insert) bool { return isInto(in, t) && !in.Gives(key) })
		switch name := t.TableName(); {
		case !missing || code.View || slices.Contains(r.assigning, name):
		case code.Fires:
			r.Block(name, code.Object, "it "+fmt.Sprintf(reason, name, key)+": every write that fires it fails", fix)
		default:
			r.Warn("%s "+reason+": each call fails. Before that, "+fix+".", code.Object, name, key)
		}
	}
}

// isInto reports whether an INSERT is into the table. If the INSERT or the table has no
// schema, it compares only the names.
func isInto(in sqltext.Insert, t plan.Table) bool {
	return strings.EqualFold(in.Table, t.Name) && (in.Schema == "" || t.Schema == "" || strings.EqualFold(in.Schema, t.Schema))
}
