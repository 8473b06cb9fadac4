package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const (
	// copySchema is the name of an attached database in memory, in which the copies are.
	// It also works if the main database is read-only. Its views and triggers cannot name
	// tables of another database, so they cannot change the main database.
	copySchema  = "snowflake_trial"
	openCopies  = "ATTACH 'file:" + copySchema + "?mode=memory&cache=private' AS " + copySchema
	closeCopies = "DETACH " + copySchema

	// trialTimeout ends a statement that a large key makes endless. Other statements take
	// a thousandth of it.
	trialTimeout = 5 * time.Second

	// mostRead limits the rows that are read from a view.
	mostRead = 1000
)

// Try implements [engine.Engine]. It creates empty copies of the tables that may reject a
// key, in an attached database in memory, and inserts keys into them. Most tables of SQLite
// accept every integer and need no copy.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	r := &trial{reader: reader{conn: conn}, Trial: t, triggers: map[string][]string{}}
	if r.choose(read[object](ctx, &r.reader, copiedObjectsSQL)); len(r.objects) == 0 { // all tables accept every integer
		return found, r.err
	}
	// Turn the check of foreign keys off, so that a key can be tried without a parent row.
	restore, err := setPragma(ctx, conn, "foreign_keys", 0)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if err := r.open(ctx); err != nil || r.err != nil {
		// If SQLite cannot attach the database, err is SQLite's error and r.err is nil. Then Try
		// returns a note that no key was tried, and no error.
		found.NotTried(plan.TableName{}, err)
		return found, r.err
	}
	defer func() { err = errors.Join(err, runToEnd(ctx, conn, closeCopies)) }()
	found, err = t.Run(ctx, r, r.Trial.Tables)
	// Remove the blockers that repeat the blocker of a trigger.
	found.Blockers = slices.DeleteFunc(slices.Clone(found.Blockers), func(b plan.Blocker) bool { return r.isOfTrigger(b, found.Blockers) })
	return found, err
}

// A trial is one call of Try. It implements [engine.Copies]. The copies are in the attached
// database. The field Tables of the engine.Trial has the tables with a copy. After an error
// in the reader, a trial sends no further statement.
type trial struct {
	reader
	engine.Trial

	triggerObjects []object                  // the triggers of all tables and views
	objects        []object                  // the objects to copy
	triggers       map[string][]string       // the names of copied triggers for INSERT, except guards, by the folded names of their tables
	copyErrs       map[string]error          // errors of objects that could not be copied, by the folded names of their tables
	columns        map[string][]copiedColumn // the columns of copies that are not generated, by the folded names of their tables
	filled         bool                      // whether the copies contain rows
}

// mayReject matches words in the CREATE text of a table or an index by which the table may
// reject or change an integer, for example CHECK. If a match is a mistake, the trial only
// takes longer.
var mayReject = regexp.MustCompile(`(?i)\b(check|as|strict|collate|where)\b|real|floa|doub`) //nolint:misspell // SQLite's own words

// choose stores in r the objects to copy, and the tables to try. all has the objects of the
// database main that copiedObjectsSQL returns. choose leaves out the tables that accept
// every integer, unless a view or a trigger mentions them. A table may reject an integer if
// its text has a word of mayReject, or if it has an index of an expression, which can fail.
// Such an index has a second parenthesis, as in ON t (abs(id)).
func (r *trial) choose(all []object) {
	needed := map[string]bool{} // the folded names of the tables to copy, among other words
	for _, o := range all {
		of := fold(o.Table)
		switch {
		case o.isGuard(): // a guard rejects no valid key, so it is no reason to copy its table
		case o.Kind == "table" || o.Kind == "index":
			needed[of] = needed[of] || mayReject.MatchString(o.Text) || o.Kind == "index" && strings.Count(o.Text, "(") > 1
		default: // a view or a trigger
			for _, token := range tokens(o.Text) { // each word may be the name of a table
				needed[fold(token.Text)] = true
			}
			if o.Kind == "trigger" {
				r.triggerObjects = append(r.triggerObjects, o)
			}
			if o.Kind == "trigger" && strings.Contains(strings.ToUpper(o.Text), "INSERT") {
				r.triggers[of] = append(r.triggers[of], o.Name)
			}
		}
	}
	// The guards are only needed to find triggers that insert rows without a key.
	if len(r.triggers) > 0 {
		all = append(all, r.guards()...)
	}
	r.objects = slices.DeleteFunc(all, func(o object) bool { return !o.isView() && !needed[fold(o.Table)] })
	r.Trial.Tables = slices.DeleteFunc(slices.Clone(r.Trial.Tables), func(t plan.Table) bool { return !needed[fold(t.Name)] })
}

