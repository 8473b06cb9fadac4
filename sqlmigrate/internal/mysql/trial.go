package mysql

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

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Try implements [engine.Engine]. It creates the copies from the text of SHOW CREATE
// TABLE, so that it does not lock the tables.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	if len(t.Tables) == 0 {
		return found, nil
	}
	session, err := OpenSession(ctx, conn, inspectWait)
	if err != nil {
		return found, err
	}
	defer func() { err = session.close(ctx, err) }()
	r := &trial{Trial: t, conn: conn, drops: map[string][]string{}}
	defer func() { err = errors.Join(err, r.drop(ctx)) }()
	for _, table := range t.Tables {
		c, err := r.newCopy(ctx, table)
		if err != nil {
			return found, err
		}
		c.err = r.create(ctx, c)
		if c.err != nil && noRight.MatchString(c.err.Error()) {
			found.NotTried(plan.TableName{}, c.err)
			return found, nil
		}
		r.copies = append(r.copies, c)
	}
	return t.Run(ctx, r, t.Tables)
}

// A trial is one call of Try. After an error of the connection or the context, it runs no
// further statement, except those that drop the copies.
type trial struct {
	engine.Trial

	conn   *sql.Conn
	copies []*copied
	named  int                 // number of names that newName has returned
	drops  map[string][]string // the tables to drop, by the statement that drops them
	err    error               // the error that ended the trial
}

// answer matches an error of the server, in contrast to an error of the connection or the
// context.
var answer = regexp.MustCompile(`^Error \d+\b`)

func (r *trial) exec(ctx context.Context, query string) error {
	_, err := r.run(ctx, query)
	return err
}

// run runs a statement and returns the number of rows. It checks ctx only before the
// statement, because the end of ctx during the statement would close the connection,
// which still has to drop the copies.
func (r *trial) run(ctx context.Context, query string) (int64, error) {
	if r.err == nil {
		r.err = ctx.Err()
	}
	if r.err != nil {
		return 0, r.err
	}
	result, err := r.conn.ExecContext(context.WithoutCancel(ctx), query)
	if err == nil {
		return result.RowsAffected()
	}
	if !answer.MatchString(err.Error()) {
		r.err = err
	}
	return 0, err
}

// A copied is an empty copy of a table, which accepts the same rows as the table.
type copied struct {
	*mycatalog.Table // the original

	name        plan.TableName
	keys        []plan.Column
	partitioned bool  // whether a key decides the partition of a row
	err         error // why the copy could not be created
	change      error // the error with which the table would reject the change of the plan
}

// newName returns the name of the next copy of a table or view in this schema.
func (r *trial) newName(schema string) plan.TableName {
	r.named++
	return plan.TableName{Schema: schema, Name: copyPrefix + strconv.Itoa(r.named)}
}

const copyPrefix = "sqlmigrate_trial_"

var (
	// noRight matches the error for an account that may not CREATE TEMPORARY TABLES.
	noRight = regexp.MustCompile(`Error 1044\b`)

	// noKey matches the error of sql_require_primary_key, which also prevents changes of
	// the table.
	noKey = regexp.MustCompile(`Error 3750\b`)
)

func (r *trial) newCopy(ctx context.Context, table plan.Table) (*copied, error) {
	t, err := mycatalog.Definitions(context.WithoutCancel(ctx), r.conn, plan.TableName{Schema: table.Schema, Name: table.Name})
	if err != nil {
		return nil, err
	}
	c := &copied{Table: t, name: r.newName(t.Schema), keys: table.Columns}
	c.partitioned = slices.ContainsFunc(c.keys, func(k plan.Column) bool { return mentions(partitionedBy(t), k.Name) })
	return c, nil
}

