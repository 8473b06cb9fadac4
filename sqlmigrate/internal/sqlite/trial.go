package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

	// trialTimeout ends what a large key makes endless.
	trialTimeout = 2 * time.Second

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
	r := &reader{conn: conn}
	if err := r.try(ctx, openCopies); err != nil || r.err != nil {
		found.NotTried("", err)
		return found, r.err
	}
	defer func() { err = errors.Join(err, uncancelled(ctx, conn, closeCopies)) }()
	objects := read[object](ctx, r, objectsSQL)
	failed := copyAll(ctx, r, objects, t.Moved)
	var tables []*copied
	for _, table := range t.Tables {
		c := copied{r: r, Table: table, all: read[copiedColumn](ctx, r, copiedSQL, table.Name)}
		c.alters = len(c.triggers(objects)) > 0 || slices.ContainsFunc(table.Columns, func(c plan.Column) bool { return isReal(c.Type) })
		if err := failed[fold(table.Name)]; err != nil {
			found.NotTried(table.Name, err)
			continue
		}
		found.Add(c.try(ctx, t))
		tables = append(tables, &c)
	}
	found.Add(tryGuards(ctx, tables, objects, t))
	found.Add(tryViews(ctx, r, tables, objects, t))
	return found, cmp.Or(ctx.Err(), r.err)
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

// copyAll returns what could not be copied, by the folded names of its tables.
func copyAll(ctx context.Context, r *reader, objects []object, moved bool) map[string]error {
	failed := map[string]error{}
	for _, o := range objects {
		if strings.HasPrefix(o.Text, "CREATE VIRTUAL ") && !copiedModules.MatchString(o.Text) {
			continue
		}
		// SQLite begins each text in its own words.
		kind := strings.ToUpper(o.Kind) + " "
		text := strings.Replace(o.Text, kind, kind+copies+".", 1)
		if moved {
			text, _ = withoutAutoincrement(text)
		}
		if err := r.try(ctx, text); err != nil {
			failed[fold(o.Table)] = err
		}
	}
	return failed
}

