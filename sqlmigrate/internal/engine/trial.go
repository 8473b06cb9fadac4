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

// A Trial is what [Engine.Try] puts into copies of tables.
type Trial struct {
	Tables []plan.Table // as [Engine.Inspect] returns them: each of their columns holds keys

	// Moved: the copies have the types that the plan gives to the columns, and nothing
	// assigns keys in them. Else they are as the tables are.
	Moved  bool
	Phases []plan.Phase // of the plan, if the copies are Moved
	Parked bool         // the database keeps on assigning keys

	Small types.ID // every table accepts it today: a row that is rejected with it too is rejected for another reason
	Today types.ID // one that would be issued now
	Last  types.ID // the last one of the layout
}

// Unassigned are the keys of a table that the database is not to assign, so that no
// trigger may either.
func (t Trial) Unassigned(of plan.Table) (names []string) {
	detached := slices.ContainsFunc(t.Phases, func(p plan.Phase) bool { return p.Name == plan.Detach })
	for _, c := range of.Columns {
		if c.Key && len(c.Refers) == 0 && !t.Parked && c.Auto != plan.Computed && (c.Auto == "" || detached) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Fills is in how many ways columns that hold no key are filled: by values that their
// types take, and by NULL.
const Fills = 2

// Copies are tables without rows that take what tables take. What ends the trial is
// the second result of a method.
type Copies interface {
	// Enter tries each row in its copy, without regard to the others. It returns why the
	// database rejects it: an [Unanswered] one has another cause.
	Enter(ctx context.Context, rows []Row) ([]error, error)

	// Views reads each view above the copies, in which there is a row with the key. It
	// comes last.
	Views(ctx context.Context, key types.ID, asIs bool) ([]Shown, error)

	// Assigning are triggers that give keys to rows without one.
	Assigning(ctx context.Context) ([]Assigning, error)

	// Codes are what the database runs that inserts rows, as far as its text can be read:
	// triggers, rules, functions, procedures and events.
	Codes(ctx context.Context) ([]Code, error)
}

// A Row has keys, by their columns.
type Row struct {
	Table int // of those that [Trial.Run] got
	Fill  int
	AsIs  bool // the copy is as the table, also for [Trial.Moved]
	Keys  map[string]types.ID
}

// Unanswered is an error that is not the database's answer to a key.
type Unanswered struct {
	Cause   error
	Written bool // the key has come as far as a statement that writes, which a trial does not allow
}

func (u Unanswered) Error() string { return u.Cause.Error() }

// A Shown view was read.
type Shown struct {
	Table, View plan.TableName // Table is empty for a view of views
	Rows        int64
	Err         error
	Fix         string // more than to change or drop it
}

// Assigning is a trigger.
type Assigning struct {
	Table        plan.TableName
	Trigger, Fix string
}

// A Code is a part of the database that inserts rows.
type Code struct {
	Object  string         // trigger t on table o
	Table   plan.TableName // of a trigger
	Fires   bool           // by a write, so that the write fails with it; else it is called
	Inserts []sqltext.Insert
	Narrow  []string // columns, with their tables and types, into which it writes a key that they do not hold
}

// Run tries keys in all columns of the copies at once, and if that fails in each. A table
// may be among them several times, each with other parts of its definition.
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
	decided map[plan.TableName]bool // tables that are not tried again

	assigning []plan.TableName // tables whose triggers give keys to rows without one
}

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

// examine looks for the columns that reject the key. One that fails as another did is not
// listed: no row enters for that reason.
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

// rejects tries a column with several values in the others. It rejects the key if no such
// row enters with it, and one does with a small key.
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
			return false, refusals[0], nil // which may have been waited for
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

// decide gets refusals of rows with the key, each with those of the same row with small
// ones. Without a failure, it is not known what rejects the row.
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

// hasCome reports whether a row was taken, but for what its triggers write elsewhere.
func hasCome(refusal error) bool {
	var unanswered Unanswered
	return refusal == nil || errors.As(refusal, &unanswered) && unanswered.Written
}

// others are keys for the columns that are not tried: larger ones in all, smaller ones,
// none, and one.
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

// Near has keys for all columns. They differ, and the row's own is the largest, as that
// of a row that is inserted after those to which it refers.
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

// Same has the same key for all columns, so that a row is joined with itself and others.
func Same(t plan.Table, key types.ID) map[string]types.ID {
	keys := map[string]types.ID{}
	for _, c := range t.Columns {
		keys[c.Name] = key
	}
	return keys
}

// chained are the rows of a [Chain].
const chained = 4

// Chain are keys of rows, each of which refers to the next one of any table, and the last
// to none: joins find rows, and a recursive view comes to an end.
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

// tryViews reads those that fail with a small key too.
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

// findAssigning is for triggers with which the database continues to assign keys after
// phase detach.
func (r *trialRun) findAssigning(ctx context.Context) error {
	triggers, err := r.Assigning(ctx)
	for _, t := range triggers {
		r.assigning = AppendNew(r.assigning, t.Table)
		r.Omit(plan.Detach, t.Table, "trigger "+t.Trigger, "it assigns keys to rows that have none", "drop it once programs assign the keys"+t.Fix)
	}
	return err
}

// findCodes is for what inserts rows without a key, and for what writes a key into a
// narrow column.
func (r *trialRun) findCodes(ctx context.Context) error {
	codes, err := r.Codes(ctx)
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

// findInsert reports each key of the table once.
func (r *trialRun) findInsert(code Code, t plan.Table) {
	const reason = "inserts into table %s without its key %s, which the database does not assign after phase detach"
	const fix = "let it insert a key, give column %s a DEFAULT that calls a function which returns one, or leave table %s out"
	for _, key := range r.Unassigned(t) {
		missing := slices.ContainsFunc(code.Inserts, func(in sqltext.Insert) bool { return isInto(in, t) && !in.Gives(key) })
		switch name := t.TableName(); {
		case !missing || slices.Contains(r.assigning, name):
		case code.Fires:
			r.Block(name, code.Object, "it "+fmt.Sprintf(reason, name, key)+": every write that fires it fails", fmt.Sprintf(fix, key, name))
		default:
			r.Note("%s "+reason+": each call fails. Before that, "+fix+".", strings.ToUpper(code.Object[:1])+code.Object[1:], name, key, key, name)
		}
	}
}

// isInto goes by the name alone where one of both has no schema.
func isInto(in sqltext.Insert, t plan.Table) bool {
	return strings.EqualFold(in.Table, t.Name) && (in.Schema == "" || t.Schema == "" || strings.EqualFold(in.Schema, t.Schema))
}

// Reject blocks: a column does not take a key of today. err has the server's words.
func (f *Findings) Reject(table plan.TableName, column string, key types.ID, err error) {
	f.Block(table, columnOf(table, column), fmt.Sprintf("a copy of the table rejects key %d: %v", key, err),
		"change what rejects the key, or leave the table out")
}

// RejectLast notes that a column takes keys of today, and not the layout's last one.
func (f *Findings) RejectLast(table plan.TableName, column string, key types.ID, err error) {
	f.Note("Column %s of table %s takes keys of today, but not %d, the last one of the layout: %v", column, table, key, err)
}

// Unreadable blocks: a view fails when it is read with a key of today.
func (f *Findings) Unreadable(v Shown, key types.ID) {
	f.Block(cmp.Or(v.Table, v.View), "view "+v.View.String(), fmt.Sprintf("it cannot be read with key %d in a copy of the table: %v", key, v.Err),
		"change the view, or drop it"+v.Fix)
}

// NotTried notes a table of which no copy can be tried, or that there are no copies if
// its name is empty.
func (f *Findings) NotTried(table plan.TableName, why error) {
	of := ""
	if table.Name != "" {
		of = " of table " + table.String()
	}
	f.Note("No key was tried in a copy%s: %v", of, why)
}

// NotPositive is for a key of a table that the guard does not allow. guard says what
// there is of it all the same.
func (f *Findings) NotPositive(table plan.TableName, column string, key int64, guard string) {
	f.Omit(plan.Guard, table, columnOf(table, column), fmt.Sprintf("it holds key %d, which is not positive: %s", key, guard),
		"give the row another key, and apply phase guard again")
}

func columnOf(table plan.TableName, column string) string {
	return "column " + column + " of table " + table.String()
}