// create creates a copy. It leaves out indexes that cannot reject a row. Temporary tables
// cannot have partitions, so if a key decides the partition, the copy is an ordinary
// table, which the trial drops at its end.
func (r *trial) create(ctx context.Context, c *copied) error {
	var elements []string
	for _, e := range c.Elements {
		name := checkName.FindStringIndex(e)
		switch {
		case strings.HasPrefix(e, "`"):
			e = r.define(c, c.Column(mycatalog.QuotedNames(e)[0]))
		case name != nil && c.partitioned: // in MySQL the name of a CHECK is unique in a schema, except in temporary tables
			e = "CHECK " + e[name[1]:]
		case name == nil && !mycatalog.IsFunctional(e) && !strings.HasPrefix(e, "PRIMARY KEY "):
			continue
		}
		elements = append(elements, e)
	}
	definition, name := " ("+strings.Join(elements, ", ")+")", mycatalog.QuoteTable(c.name)
	if !c.partitioned {
		_, err := r.temporary(ctx, c.name, definition+" ENGINE=InnoDB "+charset.FindString(c.Options))
		return r.whoFailed(ctx, c, err)
	}
	const drop = "DROP TABLE IF EXISTS "
	if err := r.exec(ctx, drop+name); err != nil {
		return err
	}
	r.drops[drop] = append(r.drops[drop], name)
	return r.exec(ctx, "CREATE TABLE "+name+definition+c.Options)
}

var (
	checkName = regexp.MustCompile("^CONSTRAINT `(?:[^`]|``)+` CHECK ")
	charset   = regexp.MustCompile(`DEFAULT CHARSET=\w+(?: COLLATE=\w+)?`)
)

// define returns the definition of a column of the copy. Columns outside of the primary
// key may be NULL, so that only a key can be the cause of an error. Generated columns
// that use a key are stored, because MariaDB cuts a value without an error if it computes
// it on reading.
func (r *trial) define(c *copied, column *mycatalog.Column) string {
	d := column.Definition.WithoutAuto()
	if k := c.key(column); k != nil && r.Moved && k.To != "" {
		d = d.As(mycatalog.IntegerOf(k.To))
	}
	if !column.Primary {
		d = d.Nullable()
	}
	if slices.ContainsFunc(c.keys, func(k plan.Column) bool { return mentions(string(d), k.Name) }) {
		d = d.Stored()
	}
	return string(d)
}

// key returns the key that the column holds, or nil.
func (c *copied) key(column *mycatalog.Column) *plan.Column {
	if i := slices.IndexFunc(c.keys, func(k plan.Column) bool { return strings.EqualFold(k.Name, column.Name) }); i >= 0 {
		return &c.keys[i]
	}
	return nil
}

// whoFailed returns failed, the error of creating the copy. If the table itself would
// also reject the change of its columns by the plan, it stores the error in c.change. It
// even tries the change if the copy was created, because the copy does not have all
// indexes nor the engine of the table, which can refuse the change.
func (r *trial) whoFailed(ctx context.Context, c *copied, failed error) error {
	var changes []string
	for _, k := range c.keys {
		d := c.Column(k.Name).Definition
		if r.Moved && k.To != "" {
			d = d.As(mycatalog.IntegerOf(k.To))
		}
		if len(r.Unassigned(plan.Table{Columns: []plan.Column{k}})) > 0 {
			d = d.WithoutAuto()
		}
		if d != c.Column(k.Name).Definition {
			changes = append(changes, "MODIFY "+string(d))
		}
	}
	switch {
	case len(changes) == 0 || failed == nil && !c.mayRefuse():
		return failed
	case failed != nil && noKey.MatchString(failed.Error()):
		c.change = failed
		return failed
	}
	like := c.name
	if failed == nil {
		like = r.newName(c.Schema)
	}
	if _, err := r.temporary(ctx, like, " LIKE "+mycatalog.QuoteTable(c.TableName)); err == nil {
		c.change = r.exec(ctx, "ALTER TABLE "+mycatalog.QuoteTable(like)+" "+strings.Join(changes, ", "))
	}
	return failed
}

// mayRefuse reports whether the table has another engine than InnoDB, or has an index
// with a key and a string, which can become too wide.
func (c *copied) mayRefuse() bool {
	return !strings.Contains(c.Options, "ENGINE=InnoDB") || slices.ContainsFunc(c.Elements, func(e string) bool {
		if !mycatalog.IsIndex(e) && !strings.HasPrefix(e, "UNIQUE KEY ") || mycatalog.IsFunctional(e) {
			return false
		}
		var key, text bool
		for _, name := range mycatalog.QuotedNames(e)[1:] {
			if column := c.Column(name); column != nil {
				key, text = key || c.key(column) != nil, text || column.Integer().Base == ""
			}
		}
		return key && text
	})
}