// A copied table takes rows.
type copied struct {
	r *reader
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

// A row has SQL for columns that hold keys, by their names.
type row map[string]string

// absent is NULL in a column that may be.
const absent = ""

// try looks for columns that reject a key only if a row with keys in all of them is
// rejected.
func (c *copied) try(ctx context.Context, t engine.Trial) (found engine.Findings) {
	if c.insert(ctx, c.together(t.Today)) != nil {
		c.eachRejected(ctx, t, t.Today, found.Reject, found.NotTried)
	}
	if len(found.Blockers) == 0 && c.insert(ctx, c.together(t.Last)) != nil {
		c.eachRejected(ctx, t, t.Last, found.RejectLast, func(string, error) {})
	}
	return found
}

func (c *copied) eachRejected(ctx context.Context, t engine.Trial, key types.ID, reject func(string, string, types.ID, error), notTried func(string, error)) {
	own := key // of the row in which another column is tried
	for _, column := range c.Columns {
		rejected, err := c.rejects(ctx, column, key, own, t.Small)
		switch {
		case rejected:
			reject(c.Name, column.Name, key, err)
			if isOwn(column) {
				own = t.Small + 1
			}
		case err != nil:
			notTried(c.Name, fmt.Errorf("column %s: %w", column.Name, err))
		}
	}
}

// rejects tries a column with several values in the others. Rejected means that the
// same row enters with a small key, and that no row does with the key.
func (c *copied) rejects(ctx context.Context, column plan.Column, key, own, small types.ID) (rejected bool, err error) {
	for _, keys := range c.shapes(column, key, own) {
		keys[column.Name] = keyOf(column, key)
		failure := c.insert(ctx, keys)
		if failure == nil {
			return false, nil
		}
		keys[column.Name] = keyOf(column, small+1)
		if !rejected && c.insert(ctx, keys) == nil {
			rejected, err = true, failure
		}
		err = cmp.Or(err, failure)
	}
	return rejected, err
}

// shapes are rows in which a column is tried: with keys in all the others, as the
// table has them, in none, and for the table's own key in one.
func (c *copied) shapes(column plan.Column, key, own types.ID) []row {
	kept, none := c.together(own), c.together(own)
	shapes := []row{c.together(key), kept, none}
	for _, other := range c.Columns {
		if isOwn(other) {
			continue
		}
		delete(kept, other.Name)
		none[other.Name] = absent
		if isOwn(column) {
			one := c.together(key)
			for _, third := range c.Columns {
				if !isOwn(third) && third.Name != other.Name {
					one[third.Name] = absent
				}
			}
			shapes = append(shapes, one)
		}
	}
	return shapes
}

// together has keys in all columns: the table's own, and others that were issued before.
func (c *copied) together(key types.ID) row {
	keys := row{}
	for _, column := range c.Columns {
		keys[column.Name] = keyOf(column, key)
	}
	return keys
}

func isOwn(c plan.Column) bool { return c.Key && len(c.Refers) == 0 }

func keyOf(c plan.Column, key types.ID) string {
	if !isOwn(c) {
		key--
	}
	return key.String()
}

// insert puts a row into the copy, looks for it by its keys, and takes it back.
func (c *copied) insert(ctx context.Context, keys row) (refusal error) {
	if c.r.err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	c.r.fail(uncancelled(ctx, c.r.conn, "BEGIN"))
	if refusal = c.r.try(ctx, c.insertSQL(keys)); refusal == nil && c.alters && !one[bool](ctx, c.r, c.findSQL(keys)) {
		refusal = errors.New("the row has another key after it was inserted, or is not there")
	}
	c.r.fail(endTransaction(ctx, c.r.conn))
	return refusal
}

func (c *copied) findSQL(keys row) string {
	where := []string{"true"}
	for name, key := range keys {
		if _, err := strconv.Atoi(key); err == nil {
			where = append(where, quote(name)+" = "+key)
		}
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s WHERE %s)", copies, quote(c.Name), strings.Join(where, " AND "))
}

// insertSQL takes a row of the table for what is not a key, or without one what the
// columns require.
func (c *copied) insertSQL(keys row) string {
	var names, values []string
	for _, column := range c.all {
		name := quote(column.Name)
		names, values = append(names, name), append(values, valueSQL(column, "r."+name, keys))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("INSERT INTO %s.%[2]s (%[3]s) SELECT %[4]s FROM (SELECT 1) LEFT JOIN (SELECT %[3]s FROM main.%[2]s LIMIT 1) AS r",
		copies, quote(c.Name), list, strings.Join(values, ", "))
}

func valueSQL(c copiedColumn, stored string, keys row) string {
	key, given := keys[c.Name]
	switch {
	case key != absent:
		return key
	case c.Required:
		return fmt.Sprintf("coalesce(%s, %s)", stored, cmp.Or(c.Default.String, valueOf(c.Type)))
	case given:
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

// tryGuards adds the guards of the plan, under which triggers of other tables may no
// longer insert rows without keys.
func tryGuards(ctx context.Context, tables []*copied, objects []object, t engine.Trial) (found engine.Findings) {
	entered := slices.DeleteFunc(slices.Clone(tables), func(c *copied) bool {
		return len(c.triggers(objects)) == 0 || c.insert(ctx, c.together(t.Today)) != nil
	})
	if len(entered) == 0 {
		return found
	}
	for _, step := range guardsOf(t.Phases) {
		objects = append(objects, object{"trigger", guardName(&table{name: step.Table}), step.Table, step.Up[0].SQL})
		if err := entered[0].r.try(ctx, strings.Replace(step.Up[0].SQL, "main.", copies+".", 1)); err != nil {
			found.NotTried(step.Table, err)
		}
	}
	for _, c := range entered {
		if err := c.insert(ctx, c.together(t.Today)); err != nil {
			found.Reject(c.Name, c.Columns[0].Name, t.Today, err)
		}
		found.Add(c.tryWithout(ctx, c.triggers(objects), t.Today))
	}
	return found
}

func guardsOf(phases []plan.Phase) []plan.Step {
	for _, phase := range phases {
		if phase.Name == plan.Guard {
			return phase.Steps
		}
	}
	return nil
}

// triggers are the names of those of the table that have to do with INSERT.
func (c *copied) triggers(objects []object) (names []string) {
	for _, o := range objects {
		if o.Kind == "trigger" && fold(o.Table) == fold(c.Name) && strings.Contains(strings.ToUpper(o.Text), "INSERT") {
			names = append(names, o.Name)
		}
	}
	return names
}

// tryWithout finds triggers that give a key to a row without one although there is a
// guard. Without it SQLite does that.
func (c *copied) tryWithout(ctx context.Context, triggers []string, today types.ID) (found engine.Findings) {
	others := slices.DeleteFunc(slices.Clone(triggers), func(name string) bool { return fold(name) == fold(guardName(&table{name: c.Name})) })
	if len(others) == 0 || len(others) == len(triggers) {
		return found
	}
	keys := c.together(today)
	for _, column := range c.Columns {
		if column.Key {
			keys[column.Name] = "NULL"
		}
	}
	if c.insert(ctx, keys) == nil {
		found.Assigns(c.Name, strings.Join(others, " or "))
	}
	return found
}

// tryViews reads views of tables that have a row with a key of today, and if some
// cannot be read, of others that have one with a small key.
func tryViews(ctx context.Context, r *reader, tables []*copied, objects []object, t engine.Trial) (found engine.Findings) {
	views := slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return o.Kind != "view" })
	failed := readViews(ctx, r, tables, views, t.Today)
	if len(failed) == 0 || r.try(ctx, closeCopies) != nil || r.try(ctx, openCopies) != nil {
		return found
	}
	copyAll(ctx, r, objects, t.Moved)
	before := readViews(ctx, r, tables, views, t.Small+1)
	for _, v := range views {
		if failed[v.Name] != nil && before[v.Name] == nil {
			found.Unreadable(tableOf(v, tables), v.Name, t.Today, failed[v.Name])
		}
	}
	return found
}

// tableOf is the table of which a view is, if it names one that is tried.
func tableOf(view object, tables []*copied) string {
	for _, token := range tokens(view.Text) {
		for _, c := range tables {
			if fold(token.Text) == fold(c.Name) {
				return c.Name
			}
		}
	}
	return view.Name
}

// readViews returns the errors of views, by name. It is not one transaction, because
// that would keep the lock under which the rows of the tables are read.
func readViews(ctx context.Context, r *reader, tables []*copied, views []object, key types.ID) map[string]error {
	failed := map[string]error{}
	for _, c := range tables {
		_ = r.try(ctx, c.insertSQL(c.together(key))) // what is refused is found elsewhere
	}
	for _, v := range views {
		limited, cancel := context.WithTimeout(ctx, trialTimeout)
		_, _, err := rows.Texts(limited, r.conn, fmt.Sprintf("SELECT * FROM %s.%s LIMIT %d", copies, quote(v.Name), mostRead))
		if refusal := r.refusal(err); refusal != nil {
			failed[v.Name] = refusal
		}
		cancel()
	}
	return failed
}