// guards returns the triggers that phase guard of the plan creates, as objects to copy, so
// that a copy rejects rows without a key as the table will after the move.
func (r *trial) guards() (guards []object) {
	for _, phase := range r.Phases {
		for _, step := range phase.Steps {
			if phase.Name == plan.Guard {
				// copyAll inserts the schema of the copies in place of main.
				text := strings.NewReplacer("IF NOT EXISTS ", "", "main.", "").Replace(step.Up[0].SQL)
				guards = append(guards, object{Kind: "trigger", Name: sqliteguard.Name(step.Table.Name), Table: step.Table.Name, Text: text})
			}
		}
	}
	return guards
}

// open attaches the database of the copies, creates the copies and reads their columns. It
// returns the error of SQLite if the database cannot be attached. It stores any other error
// in the reader.
func (r *trial) open(ctx context.Context) error {
	if err := r.try(ctx, openCopies); err != nil || r.err != nil {
		return err
	}
	r.copyErrs, r.columns = map[string]error{}, map[string][]copiedColumn{}
	r.copyAll(ctx)
	for _, c := range read[copiedColumn](ctx, &r.reader, copiedSQL) {
		r.columns[fold(c.Table)] = append(r.columns[fold(c.Table)], c)
	}
	if r.err != nil {
		_ = runToEnd(ctx, r.conn, closeCopies) // the connection stays in use
	}
	return nil
}

// try runs a statement. It returns an error of SQLite, which is a result of the trial, for
// example that a row is rejected. It stores any other error in the reader, which ends the
// trial, for example that the caller has canceled ctx. If the reader has an error already,
// try runs nothing and returns nil.
func (r *reader) try(ctx context.Context, statement string) error {
	if r.err != nil {
		return nil
	}
	_, err := r.conn.ExecContext(ctx, statement)
	return r.refusal(err)
}

// refusal returns err if it comes from SQLite or is a timeout, because such an error is a
// result of the trial. It stores any other error in the reader, and returns nil. It
// recognizes an error of SQLite by the name of its type, such as *sqlite.Error, because
// this package does not import the drivers.
func (r *reader) refusal(err error) error {
	// rows.Texts joins the errors of a query, of which the first is the cause.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		err = joined.Unwrap()[0]
	}
	if err == nil || strings.Contains(fmt.Sprintf("%T", err), "sqlite") || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	r.fail(err)
	return nil
}

// fail stores an error that ends the trial, unless there is an earlier one.
func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("sqlmigrate: try keys: %w", err)
	}
}

// copiedObjectsSQL returns the objects that may have to be copied, tables first and
// triggers last. Virtual tables precede other tables, because they create their shadow
// tables themselves. It leaves out indexes that check nothing, which have no UNIQUE,
// expression or WHERE.
const copiedObjectsSQL = objectsSQL + ` AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND (type <> 'index' OR sql LIKE '%UNIQUE%' OR sql LIKE '%(%(%' OR sql LIKE '%WHERE%')
ORDER BY type <> 'table', sql NOT LIKE 'CREATE VIRTUAL%', type = 'trigger', rowid`

// copiedModules matches the virtual tables that are copied, which are those of SQLite's own
// modules. The copy of such a table creates its shadow tables itself.
var copiedModules = regexp.MustCompile(`(?i)^CREATE VIRTUAL TABLE .*\bUSING\s+(fts[345]|rtree(_i32)?|geopoly)\b`)

// copyAll creates the copies in one transaction. It runs the text of each object with the
// schema of the copies before the name, for example CREATE TABLE snowflake_trial.orders. If
// SQLite cannot create a copy, copyAll stores the error in r.copyErrs.
func (r *trial) copyAll(ctx context.Context) {
	r.fail(runToEnd(ctx, r.conn, "BEGIN"))
	defer func() {
		if err := runToEnd(ctx, r.conn, "COMMIT"); err != nil {
			r.fail(errors.Join(err, endTransaction(ctx, r.conn)))
		}
	}()
	for _, o := range r.objects {
		if o.isVirtual() && !copiedModules.MatchString(o.Text) {
			continue
		}
		// SQLite stores each text with its beginning, such as CREATE TABLE, in upper case.
		kind := strings.ToUpper(o.Kind) + " "
		text := strings.Replace(o.Text, kind, kind+copySchema+".", 1)
		if r.Moved { // the copies are as phase detach leaves the tables
			text, _ = withoutAutoincrement(text)
		}
		if err := r.try(ctx, text); err != nil {
			r.copyErrs[fold(o.Table)] = cmp.Or(r.copyErrs[fold(o.Table)], err)
		}
	}
}

// A copiedColumn is a column of a copy. Required means that it cannot be NULL.
type copiedColumn struct {
	Table, Name, Type string
	Required          bool
	Default           sql.NullString
}

// copiedSQL returns the columns of all copies, without generated columns and the hidden
// columns of virtual tables (hidden is not 0).
const copiedSQL = `SELECT m.name, c.name, c.type, c."notnull" OR c.pk > 0, c.dflt_value
FROM ` + copySchema + `.sqlite_master m JOIN pragma_table_xinfo(m.name, '` + copySchema + `') c WHERE m.type = 'table' AND c.hidden = 0 ORDER BY m.rowid, c.cid`