// temporary creates a temporary table and records that it has to be dropped.
func (r *trial) temporary(ctx context.Context, name plan.TableName, definition string) (int64, error) {
	const drop = "DROP TEMPORARY TABLE "
	n, err := r.run(ctx, "CREATE TEMPORARY TABLE "+mycatalog.QuoteTable(name)+definition)
	if err == nil {
		r.drops[drop] = append(r.drops[drop], mycatalog.QuoteTable(name))
	}
	return n, err
}

// drop drops all copies, even if ctx has ended.
func (r *trial) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	var failed error
	for drop, names := range r.drops {
		_, err := r.conn.ExecContext(ctx, drop+strings.Join(names, ", "))
		failed = errors.Join(failed, err)
	}
	return failed
}

// Enter implements [engine.Copies]. First it inserts all rows of a table with a single
// statement, which usually succeeds. If that fails, or if a row has to be read back, it
// inserts each row alone, because otherwise a row may replace another.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for len(rows) > 0 {
		c, n := r.copies[rows[0].Table], 1
		for n < len(rows) && rows[n].Table == rows[0].Table {
			n++
		}
		together := c.change == nil && c.err == nil && !slices.ContainsFunc(c.keys, c.rounds) && r.replace(ctx, c, rows[:n]...) == nil
		for _, row := range rows[:n] {
			var refusal error
			if !together {
				refusal = r.enter(ctx, c, row)
			}
			refusals = append(refusals, refusal)
		}
		rows = rows[n:]
	}
	return refusals, r.err
}

// enter inserts one row, and returns the error with which the moved table would reject it.
// If the plan's change of the columns has failed on the copy, it returns that error for
// each row, except for rows that try the present types. It reads an inserted row back,
// because the column may have rounded its key.
func (r *trial) enter(ctx context.Context, c *copied, row engine.Row) error {
	switch {
	case c.change != nil && row.AsIs:
		return nil
	case c.change != nil || c.err != nil:
		return cmp.Or(c.change, c.err)
	}
	if err := r.replace(ctx, c, row); err != nil {
		return err
	}
	return r.readBack(ctx, c, row)
}

// rounds reports whether the column may accept a key and lose digits of it.
func (c *copied) rounds(k plan.Column) bool { return c.Column(k.Name).Definition.Integer().Base == "" }

// replace inserts rows. A row replaces an earlier row with the same key.
func (r *trial) replace(ctx context.Context, c *copied, rows ...engine.Row) error {
	var names []string
	values := make([][]string, len(rows))
	for _, column := range c.Columns {
		if column.Definition.Has(" GENERATED ALWAYS AS ") {
			continue
		}
		names = append(names, mycatalog.Quote(column.Name))
		for i, row := range rows {
			values[i] = append(values[i], c.value(column, row))
		}
	}
	list := mycatalog.Join(values, ", ", func(row []string) string { return "(" + strings.Join(row, ", ") + ")" })
	return r.exec(ctx, "REPLACE INTO "+mycatalog.QuoteTable(c.name)+" ("+strings.Join(names, ", ")+") VALUES "+list)
}

func (c *copied) value(column *mycatalog.Column, row engine.Row) string {
	k := c.key(column)
	if k == nil || row.Keys[k.Name] == 0 || row.AsIs && column.Definition.Integer().Base == "" { // a date does not accept a small key
		return fill(column, k != nil || row.Fill > 0)
	}
	return row.Keys[k.Name].String()
}

// readBack returns an error if a key in the copy has lost digits.
func (r *trial) readBack(ctx context.Context, c *copied, row engine.Row) error {
	name := mycatalog.QuoteTable(c.name)
	for _, k := range c.keys {
		key, read := row.Keys[k.Name], ""
		if key == 0 || row.AsIs || !c.rounds(k) {
			continue
		}
		query := "SELECT MAX(CAST(" + mycatalog.Quote(k.Name) + " AS DECIMAL(40))) FROM " + name + " WHERE " + mycatalog.Quote(k.Name) + " = " + key.String()
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), query).Scan(&read); err == nil && read != key.String() {
			return errors.New("it reads back as " + read)
		}
	}
	return nil
}

