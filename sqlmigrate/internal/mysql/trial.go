package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A trial is one call of Try. Nothing more is carried out after an error that is not the
// server's answer to a key.
type trial struct {
	engine.Trial
	engine.Findings

	conn   *sql.Conn
	tables []*copied
	copies []*copied // that could be made
	named  int       // copies, also those that could not
	drops  []string  // what is to be dropped
	err    error     // what ends it
}

// Try implements [engine.Engine]. A copy is made from the text that SHOW CREATE TABLE
// writes, so the table itself is not locked.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	if len(t.Tables) == 0 {
		return found, nil
	}
	session, err := OpenSession(ctx, conn, inspectWait)
	if err != nil {
		return found, err
	}
	defer func() { err = session.close(ctx, err) }()
	r := &trial{Trial: t, conn: conn}
	defer func() { err = errors.Join(err, r.drop(ctx)) }()
	r.copyTables(ctx)
	for _, c := range r.copies {
		r.try(ctx, c, t.Today, r.Reject, r.NotTried)
	}
	r.tryViews(ctx)
	for _, c := range r.copies {
		r.try(ctx, c, t.Last, r.RejectLast, func(string, error) {})
	}
	r.findTriggers(ctx)
	return r.Findings, r.err
}

// answer is an error of the server, and not of the connection or the context.
var answer = regexp.MustCompile(`^Error \d+\b`)

func (r *trial) exec(ctx context.Context, query string) error {
	_, err := r.run(ctx, query)
	return err
}

// run returns the number of rows.
func (r *trial) run(ctx context.Context, query string) (int64, error) {
	if r.err != nil {
		return 0, r.err
	}
	result, err := r.conn.ExecContext(ctx, query)
	if err == nil {
		return result.RowsAffected()
	}
	if !answer.MatchString(err.Error()) {
		r.err = err
	}
	return 0, err
}

// copied is a table without rows that takes what a table takes.
type copied struct {
	*mycatalog.Table // of which it is a copy

	name        engine.TableName
	keys        []*keyColumn // the primary key's last
	partitioned bool         // by a key
	checked     []string     // columns that a CHECK names
}

// A keyColumn holds keys of the move.
type keyColumn struct {
	*mycatalog.Column

	to  mycatalog.Integer
	own bool // refers to no other
}

// newName is for a copy of a table or view in this schema.
func (r *trial) newName(schema string) engine.TableName {
	r.named++
	return engine.TableName{Schema: schema, Name: "sqlmigrate_trial_" + strconv.Itoa(r.named)}
}

var (
	// noRight is that the account may not CREATE TEMPORARY TABLES.
	noRight = regexp.MustCompile(`Error 1044\b`)

	// noKey is for sql_require_primary_key, which keeps the table from being altered too.
	noKey = regexp.MustCompile(`Error 3750\b`)
)

func (r *trial) copyTables(ctx context.Context) {
	mayCopy := true
	for _, table := range r.Tables {
		c, err := r.newCopy(ctx, table)
		if err != nil {
			r.err = err
			return
		}
		r.tables = append(r.tables, c)
		if mayCopy {
			mayCopy = r.copyTable(ctx, c)
		}
	}
}

// copyTable reports whether the account may.
func (r *trial) copyTable(ctx context.Context, c *copied) bool {
	err := r.create(ctx, c)
	if err == nil {
		r.copies = append(r.copies, c)
		return true
	}
	if noRight.MatchString(err.Error()) {
		r.NotTried("", err)
		return false
	}
	if rejected := r.rejectedChange(ctx, c, err); rejected != nil {
		r.Reject(c.String(), c.keys[0].Name, r.Today, rejected)
	} else {
		r.NotTried(c.String(), err)
	}
	return true
}

func (r *trial) newCopy(ctx context.Context, table plan.Table) (*copied, error) {
	t, err := mycatalog.Definitions(ctx, r.conn, engine.TableName{Schema: table.Schema, Name: table.Name})
	if err != nil {
		return nil, err
	}
	c := &copied{Table: t, name: r.newName(t.Schema)}
	for _, described := range table.Columns {
		if column := t.Column(described.Name); column != nil {
			c.keys = append(c.keys, &keyColumn{column, mycatalog.IntegerOf(described.To), described.Key && len(described.Refers) == 0})
		}
	}
	slices.SortStableFunc(c.keys, func(a, b *keyColumn) int {
		return strings.Compare(strconv.FormatBool(a.Primary), strconv.FormatBool(b.Primary))
	})
	c.partitioned = slices.ContainsFunc(c.keys, func(k *keyColumn) bool { return mentions(partitionedBy(t), k.Name) })
	for _, e := range t.Elements {
		if index := checkName.FindStringIndex(e); index != nil {
			c.checked = append(c.checked, mycatalog.QuotedNames(e[index[1]:])...)
		} else if mycatalog.Definition(e).Has(" CHECK (") {
			c.checked = append(c.checked, mycatalog.QuotedNames(e)...)
		}
	}
	return c, nil
}

