package mycatalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Server describes the server of a connection, and the current database of the
// connection.
type Server struct {
	Database string // the current database
	MariaDB  bool
}

// Normalize returns the name without its schema if the schema is the current database, so
// that each table has only one name.
func (s Server) Normalize(t plan.TableName) plan.TableName {
	if t.Schema == s.Database {
		t.Schema = ""
	}
	return t
}

// serverSQL returns the current database, whether the server is MariaDB, and whether SHOW
// CREATE TABLE quotes names. Without quotes, a definition cannot be parsed.
const serverSQL = "SELECT DATABASE(), VERSION() LIKE '%MariaDB%', @@SESSION.sql_quote_show_create"

// Open reads the properties of the server. It returns an error if the connection has no
// current database, or a setting with which definitions cannot be parsed.
func Open(ctx context.Context, conn *sql.Conn) (Server, error) {
	var database sql.NullString
	var mariadb, quoted bool
	err := conn.QueryRowContext(ctx, serverSQL).Scan(&database, &mariadb, &quoted)
	if err != nil {
		return Server{}, fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if database.String == "" {
		return Server{}, errors.New("sqlmigrate: the connection has no current database: name one in the DSN")
	}
	if !quoted {
		return Server{}, errors.New("sqlmigrate: sql_quote_show_create is off, which makes definitions ambiguous: set it to 1")
	}
	return Server{database.String, mariadb}, nil
}

// A Reader reads the tables of a plan from the catalog, each table only once.
type Reader struct {
	Server

	Journal Journal                   // the definitions that an unfinished run has recorded, see [JournalTable]
	Pairs   []Pair                    // the tables with foreign keys, in all databases
	Tables  map[plan.TableName]*Table // the tables that have been read, by each name with which they were requested, and by the server's spelling

	conn *sql.Conn
}

// A Pair is a table with a foreign key, the child, and the table to which the foreign key
// refers, the parent. The foreign key exists, or an unfinished run has dropped it, so that
// a later run has to add it back.
type Pair struct{ Child, Parent plan.TableName }

// Read returns a Reader, for which it reads the journal of an unfinished run and the pairs
// of all databases. The tables are read later, by [Reader.Table].
func Read(ctx context.Context, conn *sql.Conn) (*Reader, error) {
	server, err := Open(ctx, conn)
	if err != nil {
		return nil, err
	}
	r := &Reader{Server: server, conn: conn, Tables: map[plan.TableName]*Table{}}
	if err := r.readJournal(ctx); err != nil {
		return nil, err
	}
	if err := r.readPairs(ctx); err != nil {
		return nil, fmt.Errorf("sqlmigrate: list the foreign keys: %w", err)
	}
	return r, nil
}

// journalSQL returns the entries of the journal. Their order is fixed, so that the plan is
// always the same.
const journalSQL = "SELECT kind, table_schema, table_name, name, definition FROM `" + JournalTable + "` ORDER BY id"

// readJournal reads the journal of an unfinished run, if it exists.
func (r *Reader) readJournal(ctx context.Context) error {
	err := r.conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE "+
		WhereTable(plan.TableName{Name: JournalTable})).Scan(&r.Journal.Exists)
	if err != nil {
		return fmt.Errorf("sqlmigrate: look for table %s: %w", JournalTable, err)
	}
	if !r.Journal.Exists {
		return nil
	}
	if r.Journal.Entries, err = rows.Read[Entry](ctx, r.conn, journalSQL); err != nil {
		return fmt.Errorf("sqlmigrate: read table %s, where an earlier run has left what it had to put back: %w", JournalTable, err)
	}
	return nil
}

// pairsSQL returns the pairs of tables with foreign keys in all databases, because a
// table of any database can refer to the tables of the plan.
const pairsSQL = "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME " +
	"FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL"

// readPairs reads the pairs of all databases. It adds the pairs of the foreign keys in the
// journal, which an unfinished run may have dropped. It sorts all pairs, because a plan follows
// foreign keys in the order of the pairs, and the server returns the pairs in the order of its
// files. Without sorting, two servers with the same schema could get different plans.
func (r *Reader) readPairs(ctx context.Context) error {
	pairs, err := rows.Read[Pair](ctx, r.conn, pairsSQL)
	if err == nil { // before any other query, because the server has only the warnings of the last query
		err = r.rejectSkipped(ctx)
	}
	for _, p := range pairs {
		r.Pairs = append(r.Pairs, Pair{r.Normalize(p.Child), r.Normalize(p.Parent)})
	}
	for _, e := range r.Journal.Entries {
		if f, ok := e.ForeignKey(); ok {
			r.Pairs = append(r.Pairs, Pair{f.Child, f.Parent})
		}
	}
	slices.SortFunc(r.Pairs, func(a, b Pair) int {
		return cmp.Or(a.Child.Compare(b.Child), a.Parent.Compare(b.Parent))
	})
	return err
}