var (
	ofTime = regexp.MustCompile("^`(?:[^`]|``)+` (?:date|time)")
	uuid   = regexp.MustCompile("^`(?:[^`]|``)+` uuid")
)

// fill returns an expression for the value of a column that is not tried, which is NULL,
// its default or a value that most types accept. It does not take a value from a
// sequence.
func fill(column *mycatalog.Column, null bool) string {
	switch d := column.Definition; {
	case null && !column.Primary:
		return "NULL"
	case d.Has(" DEFAULT ") && !d.Has(" DEFAULT NULL") && !d.Has("nextval("):
		return "DEFAULT"
	case ofTime.MatchString(string(d)):
		return "CURRENT_TIMESTAMP"
	case uuid.MatchString(string(d)):
		return "UUID()"
	}
	return "'1'"
}

// A view is a view with its query from the catalog.
type view struct {
	plan.TableName

	Text string
}

const viewQueriesSQL = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN (%s) ORDER BY 1, 2"

var (
	// callsFunction matches a call of a function that is not built in, because it may do
	// more than read, and calls of built-in functions that change something or wait.
	callsFunction = regexp.MustCompile("(?i)`\\(|\\b(?:nextval|setval|get_lock|release_lock|sleep|benchmark)\\(")

	// readsTable matches a table or view with its schema after FROM or JOIN.
	readsTable = regexp.MustCompile("(?i)\\b(?:from|join) *\\(*`(?:[^`]|``)+`\\.`(?:[^`]|``)+`")
)

// A gallery holds the views of a trial.
type gallery struct {
	*trial
	server mycatalog.Server
	tables map[string]plan.TableName // maps the name of a relation in a query to the table of the trial that it reads
	copies map[string]string         // maps the name of a relation in a query to its copy
	shown  map[string]engine.Shown
}

// Views implements [engine.Copies]. A view cannot read a temporary table. Therefore Views
// runs the query of the view with the names of the copies in place of the names of the
// tables. The servers write these names in a uniform way. It stores the result in a
// table, because there a key that the view cuts is an error; when a client reads it, the
// server only warns.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (shown []engine.Shown, err error) {
	server, err := mycatalog.Open(context.WithoutCancel(ctx), r.conn)
	if err != nil {
		return nil, err
	}
	views, err := rows.Read[view](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(viewQueriesSQL, r.schemas()))
	if err != nil {
		return nil, err
	}
	g := &gallery{r, server, map[string]plan.TableName{}, map[string]string{}, map[string]engine.Shown{}}
	for _, c := range r.copies {
		g.tables[g.full(c.TableName)] = c.TableName
		if c.err == nil {
			g.copies[g.full(c.TableName)] = g.full(c.name)
			r.hold(ctx, c, key)
		}
	}
	for again := true; again && r.err == nil; {
		again = false
		for _, v := range views {
			again = g.show(ctx, v) || again
		}
	}
	for _, v := range views {
		if one, touched := g.shown[g.full(v.TableName)]; touched {
			shown = append(shown, one)
		}
	}
	return shown, r.err
}

// hold leaves rows in the copy that have the same key in all columns, if the copy accepts
// them.
func (r *trial) hold(ctx context.Context, c *copied, key types.ID) {
	_ = r.exec(ctx, "DELETE FROM "+mycatalog.QuoteTable(c.name))
	for fill := range engine.Fills {
		_ = r.replace(ctx, c, engine.Row{Fill: fill, Keys: engine.Same(plan.Table{Columns: c.keys}, key+types.ID(fill))}) // Views finds out whether a row exists
	}
}

// full returns a name in the form in which queries contain it.
func (g *gallery) full(t plan.TableName) string {
	return mycatalog.QuoteTable(plan.TableName{Schema: cmp.Or(t.Schema, g.server.Database), Name: t.Name})
}