// create leaves out indexes that only find rows. A temporary table has no partitions, so
// the copy of one that is partitioned by a key is a table for a moment.
func (r *trial) create(ctx context.Context, c *copied) error {
	var elements []string
	for _, e := range c.Elements {
		name := checkName.FindStringIndex(e)
		switch {
		case strings.HasPrefix(e, "`"):
			e = c.define(c.Column(mycatalog.QuotedNames(e)[0]), r.Moved)
		case name != nil && c.partitioned: // MySQL has each name once in a schema, but for temporary tables
			e = "CHECK " + e[name[1]:]
		case name == nil && !mycatalog.IsFunctional(e) && !strings.HasPrefix(e, "PRIMARY KEY "):
			continue
		}
		elements = append(elements, e)
	}
	definition := " (" + strings.Join(elements, ", ") + ")"
	if !c.partitioned {
		_, err := r.temporary(ctx, c.name, definition+" ENGINE=InnoDB "+charset.FindString(c.Options))
		return err
	}
	name := mycatalog.QuoteTable(c.name)
	err := cmp.Or(r.exec(ctx, "DROP TABLE IF EXISTS "+name), r.exec(ctx, "CREATE TABLE "+name+definition+c.Options))
	if err == nil {
		r.drops = append(r.drops, "DROP TABLE "+name)
	}
	return err
}

var (
	checkName = regexp.MustCompile("^CONSTRAINT `(?:[^`]|``)+` CHECK ")
	charset   = regexp.MustCompile(`DEFAULT CHARSET=\w+(?: COLLATE=\w+)?`)
)

// define is a column of the copy. Others than keys may be NULL, so that what rejects a
// row does so because of a key. MariaDB cuts without a word what it computes when it is read.
func (c *copied) define(column *mycatalog.Column, moved bool) string {
	d := column.Definition.WithoutAuto()
	if i := c.keyAt(column); i >= 0 && moved {
		d = c.keys[i].widen(d)
	}
	if !column.Primary {
		d = d.Nullable()
	}
	if slices.ContainsFunc(c.keys, func(k *keyColumn) bool { return mentions(string(d), k.Name) }) {
		d = d.Stored()
	}
	return string(d)
}

// keyAt is the place among c.keys, or -1.
func (c *copied) keyAt(column *mycatalog.Column) int {
	return slices.IndexFunc(c.keys, func(k *keyColumn) bool { return k.Column == column })
}

func (k *keyColumn) widen(d mycatalog.Definition) mycatalog.Definition {
	if k.to.Base == "" {
		return d
	}
	return d.As(k.to)
}

// moved is the definition after the move, or now if that is over.
func (r *trial) moved(k *keyColumn) mycatalog.Definition {
	d := k.Definition
	if !r.Moved {
		return d
	}
	if slices.ContainsFunc(r.Phases, func(p plan.Phase) bool { return p.Name == plan.Detach }) {
		d = d.WithoutAuto()
	}
	return k.widen(d)
}

// rejectedChange is an error that the table gives too, once the plan changes its columns,
// or nil if only the copy failed.
func (r *trial) rejectedChange(ctx context.Context, c *copied, failed error) error {
	changes := slices.ContainsFunc(c.keys, func(k *keyColumn) bool { return r.moved(k) != k.Definition })
	switch {
	case !changes:
		return nil
	case noKey.MatchString(failed.Error()):
		return failed
	}
	if _, err := r.temporary(ctx, c.name, " LIKE "+mycatalog.QuoteTable(c.TableName)); err != nil {
		return nil
	}
	return r.exec(ctx, "ALTER TABLE "+mycatalog.QuoteTable(c.name)+" "+
		mycatalog.Join(c.keys, ", ", func(k *keyColumn) string { return "MODIFY " + string(r.moved(k)) }))
}

// temporary creates a temporary table.
func (r *trial) temporary(ctx context.Context, name engine.TableName, definition string) (int64, error) {
	n, err := r.run(ctx, "CREATE TEMPORARY TABLE "+mycatalog.QuoteTable(name)+definition)
	if err == nil {
		r.drops = append(r.drops, "DROP TEMPORARY TABLE "+mycatalog.QuoteTable(name))
	}
	return n, err
}

// drop drops what would stay for as long as the connection, or longer.
func (r *trial) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	var failed error
	for _, drop := range r.drops {
		_, err := r.conn.ExecContext(ctx, drop)
		failed = errors.Join(failed, err)
	}
	return failed
}

