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

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

const (
	// copies is an attached database in memory for the copies. It also works if the main
	// database is read-only. Its views and triggers cannot name tables of another
	// database.
	copies      = "snowflake_trial"
	openCopies  = "ATTACH 'file:" + copies + "?mode=memory&cache=private' AS " + copies
	closeCopies = "DETACH " + copies

	// trialTimeout ends a statement that a large key makes endless. Other statements take
	// a thousandth of it.
	trialTimeout = 5 * time.Second

	// mostRead limits the rows that are read from a view.
	mostRead = 1000
)

// Try implements [engine.Engine].
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	r := &trial{reader: reader{conn: conn}, Trial: t, triggers: map[string][]string{}}
	if r.choose(read[object](ctx, &r.reader, copiedObjectsSQL)); len(r.objects) == 0 {
		return found, r.err
	}
	// Foreign keys are turned off, so that a key can be tried without a parent row.
	restore, err := setPragma(ctx, conn, "foreign_keys", 0)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if err := r.open(ctx); err != nil || r.err != nil {
		found.NotTried(plan.TableName{}, err)
		return found, r.err
	}
	defer func() { err = errors.Join(err, uncancelled(ctx, conn, closeCopies)) }()
	return t.Run(ctx, r, r.Trial.Tables)
}

type trial struct {
	reader
	engine.Trial

	code     []object                  // the triggers of all tables and views
	objects  []object                  // the objects to copy
	triggers map[string][]string       // the names of copied triggers for INSERT, except guards, by the folded names of their tables
	failed   map[string]error          // errors of objects that could not be copied, by the folded names of their tables
	columns  map[string][]copiedColumn // the columns of copies that are not generated, by the folded names of their tables
	filled   bool                      // whether the copies contain rows
}

// mayReject matches words in the text of a table or an index that may reject or change an
// integer. If it matches too much, the table is copied without need, which takes as long
// as reading it.
var mayReject = regexp.MustCompile(`(?i)\b(check|as|strict|collate|where)\b|real|floa|doub`) //nolint:misspell // SQLite's own words

// choose selects the objects to copy. It leaves out tables that accept every integer,
// unless a view or a trigger mentions them.
func (r *trial) choose(all []object) {
	needed := map[string]bool{}
	for _, o := range all {
		of := fold(o.Table)
		switch {
		case o.isGuard():
		case o.Kind == "table" || o.Kind == "index":
			needed[of] = needed[of] || mayReject.MatchString(o.Text) || o.Kind == "index" && strings.Count(o.Text, "(") > 1
		default:
			for _, token := range tokens(o.Text) {
				needed[fold(token.Text)] = true
			}
			if o.Kind == "trigger" {
				r.code = append(r.code, o)
			}
			if o.Kind == "trigger" && strings.Contains(strings.ToUpper(o.Text), "INSERT") {
				r.triggers[of] = append(r.triggers[of], o.Name)
			}
		}
	}
	if len(r.triggers) > 0 { // only triggers insert rows without a key
		all = append(all, r.guards()...)
	}
	r.objects = slices.DeleteFunc(all, func(o object) bool { return !o.isView() && !needed[fold(o.Table)] })
	r.Trial.Tables = slices.DeleteFunc(slices.Clone(r.Trial.Tables), func(t plan.Table) bool { return !needed[fold(t.Name)] })
}

// guards returns the triggers that phase guard of the plan creates.
func (r *trial) guards() (guards []object) {
	for _, phase := range r.Phases {
		for _, step := range phase.Steps {
			if phase.Name == plan.Guard {
				text := strings.NewReplacer("IF NOT EXISTS ", "", "main.", "").Replace(step.Up[0].SQL)
				guards = append(guards, object{"trigger", parking.SQLiteGuardName(step.Table.Name), step.Table.Name, text})
			}
		}
	}
	return guards
}

// open attaches the database of the copies, and creates the copies.
func (r *trial) open(ctx context.Context) error {
	if err := r.try(ctx, openCopies); err != nil || r.err != nil {
		return err
	}
	r.failed, r.columns = map[string]error{}, map[string][]copiedColumn{}
	r.copyAll(ctx)
	for _, c := range read[copiedColumn](ctx, &r.reader, copiedSQL) {
		r.columns[fold(c.Table)] = append(r.columns[fold(c.Table)], c)
	}
	if r.err != nil {
		_ = uncancelled(ctx, r.conn, closeCopies) // the connection stays in use
	}
	return nil
}

// Enter implements [engine.Copies].
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for _, row := range rows {
		refusals = append(refusals, r.enter(ctx, row))
	}
	return refusals, cmp.Or(ctx.Err(), r.err)
}

