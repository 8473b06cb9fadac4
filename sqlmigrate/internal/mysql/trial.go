package mysql

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Try implements [engine.Engine]. It inserts Snowflake IDs into empty copies of the
// tables, to find out whether the tables accept them. It creates the copies from the text
// of SHOW CREATE TABLE, so that it does not lock the tables. If the account may not create
// copies, the only finding is a note. Any other error of creating a copy becomes the error
// of each row that is inserted into it.
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
		c.createErr = r.create(ctx, c)
		if c.createErr != nil && accessDenied.MatchString(c.createErr.Error()) {
			found.NotTried(plan.TableName{}, c.createErr)
			return found, nil
		}
		r.copies = append(r.copies, c)
	}
	return t.Run(ctx, r, t.Tables)
}

// A trial is one call of Try. It implements [engine.Copies]. After an error of the
// connection or the context, it runs no further statement, except the statements that drop
// the copies. Its statements get a context that does not end, because the driver closes
// the connection when the context of a statement ends, and the copies still have to be
// dropped on this connection.
type trial struct {
	engine.Trial

	conn      *sql.Conn
	copies    []*tableCopy
	copyCount int                 // number of names that newName has returned
	drops     map[string][]string // the quoted names of the copies, by the beginning of the statement that drops them
	err       error               // the error that ended the trial
}

// serverError matches an error of the server, for example because it rejects a row. Any
// other error is an error of the connection or the context, which ends the trial.
var serverError = regexp.MustCompile(`^Error \d+\b`)

// readRows returns the rows of a query on the connection of the trial. The query does not
// end with ctx, because the driver would then close the connection, on which the copies
// still have to be dropped.
func readRows[T any](ctx context.Context, r *trial, query string) ([]T, error) {
	return rows.Read[T](context.WithoutCancel(ctx), r.conn, query)
}

// exec runs a statement, as run does, and returns only its error.
func (r *trial) exec(ctx context.Context, query string) error {
	_, err := r.run(ctx, query)
	return err
}

// run runs a statement and returns the number of rows that it has written. It checks ctx
// only before the statement. If ctx ended during the statement, the driver would close the
// connection, on which the copies still have to be dropped.
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
	if !serverError.MatchString(err.Error()) {
		r.err = err
	}
	return 0, err
}

// A tableCopy describes a copy of a table, which the method create of the trial creates
// without rows. The copy accepts the same keys as the table would after the move, or as the
// table does today, see the field Moved of [engine.Trial].
type tableCopy struct {
	*mycatalog.Table // the original

	name        plan.TableName // of the copy
	keys        []plan.Column  // the columns in which keys are tried
	partitioned bool           // whether a key decides the partition of a row, so that the copy needs the partitions
	createErr   error          // why the copy could not be created
	changeErr   error          // the error with which the table would reject the change of its columns, see tryChange
}

// newName returns the name of the next copy of a table or view in this schema, for example
// sqlmigrate_trial_1.
func (r *trial) newName(schema string) plan.TableName {
	r.copyCount++
	return plan.TableName{Schema: schema, Name: copyPrefix + strconv.Itoa(r.copyCount)}
}

// copyPrefix begins the names of all copies.
const copyPrefix = "sqlmigrate_trial_"

var (
	// accessDenied matches the error for an account that may not CREATE TEMPORARY TABLES.
	accessDenied = regexp.MustCompile(`Error 1044\b`)

	// keyRequired matches the error of sql_require_primary_key, which also prevents
	// changes of the table.
	keyRequired = regexp.MustCompile(`Error 3750\b`)
)

// newCopy returns the description of a copy of the table, which create later creates in the
// database. newCopy sends only the query for the definition of the table. The query does
// not end with ctx, because the driver would then close the connection, see trial.
func (r *trial) newCopy(ctx context.Context, table plan.Table) (*tableCopy, error) {
	t, err := mycatalog.Definitions(context.WithoutCancel(ctx), r.conn, plan.TableName{Schema: table.Schema, Name: table.Name})
	if err != nil {
		return nil, err
	}
	c := &tableCopy{Table: t, name: r.newName(t.Schema), keys: table.Columns}
	c.partitioned = slices.ContainsFunc(c.keys, func(k plan.Column) bool { return mentions(partitionedBy(t), k.Name) })
	return c, nil
}

// create creates a copy in the database, from the elements of the table's definition, which
// are columns, keys and constraints. It leaves out foreign keys. Of the indexes it keeps
// only the primary key and indexes on expressions, because no other index rejects a key
// because of the size of the key. A copy is a temporary table, which other sessions do not
// see. But temporary tables cannot have partitions, so if a key decides the partition of a
// row, the copy is an ordinary table, which the trial drops at its end.
func (r *trial) create(ctx context.Context, c *tableCopy) error {
	var elements []string
	for _, e := range c.Elements {
		name := checkName.FindStringIndex(e) // nil if e is not a CHECK
		switch {
		case strings.HasPrefix(e, "`"): // a column
			e = r.define(c, c.Column(mycatalog.QuotedNames(e)[0]))
		case name != nil && c.partitioned: // in MySQL the name of a CHECK is unique in a schema, except in temporary tables
			e = "CHECK " + e[name[1]:]
		case name == nil && !mycatalog.IsFunctional(e) && !strings.HasPrefix(e, "PRIMARY KEY "): // an index or a foreign key
			continue
		}
		elements = append(elements, e)
	}
	definition, name := " ("+strings.Join(elements, ", ")+")", mycatalog.QuoteTable(c.name)
	if !c.partitioned {
		_, err := r.temporary(ctx, c.name, definition+" ENGINE=InnoDB "+charset.FindString(c.Options))
		return r.tryChange(ctx, c, err)
	}
	const drop = "DROP TABLE IF EXISTS " // a trial that was killed may have left the table behind
	if err := r.exec(ctx, drop+name); err != nil {
		return err
	}
	r.drops[drop] = append(r.drops[drop], name)
	return r.exec(ctx, "CREATE TABLE "+name+definition+c.Options)
}

