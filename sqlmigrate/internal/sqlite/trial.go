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

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

const (
	// copies is the database of the copies. It is in memory also if that of the
	// connection is read only. Views and triggers in it cannot name another one.
	copies      = "snowflake_trial"
	openCopies  = "ATTACH 'file:" + copies + "?mode=memory&cache=private' AS " + copies
	closeCopies = "DETACH " + copies

	// trialTimeout ends what a large key makes endless. Anything else takes a thousandth.
	trialTimeout = 5 * time.Second

	// mostRead are the rows that are read of a view.
	mostRead = 1000
)

// Try implements [engine.Engine]. Everything in the database is copied, because
// triggers and views of a table can lead to anything.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	// Without foreign keys, a key that is tried needs no row that has it.
	restore, err := setPragma(ctx, conn, "foreign_keys", 0)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	r := &trial{reader: reader{conn: conn}, Trial: t}
	if err := r.open(ctx); err != nil || r.err != nil {
		found.NotTried("", err)
		return found, r.err
	}
	defer func() { err = errors.Join(err, uncancelled(ctx, conn, closeCopies)) }()
	return t.Run(ctx, r)
}

type trial struct {
	reader
	engine.Trial

	objects []object
	failed  map[string]error // what could not be copied, by the folded names of its tables
	copies  []*copied
	filled  bool // there are rows
}

// open copies everything.
func (r *trial) open(ctx context.Context) error {
	if err := r.try(ctx, openCopies); err != nil || r.err != nil {
		return err
	}
	r.objects = read[object](ctx, &r.reader, objectsSQL)
	for _, phase := range r.Phases {
		for _, step := range phase.Steps {
			if phase.Name == plan.Guard {
				text := strings.NewReplacer("IF NOT EXISTS ", "", "main.", "").Replace(step.Up[0].SQL)
				r.objects = append(r.objects, object{"trigger", guardName(&table{name: step.Table}), step.Table, text})
			}
		}
	}
	r.failed, r.copies = map[string]error{}, nil
	r.copyAll(ctx)
	for _, t := range r.Trial.Tables {
		c := &copied{Table: t, all: read[copiedColumn](ctx, &r.reader, copiedSQL, t.Name)}
		c.alters = len(r.triggers(c)) > 0 || slices.ContainsFunc(t.Columns, func(c plan.Column) bool { return isReal(c.Type) })
		r.copies = append(r.copies, c)
	}
	if r.err != nil {
		_ = uncancelled(ctx, r.conn, closeCopies) // the connection is used again
	}
	return nil
}

// Tables implements [engine.Copies].
func (r *trial) Tables() []plan.Table { return r.Trial.Tables }

// Fills implements [engine.Copies]: a row of the table has the other values.
func (r *trial) Fills() int { return 1 }

// Enter implements [engine.Copies].
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for _, row := range rows {
		c := r.copies[row.Table]
		refusal := r.failed[fold(c.Name)]
		if refusal == nil {
			refusal = r.insert(ctx, c, row.Keys, row.AsIs)
		}
		refusals = append(refusals, refusal)
	}
	return refusals, cmp.Or(ctx.Err(), r.err)
}

// try returns SQLite's refusal of a statement. Any other error is the reader's.
func (r *reader) try(ctx context.Context, statement string) error {
	if r.err != nil {
		return nil
	}
	_, err := r.conn.ExecContext(ctx, statement)
	return r.refusal(err)
}

// refusal goes by what all drivers call their errors.
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

// An object is what the catalog has.
type object struct{ Kind, Name, Table, Text string }

// objectsSQL leaves out indexes that check nothing.
const objectsSQL = `SELECT type, name, tbl_name, sql FROM main.sqlite_master
WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND (type <> 'index' OR sql LIKE '%UNIQUE%' OR sql LIKE '%(%(%' OR sql LIKE '%WHERE%')
ORDER BY type <> 'table', sql NOT LIKE 'CREATE VIRTUAL%', type = 'trigger', rowid`

// copiedModules are those of SQLite itself. They make tables of their own.
var copiedModules = regexp.MustCompile(`(?i)^CREATE VIRTUAL TABLE .*\bUSING\s+(fts[345]|rtree(_i32)?|geopoly)\b`)