// rejectSkipped returns an error if MariaDB has warned that the query for pairs left out a
// table of the current database, because another session is changing it. The plan would
// then miss the foreign keys of this table.
func (r *Reader) rejectSkipped(ctx context.Context) error {
	const skipped = 1684 // the number of the warning that a table was left out
	warnings, err := rows.Read[struct {
		Level  string
		Number int
		Text   string
	}](ctx, r.conn, "SHOW WARNINGS")
	for _, w := range warnings {
		if w.Number == skipped && strings.Contains(w.Text, r.Database) {
			return fmt.Errorf("%s: try again when that has ended", w.Text)
		}
	}
	return err
}

// Table reads a table with its definitions. If an unfinished run has changed the definition
// of a column, or dropped a foreign key, Table returns the original definition from the
// journal. A second call for the table returns the same value.
func (r *Reader) Table(ctx context.Context, name plan.TableName) (*Table, error) {
	name = r.Normalize(name)
	if t := r.Tables[name]; t != nil {
		return t, nil
	}
	t, err := r.readTable(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: table %s: %w", name, addTriggerFileFix(name, err))
	}
	// Some servers fold names, so that two spellings can mean the same table. t has the
	// spelling of the server.
	if known := r.Tables[t.TableName]; known != nil {
		t = known
	}
	r.Tables[name], r.Tables[t.TableName] = t, t
	return t, nil
}

// Column reads a column with its table. It returns an error if the table has no column
// with this name.
func (r *Reader) Column(ctx context.Context, table plan.TableName, name string) (*Column, error) {
	t, err := r.Table(ctx, table)
	if err != nil {
		return nil, err
	}
	c := t.Column(name)
	if c == nil {
		return nil, fmt.Errorf("sqlmigrate: table %s has no column %s", table, name)
	}
	return c, nil
}

// emptyTriggers matches the error of MariaDB for a file of triggers, orders.TRG of table
// orders, that is empty.
var emptyTriggers = regexp.MustCompile(`Error 1343\b.*'triggers'`)

// addTriggerFileFix returns err. If err says that MariaDB could not read the file with the
// triggers of the table, addTriggerFileFix adds the advice to remove this file. A KILL of a
// RENAME can leave the file empty, and no statement can repair an empty file.
func addTriggerFileFix(name plan.TableName, err error) error {
	if !emptyTriggers.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("the server cannot read %s.TRG in its folder of the database, perhaps since a RENAME was killed: remove this file, run FLUSH TABLES, and revert an online move that is not finished: its triggers are lost, no row is: %w", name.Name, err)
}

// ErrView is wrapped by the error that [Reader.Table] returns for a view.
var ErrView = errors.New("it is a view: name a table")

// readTable reads the kind, size, definition, columns and indexes of a table, and restores
// the definitions from the journal.
func (r *Reader) readTable(ctx context.Context, name plan.TableName) (*Table, error) {
	t, err := r.readKind(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := t.readDefinition(ctx, r.conn); err != nil {
		return nil, err
	}
	if err := t.readColumns(ctx, r.conn); err != nil {
		return nil, err
	}
	t.Indexes, err = r.readTexts(ctx, fmt.Sprintf(indexesSQL, WhereTable(t.TableName)))
	if r.MariaDB && err == nil { // on MariaDB, a CHECK may belong to a column, and MODIFY has to repeat it
		t.checks, err = r.readTexts(ctx, "SELECT LOWER(CONSTRAINT_NAME), CHECK_CLAUSE "+t.fromChecks()+" ORDER BY CONSTRAINT_NAME, CHECK_CLAUSE")
	}
	if err != nil {
		return nil, err
	}
	t.define(r.Server)
	r.Journal.overlay(t) // an unfinished run may have changed or dropped some definitions
	return t, nil
}

// readDefinition sets the elements and the options of the table, which SHOW CREATE TABLE
// returns.
func (t *Table) readDefinition(ctx context.Context, conn *sql.Conn) (err error) {
	var ignored, create string
	if err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+QuoteTable(t.TableName)).Scan(&ignored, &create); err != nil {
		return err
	}
	if t.Elements, t.Options, err = elementsOf(create); err != nil {
		return fmt.Errorf("the definition that the server shows is not understood: %w", err)
	}
	return nil
}