// show reads a view if copies of all relations exist that it reads. It reports whether
// further views may have become readable.
func (g *gallery) show(ctx context.Context, v view) (again bool) {
	name, query := g.full(v.TableName), v.Text
	if g.copies[name] != "" || g.shown[name].Err != nil {
		return false
	}
	for of, copied := range g.copies {
		query = strings.ReplaceAll(query, of, copied)
	}
	var tables []plan.TableName
	for of, table := range g.tables {
		if strings.Contains(v.Text, of) {
			tables = append(tables, table)
		}
	}
	if len(tables) == 0 {
		return false
	}
	again = g.tables[name].Name == ""
	g.tables[name] = slices.MinFunc(tables, plan.TableName.Compare)
	one := engine.Shown{Table: g.tables[name], View: g.server.Normal(v.TableName)}
	if !callsFunction.MatchString(query) && !slices.ContainsFunc(readsTable.FindAllString(query, -1), isTable) {
		target := g.newName(v.Schema)
		if one.Rows, one.Err = g.temporary(ctx, target, " AS "+query); one.Err == nil {
			g.copies[name], again = g.full(target), true
		} else {
			one.Fix = g.dropAndRestore(ctx, "VIEW", g.server.Normal(v.TableName))
		}
	}
	g.shown[name] = one
	return again
}

func isTable(read string) bool { return !strings.Contains(read, ".`"+copyPrefix) }

func (r *trial) schemas() string {
	return mycatalog.Join(r.copies, ", ", func(c *copied) string { return mycatalog.SchemaOf(c.TableName) })
}

// insertTriggersSQL returns the triggers that can change a row before it is inserted.
const insertTriggersSQL = "SELECT IF(TRIGGER_SCHEMA = DATABASE(), '', TRIGGER_SCHEMA), EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS " +
	"WHERE TRIGGER_SCHEMA IN (%s) AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION = 'INSERT' ORDER BY 1, 2, 3"

// Assigning implements [engine.Copies]. It only analyzes the text of a trigger. A
// temporary table has no triggers, and a trigger on another table might write to any
// table.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	triggers, err := rows.Read[struct {
		Table      plan.TableName
		Name, Body string
	}](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(insertTriggersSQL, r.schemas()))
	for _, t := range triggers {
		i := slices.IndexFunc(r.copies, func(c *copied) bool { return c.TableName == t.Table })
		if i >= 0 && sqltext.Sets(t.Body, bodyRules, r.Unassigned(r.Trial.Tables[i])) {
			fix := r.dropAndRestore(ctx, "TRIGGER", plan.TableName{Schema: t.Table.Schema, Name: t.Name})
			found = append(found, engine.Assigning{Table: t.Table, Trigger: t.Name, Fix: fix})
		}
	}
	return found, err
}

// codesSQL returns the routines, events and triggers of the databases of the tables that
// contain INSERT or REPLACE. The server shows the text only to its definer, and to
// accounts with the right to see it.
const codesSQL = "SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME), 0, COALESCE(ROUTINE_DEFINITION, ''), '', '' FROM information_schema.ROUTINES " +
	"WHERE ROUTINE_SCHEMA IN (%[1]s) AND LOWER(ROUTINE_DEFINITION) REGEXP 'insert|replace' " +
	"UNION ALL SELECT CONCAT('event ', EVENT_NAME), 0, EVENT_DEFINITION, '', '' FROM information_schema.EVENTS WHERE EVENT_SCHEMA IN (%[1]s) AND LOWER(EVENT_DEFINITION) REGEXP 'insert|replace' " +
	"UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME, ' on table ', EVENT_OBJECT_TABLE), 1, ACTION_STATEMENT, IF(TRIGGER_SCHEMA = DATABASE(), '', TRIGGER_SCHEMA), EVENT_OBJECT_TABLE " +
	"FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA IN (%[1]s) AND LOWER(ACTION_STATEMENT) REGEXP 'insert|replace|update' ORDER BY 1"

// narrowColumnsSQL returns the columns of a table that cannot hold a Snowflake ID.
const narrowColumnsSQL = "SELECT COLUMN_NAME, ORDINAL_POSITION - 1, COLUMN_TYPE FROM information_schema.COLUMNS " +
	"WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'float', 'double')"

// insertViewsSQL returns the views that the server can update.
const insertViewsSQL = "SELECT CONCAT('view ', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS " +
	"WHERE TABLE_SCHEMA IN (%s) AND IS_UPDATABLE = 'YES' ORDER BY 1"