// try runs a statement, and returns the error if it comes from SQLite. It stores any
// other error in the reader.
func (r *reader) try(ctx context.Context, statement string) error {
	if r.err != nil {
		return nil
	}
	_, err := r.conn.ExecContext(ctx, statement)
	return r.refusal(err)
}

// refusal returns err if it comes from SQLite, which it recognizes by the name of the
// error's type, or is a timeout. It stores any other error in the reader.
func (r *reader) refusal(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		err = joined.Unwrap()[0]
	}
	if err == nil || strings.Contains(fmt.Sprintf("%T", err), "sqlite") || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	r.fail(err)
	return nil
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("sqlmigrate: try keys: %w", err)
	}
}

// copiedObjectsSQL returns the objects that may have to be copied, tables first and
// triggers last. It leaves out indexes that check nothing, which have no UNIQUE,
// expression or WHERE.
const copiedObjectsSQL = objectsSQL + ` AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND (type <> 'index' OR sql LIKE '%UNIQUE%' OR sql LIKE '%(%(%' OR sql LIKE '%WHERE%')
ORDER BY type <> 'table', sql NOT LIKE 'CREATE VIRTUAL%', type = 'trigger', rowid`

// copiedModules matches the virtual tables of SQLite's own modules. They create their
// shadow tables themselves.
var copiedModules = regexp.MustCompile(`(?i)^CREATE VIRTUAL TABLE .*\bUSING\s+(fts[345]|rtree(_i32)?|geopoly)\b`)

func (r *trial) copyAll(ctx context.Context) {
	r.fail(uncancelled(ctx, r.conn, "BEGIN"))
	defer func() {
		if err := uncancelled(ctx, r.conn, "COMMIT"); err != nil {
			r.fail(errors.Join(err, endTransaction(ctx, r.conn)))
		}
	}()
	for _, o := range r.objects {
		if o.isVirtual() && !copiedModules.MatchString(o.Text) {
			continue
		}
		// SQLite writes the beginning of each text in upper case.
		kind := strings.ToUpper(o.Kind) + " "
		text := strings.Replace(o.Text, kind, kind+copies+".", 1)
		if r.Moved {
			text, _ = withoutAutoincrement(text)
		}
		if err := r.try(ctx, text); err != nil {
			r.failed[fold(o.Table)] = cmp.Or(r.failed[fold(o.Table)], err)
		}
	}
}

type copiedColumn struct {
	Table, Name, Type string
	Required          bool
	Default           sql.NullString
}

const copiedSQL = `SELECT m.name, c.name, c.type, c."notnull" OR c.pk > 0, c.dflt_value
FROM ` + copies + `.sqlite_master m JOIN pragma_table_xinfo(m.name, '` + copies + `') c WHERE m.type = 'table' AND c.hidden = 0 ORDER BY m.rowid, c.cid`