var (
	// checkName matches the beginning of a CHECK with a name. charset matches the
	// character set in the options of a table.
	checkName = regexp.MustCompile("^CONSTRAINT `(?:[^`]|``)+` CHECK ")
	charset   = regexp.MustCompile(`DEFAULT CHARSET=\w+(?: COLLATE=\w+)?`)
)

// define returns the definition of a column of the copy. A key has its new type if the
// trial is of the moved table. Columns outside of the primary key may be NULL, so that only
// a key can be the cause of an error. Generated columns that use a key are stored, because
// MariaDB reports no error if it cuts a value that it computes on reading.
func (r *trial) define(c *tableCopy, column *mycatalog.Column) string {
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

// key returns the element of c.keys for the column, or nil if no key is tried in the
// column.
func (c *tableCopy) key(column *mycatalog.Column) *plan.Column {
	if i := slices.IndexFunc(c.keys, func(k plan.Column) bool { return strings.EqualFold(k.Name, column.Name) }); i >= 0 {
		return &c.keys[i]
	}
	return nil
}

// tryChange finds out whether the table itself would reject the change of its columns by
// the plan, for example because an index becomes too wide, and stores the error in
// c.changeErr. The copy c cannot show that, because it is an InnoDB table without these
// indexes. Therefore tryChange runs the change on a second copy, created with LIKE, which
// has the engine and all indexes of the table. It does so only if mayRejectChange is true
// or if c could not be created. If the second copy cannot be created, nothing is known,
// and changeErr stays nil.
//
// createErr is the error of creating c, and tryChange returns it.
func (r *trial) tryChange(ctx context.Context, c *tableCopy, createErr error) error {
	var changes []string // the MODIFY clauses of phases widen and detach
	for _, k := range c.keys {
		d := c.Column(k.Name).Definition
		if r.Moved && k.To != "" {
			d = d.As(mycatalog.IntegerOf(k.To))
		}
		if len(r.Unassigned(plan.Table{Columns: []plan.Column{k}})) > 0 { // the plan ends the assignment of k
			d = d.WithoutAuto()
		}
		if d != c.Column(k.Name).Definition {
			changes = append(changes, "MODIFY "+string(d))
		}
	}
	switch {
	case len(changes) == 0 || createErr == nil && !c.mayRejectChange():
		return createErr
	case createErr != nil && keyRequired.MatchString(createErr.Error()):
		// The server also refuses to change the table.
		c.changeErr = createErr
		return createErr
	}
	like := c.name // the name of the second copy; c.name is free if c was not created
	if createErr == nil {
		like = r.newName(c.Schema)
	}
	if _, err := r.temporary(ctx, like, " LIKE "+mycatalog.QuoteTable(c.TableName)); err == nil {
		c.changeErr = r.exec(ctx, "ALTER TABLE "+mycatalog.QuoteTable(like)+" "+strings.Join(changes, ", "))
	}
	return createErr
}

// mayRejectChange reports whether the table may refuse to widen a column, although its
// copy was created. This is the case if the table has another engine than InnoDB, or an
// index on a key and a column that is not an integer, such as a string. Such an index can
// become too wide for the server.
func (c *tableCopy) mayRejectChange() bool {
	return !strings.Contains(c.Options, "ENGINE=InnoDB") || slices.ContainsFunc(c.Elements, func(e string) bool {
		if !mycatalog.IsIndex(e) && !strings.HasPrefix(e, "UNIQUE KEY ") || mycatalog.IsFunctional(e) {
			return false
		}
		// Whether the index has a key, and a column that is not an integer.
		var key, other bool
		for _, name := range mycatalog.QuotedNames(e)[1:] { // after the name of the index
			if column := c.Column(name); column != nil {
				key, other = key || c.key(column) != nil, other || column.Integer().Base == ""
			}
		}
		return key && other
	})
}

// temporary creates a temporary table, and records that it has to be dropped. definition
// follows the name in CREATE TEMPORARY TABLE, for example " LIKE `orders`". temporary
// returns the number of rows that a query in the definition has inserted.
func (r *trial) temporary(ctx context.Context, name plan.TableName, definition string) (int64, error) {
	const drop = "DROP TEMPORARY TABLE "
	n, err := r.run(ctx, "CREATE TEMPORARY TABLE "+mycatalog.QuoteTable(name)+definition)
	if err == nil {
		r.drops[drop] = append(r.drops[drop], mycatalog.QuoteTable(name))
	}
	return n, err
}

// drop drops all copies, even if ctx has ended. It has restoreTimeout for that.
func (r *trial) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	var failed error
	for statement, names := range r.drops {
		_, err := r.conn.ExecContext(ctx, statement+strings.Join(names, ", "))
		failed = errors.Join(failed, err)
	}
	return failed
}

// schemas returns the databases of the copied tables as a list of SQL expressions for IN,
// for example DATABASE(), 'audit'.
func (r *trial) schemas() string {
	return mycatalog.Join(r.copies, ", ", func(c *tableCopy) string { return mycatalog.SchemaOf(c.TableName) })
}