// singleTable matches the text that the server keeps of a view on a single table, for
// example select `shop`.`orders`.`total` AS `total` from `shop`.`orders`. It captures
// the selected columns, and the schema and name of the table.
var singleTable = regexp.MustCompile("(?s)^select (.*?) from `([^`]+)`\\.`([^`]+)`")

// shownColumn matches a column in the list of singleTable, and captures its name.
var shownColumn = regexp.MustCompile("\\.`([^`]+)` AS `")

// insertViews returns the views on a single table into which programs can insert. A view
// of several tables is not recognized.
func (r *trial) insertViews(ctx context.Context) (codes []engine.Code, err error) {
	views, err := rows.Read[struct{ Object, Text string }](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(insertViewsSQL, r.schemas()))
	for _, v := range views {
		m := singleTable.FindStringSubmatch(v.Text)
		if m == nil {
			continue
		}
		insert := sqltext.Insert{Schema: m[2], Table: m[3], Columns: []string{}}
		for _, column := range shownColumn.FindAllStringSubmatch(m[1], -1) {
			insert.Columns = append(insert.Columns, column[1])
		}
		codes = append(codes, engine.Code{Object: v.Object, View: true, Inserts: []sqltext.Insert{insert}})
	}
	return codes, err
}

// Codes implements [engine.Copies].
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	texts, err := rows.Read[struct {
		Object string
		Fires  bool
		Text   string
		Table  plan.TableName
	}](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(codesSQL, r.schemas()))
	for _, t := range texts {
		code := engine.Code{Object: t.Object, Fires: t.Fires, Table: t.Table, Inserts: sqltext.Inserts(t.Text, bodyRules)}
		for _, of := range r.Trial.Tables {
			if of.TableName() == t.Table && err == nil {
				err = r.findNarrow(ctx, &code, of, slices.Concat(code.Inserts, sqltext.Updates(t.Text, bodyRules)))
			}
		}
		codes = append(codes, code)
	}
	if err != nil {
		return nil, err
	}
	views, err := r.insertViews(ctx)
	return append(codes, views...), err
}

// findNarrow adds the columns into which a trigger of the table writes a key, and which
// are too narrow.
func (r *trial) findNarrow(ctx context.Context, code *engine.Code, of plan.Table, writes []sqltext.Insert) error {
	for _, in := range writes {
		into := plan.TableName{Schema: cmp.Or(in.Schema, of.Schema), Name: in.Table}
		narrow, err := rows.Read[struct {
			Name  string
			Place int
			Type  string
		}](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(narrowColumnsSQL, mycatalog.SchemaOf(into), mycatalog.Literal(into.Name)))
		if err != nil {
			return err
		}
		for _, key := range of.Columns {
			columns, places := in.Takes(key.Name)
			for _, n := range narrow {
				written := slices.Contains(places, n.Place) || slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, n.Name) })
				if written && !r.widens(into, n.Name) {
					code.Narrow = engine.AppendNew(code.Narrow, fmt.Sprintf("column %s of table %s, of type %s", n.Name, in.Table, n.Type))
				}
			}
		}
	}
	return nil
}

// widens reports whether the plan widens the column.
func (r *trial) widens(t plan.TableName, column string) bool {
	return slices.ContainsFunc(r.Trial.Tables, func(of plan.Table) bool {
		return of.TableName() == t && slices.ContainsFunc(of.Columns, func(c plan.Column) bool { return c.Name == column })
	})
}

var bodyRules = sqltext.Rules{Backslash: true, Hash: true, Backticks: true}

// dropAndRestore returns, for a fix, the statements that drop an object and create it
// again.
func (r *trial) dropAndRestore(ctx context.Context, kind string, name plan.TableName) string {
	object := kind + " " + mycatalog.QuoteTable(name)
	names, shown, err := rows.Texts(context.WithoutCancel(ctx), r.conn, "SHOW CREATE "+object)
	if err != nil || len(shown) == 0 {
		return ": DROP " + object
	}
	text := slices.IndexFunc(names, func(name string) bool { return name == "Create View" || name == "SQL Original Statement" })
	return ": DROP " + object + "; it was made by: " + shown[0][text].String
}
