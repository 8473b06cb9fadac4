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

// A Trial describes the keys that [Engine.Try] inserts into copies of tables.
type Trial struct {
	Tables []plan.Table // the tables as [Engine.Inspect] returns them; all their columns hold keys

	// Moved reports that the copies have the column types of the plan, and that the
	// database does not assign keys in them. Otherwise they are like the tables.
	Moved  bool
	Phases []plan.Phase // the phases of the plan, if Moved is true
	Parked bool         // whether the plan has phase park, so that the database still assigns keys

	Small types.ID // a key that every table accepts; if a row is rejected even with this key, the cause is not the key
	Today types.ID // a key that would be issued now
	Last  types.ID // the last key of the layout
}

// Unassigned returns the columns of a table whose keys the database must not assign after
// the move, because programs assign them. A trigger must not assign them either. A key
// that the database assigns today is one of them only if the plan has phase detach. Keys
// that refer to another key, keys with a computed default, and the keys of parked
// counters are not, because the move does not change how they get their values.
func (t Trial) Unassigned(table plan.Table) (names []string) {
	detached := slices.ContainsFunc(t.Phases, func(p plan.Phase) bool { return p.Name == plan.Detach })
	for _, c := range table.Columns {
		if c.Key && len(c.Refers) == 0 && !t.Parked && c.Auto != plan.Computed && (c.Auto == "" || detached) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Run tries today's key and then the layout's last key in the copies. It reports the
// columns that reject them, the triggers that assign keys, the code that inserts rows
// without a key, and the views that cannot be read. copied lists the table of each copy.
// A table can be listed several times, because some parts of its definition are tried in
// separate copies.
func (t Trial) Run(ctx context.Context, c Copies, copied []plan.Table) (found Findings, err error) {
	r := &trialRun{Trial: t, Copies: c, Findings: &found, copied: copied, decided: map[plan.TableName]bool{}}
	err = r.tryKeys(ctx, t.Today, r.Reject, r.NotTried)
	// A table that cannot be tried was reported for the first key.
	if err == nil {
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
	decided map[plan.TableName]bool // the tables whose result is known, so that they are not tried again

	assigning []plan.TableName // the tables with a trigger that assigns keys
}

// tryKeys inserts into each copy rows that have keys close to key in all columns at once.
// It leaves out a copy without columns to move, and a table whose result is known. For a
// table that rejects such a row, it examines each column, and calls reject or notTried
// with the result.
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
	failed := map[int]bool{}
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
	var untried error
	reasons := map[string]bool{}
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
		if errors.As(refusal, new(Unanswered)) { // a further column would probably not be judged either, and take as long
			break
		}
	}
	if len(reasons) == 0 && untried != nil {
		r.decided[t.TableName()] = true
		notTried(t.TableName(), untried)
	}
	return nil
}

// rejects reports whether a column of copy i rejects the key, and returns the error of
// the database. It combines the key with several keys in the other columns, and with each
// of the [Fills]. The column rejects the key if, with one fill, every row with the key
// fails, and one of these rows is accepted with a small key in the column. If an
// insertion failed for an unknown cause, rejects returns false and the error.
func (r *trialRun) rejects(ctx context.Context, i int, t plan.Table, column string, key types.ID) (rejected bool, refusal, err error) {
	// The keys to compare: the key itself, and small keys that the table accepts. The
	// largest key of the table is one of them, because a CHECK may reject keys below a
	// limit.
	values := []types.ID{key, r.Small}
	if t.MaxKey > r.Small && t.MaxKey < key {
		values = append(values, t.MaxKey)
	}
	accepted := false
	for fill := range Fills {
		var rows []Row
		for _, other := range r.otherKeys(t, column, key) {
			for _, value := range values {
				keys := maps.Clone(other)
				keys[column] = value
				rows = append(rows, Row{Table: i, Fill: fill, AsIs: value != key, Keys: keys}) // small keys are tried with the present types
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

// decide judges a key from the errors of several rows. Each element of combinations holds
// first the error of a row with the key, and then the errors of the same row with small
// keys. The key is accepted if one of the rows with the key has reached the table.
// Otherwise, failure is the error of a row that is accepted with a small key. If there is
// no such row, failure is nil, because the cause of the errors is unknown.
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

// reachedTable reports whether the row with this error was written to the table, which
// means that the database has accepted its keys.
func reachedTable(refusal error) bool {
	var unanswered Unanswered
	return refusal == nil || errors.As(refusal, &unanswered) && unanswered.Written
}

// otherKeys returns combinations of keys for the columns other than column: large keys,
// small keys, NULL in all of them, and then a small key in a single column. A CHECK may
// require any of these, for example that exactly one of two references is set. A
// combination with large keys also has an entry for column, which the caller overwrites.
func (r *trialRun) otherKeys(t plan.Table, column string, key types.ID) []map[string]types.ID {
	// Near subtracts up to the number of columns, so these small keys are not below
	// Small.
	large, small := Near(t, key), Near(t, r.Small+types.ID(len(t.Columns)))
	delete(small, column)
	combinations := []map[string]types.ID{large, small, {}}
	if len(small) > 1 { // a single other column has its small key already
		for _, name := range slices.Sorted(maps.Keys(small)) {
			combinations = append(combinations, map[string]types.ID{name: small[name]})
		}
	}
	return combinations
}

// tryViews reports the views that can be read with a small key, but not with a key of
// today. It adds a note on views that return no row or that fail with any key, because
// the trial shows nothing about them. The note omits a view that has no table, because it
// reads only views.
func (r *trialRun) tryViews(ctx context.Context) error {
	views, err := r.Views(ctx, r.Today, false) // with the types of the plan
	var before []Shown
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

// findAssigning reports the triggers that still assign keys after phase detach.
func (r *trialRun) findAssigning(ctx context.Context) error {
	triggers, err := r.Assigning(ctx)
	for _, t := range triggers {
		r.assigning = AppendNew(r.assigning, t.Table)
		r.Omit(plan.Detach, t.Table, "trigger "+t.Trigger, "it assigns keys to rows that have none", "drop it once programs assign the keys"+t.Fix)
	}
	return err
}

// findCodes reports the code that inserts rows without a key, and the code that writes a
// key into a narrow column.
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

// findViews adds a note for each key with all views that do not show it. A program that
// inserts into such a view cannot give the key. The database does not know whether any
// program does.
func (r *trialRun) findViews(codes []Code) {
	for _, t := range r.Tables {
		for _, key := range r.Unassigned(t) {
			var views []string
			for _, code := range codes {
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

// isInto reports whether an INSERT is into the table. If the schema of one of them is
// unknown, it compares only the names.
func isInto(in sqltext.Insert, t plan.Table) bool {
	return strings.EqualFold(in.Table, t.Name) && (in.Schema == "" || t.Schema == "" || strings.EqualFold(in.Schema, t.Schema))
}