// enter inserts a row into its copy, checks that a row with its keys exists, and rolls
// back.
func (r *trial) enter(ctx context.Context, row engine.Row) error {
	t := r.Trial.Tables[row.Table]
	if err := cmp.Or(r.err, r.failed[fold(t.Name)]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	r.fail(uncancelled(ctx, r.conn, "BEGIN"))
	defer func() { r.fail(endTransaction(ctx, r.conn)) }()
	if row.AsIs {
		for _, guarded := range r.Trial.Tables {
			r.fail(r.try(ctx, "DROP TRIGGER IF EXISTS "+copies+"."+quote(parking.SQLiteGuardName(guarded.Name))))
		}
	}
	if err := r.try(ctx, r.insertSQL(t, row)); err != nil {
		return err
	}
	if !one[bool](ctx, &r.reader, findSQL(t, row.Keys)) {
		return errors.New("the row has another key after it was inserted, or is not there")
	}
	return nil
}

func findSQL(t plan.Table, keys map[string]types.ID) string {
	where := []string{"true"}
	for name, key := range keys {
		if key != 0 {
			where = append(where, quote(name)+" = "+key.String())
		}
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s WHERE %s)", copies, quote(t.Name), strings.Join(where, " AND "))
}

// insertSQL returns a statement that inserts a row. The columns without keys get their
// values from a row of the original table or, if it is empty, values that the columns
// require.
func (r *trial) insertSQL(t plan.Table, row engine.Row) string {
	var names, values []string
	for _, c := range r.columns[fold(t.Name)] {
		isKey := slices.ContainsFunc(t.Columns, func(k plan.Column) bool { return k.Name == c.Name })
		names, values = append(names, quote(c.Name)), append(values, c.valueSQL(isKey || row.Fill > 0, row.Keys))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("INSERT INTO %s.%[2]s (%[3]s) SELECT %[4]s FROM (SELECT 1) LEFT JOIN (SELECT %[3]s FROM main.%[2]s LIMIT 1) AS r",
		copies, quote(t.Name), list, strings.Join(values, ", "))
}

// valueSQL returns the value of a column. It is NULL for a key that is 0 and, if null is
// true, for a column that may be NULL.
func (c copiedColumn) valueSQL(null bool, keys map[string]types.ID) string {
	stored := "r." + quote(c.Name)
	key, given := keys[c.Name]
	switch {
	case key != 0:
		return key.String()
	case given:
		return "NULL"
	case c.Required:
		return fmt.Sprintf("coalesce(%s, %s)", stored, cmp.Or(c.Default.String, valueOf(c.Type)))
	case null:
		return "NULL"
	}
	return stored
}

func valueOf(typ string) string {
	switch has := func(part string) bool { return strings.Contains(fold(typ), part) }; {
	case has("char"), has("clob"), has("text"):
		return "'x'"
	case has("blob"):
		return "x'00'"
	}
	return "1"
}

const guardedSQL = `SELECT EXISTS (SELECT 1 FROM ` + copies + `.sqlite_master WHERE type = 'trigger' AND name = ? COLLATE NOCASE)`

// Assigning implements [engine.Copies]. It inserts a row without a key into each table
// that has a guard. If the row is accepted, a trigger has assigned the key. Without a
// guard, SQLite would assign it.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	for i, t := range r.Trial.Tables {
		triggers := r.triggers[fold(t.Name)]
		if len(triggers) == 0 || !one[bool](ctx, &r.reader, guardedSQL, parking.SQLiteGuardName(t.Name)) {
			continue
		}
		keys := map[string]types.ID{}
		for _, c := range t.Columns {
			if c.Key {
				keys[c.Name] = 0
			}
		}
		if r.enter(ctx, engine.Row{Table: i, Keys: keys}) == nil {
			found = append(found, engine.Assigning{Table: t.TableName(), Trigger: strings.Join(triggers, " or ")})
		}
	}
	return found, r.err
}

// Codes implements [engine.Copies]. It returns only inserts into tables with a guard,
// because an INSERT without a key fails only there.
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	for _, o := range r.code {
		code := engine.Code{Object: "trigger " + o.Name + " on " + o.Table, Fires: true}
		for _, in := range sqltext.Inserts(o.Text, sqltext.Rules{Brackets: true, Backticks: true}) {
			if one[bool](ctx, &r.reader, guardedSQL, parking.SQLiteGuardName(in.Table)) {
				code.Inserts = append(code.Inserts, in)
			}
		}
		codes = append(codes, code)
	}
	return codes, r.err
}

// Views implements [engine.Copies]. It does not use a transaction, because that would
// keep the lock that reading the original tables takes.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (views []engine.Shown, err error) {
	if r.filled && (r.try(ctx, closeCopies) != nil || r.open(ctx) != nil) {
		return nil, errors.New("sqlmigrate: the copies for the trial cannot be created again")
	}
	r.filled = true
	if !slices.ContainsFunc(r.objects, object.isView) {
		return nil, nil
	}
	for _, t := range r.Trial.Tables {
		if r.try(ctx, r.insertSQL(t, engine.Row{Keys: engine.Same(t, key)})) != nil { // Views finds out whether a row exists
			_ = r.try(ctx, r.insertSQL(t, engine.Row{Keys: engine.Near(t, key)}))
		}
	}
	for _, o := range r.objects {
		if !o.isView() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, trialTimeout)
		_, texts, err := rows.Texts(limited, r.conn, fmt.Sprintf("SELECT * FROM %s.%s LIMIT %d", copies, quote(o.Name), mostRead))
		cancel()
		view := engine.Shown{Table: r.tableOf(o), View: plan.TableName{Name: o.Name}, Rows: int64(len(texts)), Err: r.refusal(err)}
		if view.Err != nil {
			view.Rows = 0
		}
		views = append(views, view)
	}
	return views, r.err
}

// tableOf returns the first table of the trial that the view mentions, or the zero value.
func (r *trial) tableOf(view object) plan.TableName {
	for _, token := range tokens(view.Text) {
		for _, t := range r.Trial.Tables {
			if fold(token.Text) == fold(t.Name) {
				return t.TableName()
			}
		}
	}
	return plan.TableName{}
}