// try looks for a column that rejects the key once a row that has it everywhere is
// rejected.
func (r *trial) try(ctx context.Context, c *copied, key types.ID, reject func(table, column string, key types.ID, err error), notTried func(string, error)) {
	var everywhere []string
	for i, fill := range []filler{filled, empty} {
		everywhere = append(everywhere, c.row(fill, func(int) types.ID { return key - types.ID(i) }))
	}
	if r.replace(ctx, c, everywhere...) == nil {
		r.readBack(ctx, c, key, reject)
		return
	}
	own, untried := key, map[*keyColumn]error{}
	for at, k := range slices.Backward(c.keys) {
		rejected, err := r.rejects(ctx, c, at, key, own)
		switch {
		case rejected:
			reject(c.String(), k.Name, key, err)
			if k.Primary {
				own = r.Small
			}
		case err != nil:
			untried[k] = err
		default: // own was in the row too
			maps.DeleteFunc(untried, func(k *keyColumn, _ error) bool { return k.Primary })
		}
	}
	for _, k := range c.keys {
		if err := untried[k]; err != nil {
			notTried(c.String(), fmt.Errorf("column %s: %w", k.Name, err))
		}
	}
}

// rejects tries a column in the first row that enters with a small key there. own is the
// key of the row in which a reference is tried. A column of another type than an integer
// may reject a small key too.
func (r *trial) rejects(ctx context.Context, c *copied, at int, key, own types.ID) (rejected bool, err error) {
	row := func(fill filler, key, own types.ID) string {
		return c.row(fill, func(i int) types.ID {
			switch {
			case i == at:
				return r.near(c, key, i)
			case c.keys[i].Primary:
				return r.near(c, own, i)
			}
			return 0
		})
	}
	for _, fill := range []filler{filled, whereUnchecked, empty} {
		if err = r.replace(ctx, c, row(fill, r.Small, r.Small)); err == nil {
			err = r.replace(ctx, c, row(fill, key, own))
			return err != nil, err
		}
	}
	return c.keys[at].Definition.Integer().Base == "", err
}

// near is a key for one of the columns: those of a row differ, and the row's own key is
// the largest, as that of a row that is inserted after those to which it refers.
func (r *trial) near(c *copied, key types.ID, at int) types.ID {
	if key == r.Small {
		return key + types.ID(at)
	}
	return key - types.ID(len(c.keys)-1-at)
}

// readBack looks for a type that takes a key and loses digits.
func (r *trial) readBack(ctx context.Context, c *copied, key types.ID, reject func(table, column string, key types.ID, err error)) {
	for _, k := range c.keys {
		if k.Definition.Integer().Base != "" || r.err != nil {
			continue
		}
		var read string
		query := "SELECT MAX(CAST(" + mycatalog.Quote(k.Name) + " AS DECIMAL(40))) FROM " + mycatalog.QuoteTable(c.name)
		if r.err = r.conn.QueryRowContext(ctx, query).Scan(&read); r.err == nil && read != key.String() {
			reject(c.String(), k.Name, key, errors.New("it reads back as "+read))
		}
	}
}

// replace inserts rows, without regard to others of the same key.
func (r *trial) replace(ctx context.Context, c *copied, rows ...string) error {
	names := mycatalog.Join(c.given(), ", ", func(column *mycatalog.Column) string { return mycatalog.Quote(column.Name) })
	return r.exec(ctx, "REPLACE INTO "+mycatalog.QuoteTable(c.name)+" ("+names+") VALUES ("+strings.Join(rows, "), (")+")")
}

// given are the columns that the database does not compute.
func (c *copied) given() []*mycatalog.Column {
	return slices.DeleteFunc(slices.Clone(c.Columns), func(column *mycatalog.Column) bool { return column.Definition.Has(" GENERATED ALWAYS AS ") })
}

// row has the key that keyOf returns for one of c.keys, and fills in what it has none
// for.
func (c *copied) row(fill filler, keyOf func(int) types.ID) string {
	return mycatalog.Join(c.given(), ", ", func(column *mycatalog.Column) string {
		if at := c.keyAt(column); at >= 0 && keyOf(at) != 0 {
			return keyOf(at).String()
		}
		return fill(c, column)
	})
}

// A filler returns a value, as an expression, of a column that is not tried.
type filler func(*copied, *mycatalog.Column) string

var (
	ofTime = regexp.MustCompile("^`(?:[^`]|``)+` (?:date|time)")
	uuid   = regexp.MustCompile("^`(?:[^`]|``)+` uuid")
)

// filled is a value that most types take. It is not the next one of a sequence.
func filled(_ *copied, column *mycatalog.Column) string {
	switch d := column.Definition; {
	case d.Has(" DEFAULT ") && !d.Has(" DEFAULT NULL") && !d.Has("nextval("):
		return "DEFAULT"
	case ofTime.MatchString(string(d)):
		return "CURRENT_TIMESTAMP"
	case uuid.MatchString(string(d)):
		return "UUID()"
	}
	return "'1'"
}

// whereUnchecked is filled where no CHECK can reject it.
func whereUnchecked(c *copied, column *mycatalog.Column) string {
	if slices.ContainsFunc(c.checked, func(name string) bool { return strings.EqualFold(name, column.Name) }) {
		return empty(c, column)
	}
	return filled(c, column)
}

func empty(c *copied, column *mycatalog.Column) string {
	if column.Primary {
		return filled(c, column)
	}
	return "NULL"
}