func (r *trial) copyAll(ctx context.Context) {
	for _, o := range r.objects {
		if strings.HasPrefix(o.Text, "CREATE VIRTUAL ") && !copiedModules.MatchString(o.Text) {
			continue
		}
		// SQLite begins each text in its own words.
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

// A copied table takes rows.
type copied struct {
	plan.Table
	all    []copiedColumn // without those that are generated
	alters bool           // keys, maybe: by a trigger or a floating-point number
}

type copiedColumn struct {
	Name, Type string
	Required   bool
	Default    sql.NullString
}

const copiedSQL = `SELECT name, type, "notnull" OR pk > 0, dflt_value FROM pragma_table_xinfo(?, '` + copies + `') WHERE hidden = 0`

// insert puts a row into the copy, looks for it by its keys, and takes it back.
func (r *trial) insert(ctx context.Context, c *copied, keys map[string]types.ID, unguarded bool) (refusal error) {
	if r.err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	r.fail(uncancelled(ctx, r.conn, "BEGIN"))
	for _, t := range r.Trial.Tables {
		if unguarded {
			r.fail(r.try(ctx, "DROP TRIGGER IF EXISTS "+copies+"."+quote(guardName(&table{name: t.Name}))))
		}
	}
	if refusal = r.try(ctx, c.insertSQL(keys)); refusal == nil && c.alters && !one[bool](ctx, &r.reader, c.findSQL(keys)) {
		refusal = errors.New("the row has another key after it was inserted, or is not there")
	}
	r.fail(endTransaction(ctx, r.conn))
	return refusal
}

func (c *copied) findSQL(keys map[string]types.ID) string {
	where := []string{"true"}
	for name, key := range keys {
		if key != 0 {
			where = append(where, quote(name)+" = "+key.String())
		}
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s WHERE %s)", copies, quote(c.Name), strings.Join(where, " AND "))
}

// insertSQL takes a row of the table for what is not a key, or without one what the
// columns require.
func (c *copied) insertSQL(keys map[string]types.ID) string {
	var names, values []string
	for _, column := range c.all {
		name := quote(column.Name)
		names, values = append(names, name), append(values, c.valueSQL(column, "r."+name, keys))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("INSERT INTO %s.%[2]s (%[3]s) SELECT %[4]s FROM (SELECT 1) LEFT JOIN (SELECT %[3]s FROM main.%[2]s LIMIT 1) AS r",
		copies, quote(c.Name), list, strings.Join(values, ", "))
}

// valueSQL is NULL for a key that is 0, and for a column that may hold one and has none.
func (c *copied) valueSQL(column copiedColumn, stored string, keys map[string]types.ID) string {
	key, given := keys[column.Name]
	switch {
	case key != 0:
		return key.String()
	case given:
		return "NULL"
	case column.Required:
		return fmt.Sprintf("coalesce(%s, %s)", stored, cmp.Or(column.Default.String, valueOf(column.Type)))
	case slices.ContainsFunc(c.Columns, func(k plan.Column) bool { return k.Name == column.Name }):
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

// triggers are the names of those of the table that have to do with INSERT.
func (r *trial) triggers(c *copied) (names []string) {
	for _, o := range r.objects {
		if o.Kind == "trigger" && fold(o.Table) == fold(c.Name) && strings.Contains(strings.ToUpper(o.Text), "INSERT") {
			names = append(names, o.Name)
		}
	}
	return names
}

// Assigning implements [engine.Copies]: it finds triggers that give a key to a row
// without one although there is a guard. Without it SQLite does that.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	for _, c := range r.copies {
		triggers := r.triggers(c)
		others := slices.DeleteFunc(slices.Clone(triggers), func(name string) bool { return fold(name) == fold(guardName(&table{name: c.Name})) })
		if len(others) == 0 || len(others) == len(triggers) {
			continue
		}
		keys := map[string]types.ID{}
		for _, column := range c.Columns {
			if column.Key {
				keys[column.Name] = 0
			}
		}
		if r.insert(ctx, c, keys, false) == nil {
			found = append(found, engine.Assigning{Table: c.Name, Trigger: strings.Join(others, " or ")})
		}
	}
	return found, r.err
}

// Views implements [engine.Copies]. It is not one transaction, because that would keep
// the lock under which the rows of the tables are read.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (views []engine.Shown, err error) {
	if r.filled && (r.try(ctx, closeCopies) != nil || r.open(ctx) != nil) {
		return nil, errors.New("sqlmigrate: the copies for the trial cannot be created again")
	}
	r.filled = true
	for _, c := range r.copies {
		if r.try(ctx, c.insertSQL(engine.Same(c.Table, key))) != nil { // found elsewhere
			_ = r.try(ctx, c.insertSQL(engine.Near(c.Table, key)))
		}
	}
	for _, o := range r.objects {
		if o.Kind != "view" {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, trialTimeout)
		_, texts, err := rows.Texts(limited, r.conn, fmt.Sprintf("SELECT * FROM %s.%s LIMIT %d", copies, quote(o.Name), mostRead))
		cancel()
		view := engine.Shown{Table: r.tableOf(o), View: o.Name, Rows: int64(len(texts)), Err: r.refusal(err)}
		if view.Err != nil {
			view.Rows = 0
		}
		views = append(views, view)
	}
	return views, r.err
}

// tableOf is the table of which a view is, if it names one that is tried.
func (r *trial) tableOf(view object) string {
	for _, token := range tokens(view.Text) {
		for _, c := range r.copies {
			if fold(token.Text) == fold(c.Name) {
				return c.Name
			}
		}
	}
	return ""
}
