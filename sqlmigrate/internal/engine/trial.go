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

// Unassigned returns the keys of a table that the database must not assign after the
// move. A trigger must not assign them either.
func (t Trial) Unassigned(of plan.Table) (names []string) {
	detached := slices.ContainsFunc(t.Phases, func(p plan.Phase) bool { return p.Name == plan.Detach })
	for _, c := range of.Columns {
		if c.Key && len(c.Refers) == 0 && !t.Parked && c.Auto != plan.Computed && (c.Auto == "" || detached) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Fills is the number of ways to fill the columns that hold no key. In the first way they
// get values that fit their types, in the second NULL.
const Fills = 2

// Copies are the empty copies of tables in which a trial runs. The databases implement
// it. A second result that is not nil ends the trial.
type Copies interface {
	// Enter inserts each row into its copy, independently of the other rows. It returns
	// for each row the error of the database, which is nil if the row was accepted. An
	// [Unanswered] error means that the key was not the cause.
	Enter(ctx context.Context, rows []Row) ([]error, error)

	// Views reads each view on the copies, after it has inserted rows with the key. It is
	// called last. asIs reads the views over copies with the present types.
	Views(ctx context.Context, key types.ID, asIs bool) ([]Shown, error)

	// Assigning returns the triggers that assign keys to rows without a key.
	Assigning(ctx context.Context) ([]Assigning, error)

	// Codes returns the triggers, rules, functions, procedures and events that insert
	// rows, if their text can be analyzed.
	Codes(ctx context.Context) ([]Code, error)
}

// A Row is a row to insert, as a map from columns to keys.
type Row struct {
	Table int // index in the tables that [Trial.Run] received
	Fill  int
	AsIs  bool // whether the copy has the present types of the table even if [Trial.Moved] is true
	Keys  map[string]types.ID
}

// An Unanswered error prevented the database from judging a key.
type Unanswered struct {
	Cause   error
	Written bool // whether the database accepted the key and failed later, at a write that the trial does not allow
}

func (u Unanswered) Error() string { return u.Cause.Error() }

// A Shown is the result of reading a view.
type Shown struct {
	Table, View plan.TableName // Table is empty for a view on views
	Rows        int64
	Err         error
	Fix         string // additional advice; by default the fix is to change or drop the view
}

// An Assigning is a trigger that assigns keys.
type Assigning struct {
	Table        plan.TableName
	Trigger, Fix string
}

// A Code is an object of the database whose code inserts rows.
type Code struct {
	Object  string         // for example trigger t on table o
	Table   plan.TableName // the table of a trigger
	Fires   bool           // whether a write runs it, so that the write fails if it fails; otherwise programs call it
	View    bool           // whether it is a view into which programs can insert; its only Insert has the columns that it reads
	Inserts []sqltext.Insert
	Narrow  []string // columns, with their tables and types, into which it writes a key for which they are too narrow
}

// Run tries today's key and then the layout's last key in the copies. It reports the
// columns that reject them, the triggers that assign keys, the code that inserts rows
// without a key, and the views that cannot be read. copied lists the table of each copy.
// A table can be listed several times, because some parts of its definition are tried in
// separate copies.
func (t Trial) Run(ctx context.Context, c Copies, copied []plan.Table) (found Findings, err error) {
	r := &trialRun{Trial: t, Copies: c, Findings: &found, copied: copied, decided: map[plan.TableName]bool{}}
	err = r.tryKeys(ctx, t.Today, r.Reject, r.NotTried)
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

type trialRun struct {
	Trial
	Copies
	*Findings

	copied  []plan.Table
	decided map[plan.TableName]bool // the tables whose result is known, so that they are not tried again

	assigning []plan.TableName // the tables with a trigger that assigns keys
}

// tryKeys inserts rows with the key in all columns of the copies at once. For a table
// that rejects such a row, it examines each column.
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

// examine reports the columns of a table that reject the key. Columns that fail with the
// same error are reported once, because they have the same cause. If no column is found,
// it reports that the table could not be tried.
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
		if errors.As(refusal, new(Unanswered)) {
			break
		}
	}
	if len(reasons) == 0 && untried != nil {
		r.decided[t.TableName()] = true
		notTried(t.TableName(), untried)
	}
	return nil
}

// rejects tries a key in a column, with several combinations of keys in the other columns
// and in both fills. The column rejects the key if every row with the key fails and the
// same row with a small key succeeds.
func (r *trialRun) rejects(ctx context.Context, i int, t plan.Table, column string, key types.ID) (rejected bool, refusal, err error) {
	values := []types.ID{key, r.Small}
	if t.MaxKey > r.Small && t.MaxKey < key {
		values = append(values, t.MaxKey)
	}
	tried := false
	for fill := range Fills {
		var rows []Row
		for _, others := range r.others(t, column, key) {
			for _, value := range values {
				keys := maps.Clone(others)
				keys[column] = value
				rows = append(rows, Row{i, fill, value != key, keys})
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
		tried, refusal = tried || accepts, cmp.Or(refusal, refusals[0])
	}
	if tried {
		refusal = nil
	}
	return false, refusal, nil
}

// decide judges a key from the errors of several rows. Each element of shapes has the
// error of the row with the key, and then the errors of the same row with small keys. If
// accepts is false and failure is nil, the cause of the errors is unknown.
func decide(shapes [][]error) (accepts bool, failure error) {
	for _, refusals := range shapes {
		if refusals[0] == nil {
			return true, nil
		}
		if slices.ContainsFunc(refusals[1:], hasCome) {
			failure = cmp.Or(failure, refusals[0])
		}
	}
	return false, failure
}

// hasCome reports whether the row reached the table, which means that the database has
// accepted its keys.
func hasCome(refusal error) bool {
	var unanswered Unanswered
	return refusal == nil || errors.As(refusal, &unanswered) && unanswered.Written
}

// others returns combinations of keys for the other columns. In the first combination the
// keys are large, in the second small, and in the third NULL. Each further combination
// has a key in a single column.
func (r *trialRun) others(t plan.Table, column string, key types.ID) []map[string]types.ID {
	large, small := Near(t, key), Near(t, r.Small+types.ID(len(t.Columns)))
	delete(small, column)
	shapes := []map[string]types.ID{large, small, {}}
	if len(small) > 1 {
		for name, other := range small {
			shapes = append(shapes, map[string]types.ID{name: other})
		}
	}
	return shapes
}

// Near returns a different key for each column. The row's own key is the largest, as in a
// real row, which is inserted after the rows to which it refers.
func Near(t plan.Table, key types.ID) map[string]types.ID {
	keys := map[string]types.ID{}
	less := types.ID(0)
	for _, c := range slices.Backward(t.Columns) {
		if c.Key && len(c.Refers) == 0 {
			keys[c.Name] = key
		} else {
			less++
			keys[c.Name] = key - less
		}
	}
	return keys
}

// Same returns the same key for all columns, so that a join finds the row itself and rows
// of other tables.
func Same(t plan.Table, key types.ID) map[string]types.ID {
	keys := map[string]types.ID{}
	for _, c := range t.Columns {
		keys[c.Name] = key
	}
	return keys
}

// chained is the number of rows of a [Chain].
const chained = 4

// Chain returns the keys of several rows. Each row refers to the next row, in its own and
// in other tables, so that joins find rows. The last row refers to no row, so that
// recursive views end.
func Chain(t plan.Table, key types.ID) (rows []map[string]types.ID) {
	for range chained {
		keys := map[string]types.ID{}
		for _, c := range t.Columns {
			if c.Key && len(c.Refers) == 0 {
				keys[c.Name] = key
			} else if len(rows)+1 < chained {
				keys[c.Name] = key - 1
			}
		}
		rows, key = append(rows, keys), key-1
	}
	return rows
}

// tryViews reports the views that can be read with a small key, but not with today's key.
// It notes the views that showed no row or that fail with any key.
func (r *trialRun) tryViews(ctx context.Context) error {
	views, err := r.Views(ctx, r.Today, false)
	var before []Shown
	if err == nil && slices.ContainsFunc(views, func(v Shown) bool { return v.Err != nil }) {
		before, err = r.Views(ctx, r.Small, true)
	}
	var unseen []string
	for i, v := range views {
		switch {
		case v.Rows > 0:
		case v.Err != nil && err == nil && before[i].Rows > 0 && !errors.As(v.Err, new(Unanswered)):
			r.Unreadable(v, r.Today)
		case v.Table.Name != "":
			unseen = append(unseen, v.View.String())
		}
	}
	if len(unseen) > 0 {
		r.Note("No key was tried in view %s: over copies, it shows no row, or fails with any key.", strings.Join(unseen, ", "))
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
				r.Note("An INSERT into %s fails after phase detach, because it cannot give key %s of table %s. Let programs insert into the table.", strings.Join(views, ", "), key, t.TableName())
			}
		}
	}
}

// findInsert reports each key of the table that the code omits, once. If a write runs the
// code, the finding is a blocker; otherwise it is a note.
func (r *trialRun) findInsert(code Code, t plan.Table) {
	const reason = "inserts into table %s without its key %s, which the database does not assign after phase detach"
	const fix = "let it insert a key, give column %s a DEFAULT that calls a function which returns one, or leave table %s out"
	for _, key := range r.Unassigned(t) {
		missing := slices.ContainsFunc(code.Inserts, func(in sqltext.Insert) bool { return isInto(in, t) && !in.Gives(key) })
		switch name := t.TableName(); {
		case !missing || code.View || slices.Contains(r.assigning, name):
		case code.Fires:
			r.Block(name, code.Object, "it "+fmt.Sprintf(reason, name, key)+": every write that fires it fails", fmt.Sprintf(fix, key, name))
		default:
			r.Note("%s "+reason+": each call fails. Before that, "+fix+".", strings.ToUpper(code.Object[:1])+code.Object[1:], name, key, key, name)
		}
	}
}

// isInto reports whether an INSERT is into the table. If the INSERT or the table has no
// schema, it compares only the names.
func isInto(in sqltext.Insert, t plan.Table) bool {
	return strings.EqualFold(in.Table, t.Name) && (in.Schema == "" || t.Schema == "" || strings.EqualFold(in.Schema, t.Schema))
}

// Reject adds a blocker for a column that rejects a key of today. err is the error of the
// server.
func (f *Findings) Reject(table plan.TableName, column string, key types.ID, err error) {
	f.Block(table, columnOf(table, column), fmt.Sprintf("a copy of the table rejects key %d: %v", key, err),
		"change what rejects the key, or leave the table out")
}

// RejectLast adds a note on a column that accepts today's keys, but rejects the last key
// of the layout.
func (f *Findings) RejectLast(table plan.TableName, column string, key types.ID, err error) {
	f.Note("Column %s of table %s takes keys of today, but not %d, the last one of the layout: %v", column, table, key, err)
}

// Unreadable adds a blocker for a view that fails when it is read with a key of today.
func (f *Findings) Unreadable(v Shown, key types.ID) {
	f.Block(cmp.Or(v.Table, v.View), "view "+v.View.String(), fmt.Sprintf("it cannot be read with key %d in a copy of the table: %v", key, v.Err),
		"change the view, or drop it"+v.Fix)
}

// NotTried adds a note on a table of which a copy could not be tried. An empty name means
// that there are no copies at all.
func (f *Findings) NotTried(table plan.TableName, why error) {
	of := ""
	if table.Name != "" {
		of = " of table " + table.String()
	}
	f.Note("No key was tried in a copy%s: %v", of, why)
}

// NotPositive adds an omission for a key that violates the guard. guard tells which part
// of the guard is in place nevertheless.
func (f *Findings) NotPositive(table plan.TableName, column string, key int64, guard string) {
	f.Omit(plan.Guard, table, columnOf(table, column), fmt.Sprintf("it holds key %d, which is not positive: %s", key, guard),
		"give the row another key, and apply phase guard again")
}

func columnOf(table plan.TableName, column string) string {
	return "column " + column + " of table " + table.String()
}