// Definitions reads only the part of a table that SHOW CREATE TABLE returns, which takes a
// fraction of the time of [Reader.Table]. The columns have only Table, Name, Definition
// and Primary.
func Definitions(ctx context.Context, conn *sql.Conn, name plan.TableName) (*Table, error) {
	t := &Table{TableName: name}
	if err := t.readDefinition(ctx, conn); err != nil {
		return nil, fmt.Errorf("sqlmigrate: table %s: %w", name, err)
	}
	var key []string // the columns of the primary key
	for _, e := range t.Elements {
		if strings.HasPrefix(e, "PRIMARY KEY ") {
			key = QuotedNames(e)
		}
	}
	for _, e := range t.Elements {
		if strings.HasPrefix(e, "`") { // the definition of a column
			column := QuotedNames(e)[0]
			t.Columns = append(t.Columns, &Column{Table: t, Name: column, Definition: Definition(e), Primary: contains(key, column)})
		}
	}
	return t, nil
}

// tableSQL returns the name of the table as the server writes it, which may be folded to
// lower case, its kind, its storage engine, and its estimated size.
const tableSQL = "SELECT TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(TABLE_ROWS, 0), " +
	"COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) FROM information_schema.TABLES WHERE "

// readKind returns a table with its name, kind, engine and size. It returns an error for a
// view or a sequence.
func (r *Reader) readKind(ctx context.Context, name plan.TableName) (*Table, error) {
	t := &Table{TableName: name}
	err := r.conn.QueryRowContext(ctx, tableSQL+WhereTable(name)).Scan(&t.Name, &t.Kind, &t.Engine, &t.Rows, &t.Bytes)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, errors.New("it does not exist, or the account has no right to see it")
	case err != nil:
		return nil, err
	case strings.Contains(t.Kind, "VIEW"):
		return nil, ErrView
	case t.Kind == "SEQUENCE":
		return nil, errors.New("it is a sequence: name a table")
	}
	return t, nil
}

// columnsSQL returns the name and type of each column, whether it is part of the primary
// key, its generation expression, and its other properties (see presetSQL). SHOW CREATE
// TABLE has these properties too, but in a form that differs between servers, or that a
// condition cannot compare.
const columnsSQL = "SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY = 'PRI', COALESCE(GENERATION_EXPRESSION, ''), " +
	presetSQL + ", " + restSQL + " FROM information_schema.COLUMNS WHERE %s ORDER BY ORDINAL_POSITION"

// readColumns reads the columns of the table from information_schema.
func (t *Table) readColumns(ctx context.Context, conn *sql.Conn) error {
	columns, err := rows.Read[Column](ctx, conn, fmt.Sprintf(columnsSQL, WhereTable(t.TableName)))
	for i := range columns {
		columns[i].Table = t
		t.Columns = append(t.Columns, &columns[i])
	}
	return err
}

// indexesSQL returns a row for each column of an index, with the name of the index and all
// properties of the column as a text. A plan may create an index again only if the index is
// unchanged.
const indexesSQL = "SELECT INDEX_NAME, " + indexSQL + " FROM information_schema.STATISTICS WHERE %s ORDER BY INDEX_NAME, SEQ_IN_INDEX"

// readTexts runs a query whose rows have a name and a text, and returns the list of texts
// of each name. For example, it returns the properties of the columns of each index, by the
// names of the indexes.
func (r *Reader) readTexts(ctx context.Context, query string) (map[string][]string, error) {
	texts := map[string][]string{}
	found, err := rows.Read[struct{ Name, Text string }](ctx, r.conn, query)
	for _, row := range found {
		texts[row.Name] = append(texts[row.Name], row.Text)
	}
	return texts, err
}

// define sets the definitions of the columns, and the foreign keys, from t.Elements. s
// normalizes the names of the tables to which the foreign keys refer.
func (t *Table) define(s Server) {
	for _, e := range t.Elements {
		if strings.HasPrefix(e, "`") { // the definition of a column
			if c := t.Column(QuotedNames(e)[0]); c != nil {
				c.Definition = Definition(e)
			}
		} else if f, ok := parseForeignKey(t.TableName, e); ok {
			f.Parent = s.Normalize(f.Parent)
			t.Foreign = append(t.Foreign, f)
		}
	}
}
