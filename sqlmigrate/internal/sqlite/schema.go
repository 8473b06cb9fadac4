package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A schema holds the objects of the database main, which is the file of the connection.
// Other databases can be attached to it.
type schema struct {
	tables          map[string]*table // by their folded names
	views, triggers map[string]object // by their folded names
	edges           []edge
}

// A table is a table of the schema, with its columns and the values that Inspect reads
// from it.
type table struct {
	object

	shadow        bool   // whether a virtual table, for example of FTS5, stores its rows in it
	withoutAuto   string // the CREATE TABLE text (Text) without AUTOINCREMENT
	autoincrement bool   // whether the text has AUTOINCREMENT
	columns       []*column
	keyIndex      bool // whether the primary key has an index, so that it is not the rowid
	rowidAndIndex bool // whether it has a rowid in addition to such an index

	sequence sql.NullInt64 // the last key that AUTOINCREMENT has assigned; NULL if it has assigned none
	measures
}

// tableName returns the name without a schema, because all tables are in main.
func (t *table) tableName() plan.TableName { return plan.TableName{Name: t.Name} }

// measures are the facts that the method measure of a table reads from its rows. Largest
// and Smallest are the largest and the smallest integer key.
type measures struct {
	Rows        int64
	Largest     sql.NullInt64
	Smallest    sql.NullInt64
	NonIntegers int64 // number of keys that are not integers
}

// A column is a column of a table. A row of columnsSQL is scanned into the fields without
// a tag.
type column struct {
	Table, Name, Type string
	Key               int // position in the primary key, from 1 on; 0 if it is not part of it

	table    *table    `row:"-"`
	refers   []*column `row:"-"` // the columns to which it refers
	enforced bool      `row:"-"` // whether a foreign key to another column ensures that its values are keys
	moved    bool      `row:"-"` // whether it holds keys of the plan, its own or those to which it refers
}

// An edge is a reference from a column to another column.
type edge struct {
	from, to *column
	cascades bool // whether deleting the parent deletes the row
}

// An object is a row of sqlite_master.
type object struct{ Kind, Name, Table, Text string }

// isView reports whether the object is a view.
func (o object) isView() bool { return o.Kind == "view" }

// isVirtual reports whether the object is a virtual table.
func (o object) isVirtual() bool { return strings.HasPrefix(o.Text, "CREATE VIRTUAL ") }

// isGuard reports whether the object has the name that phase guard gives its trigger.
func (o object) isGuard() bool { return fold(o.Name) == fold(sqliteguard.Name(o.Table)) }

const (
	// objectsSQL returns the tables, indexes, views and triggers with their CREATE
	// statements. It excludes automatic indexes, which have no statement.
	objectsSQL = `SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL`

	// ordinaryTable is a condition that excludes virtual tables. To read their columns,
	// SQLite needs their module, which may be missing.
	ordinaryTable = `t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL %'`

	// shadowsSQL returns the shadow tables, in which a virtual table stores its rows.
	// They must not get a trigger, because SQLite then crashes at the next write to the
	// virtual table.
	shadowsSQL = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`

	// columnsSQL returns the columns of all tables, and their positions in the primary
	// key.
	columnsSQL = `SELECT t.name, c.name, c.type, c.pk FROM main.sqlite_master t JOIN pragma_table_xinfo(t.name, 'main') c WHERE ` + ordinaryTable + ` ORDER BY c.cid`

	// keyIndexesSQL returns the tables whose primary key has an index, and whether the
	// index ends with the rowid (cid -1). It does not in a table WITHOUT ROWID.
	keyIndexesSQL = `SELECT t.name, EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name, 'main') x WHERE x.cid = -1)
FROM main.sqlite_master t JOIN pragma_index_list(t.name, 'main') i WHERE ` + ordinaryTable + ` AND i.origin = 'pk'`

	// foreignKeysSQL returns a row for each column of each foreign key. In it, seq counts
	// the columns of the foreign key from 0 on.
	foreignKeysSQL = `SELECT t.name, k.seq, k."table", k."from", k."to", k.on_delete
FROM main.sqlite_master t JOIN pragma_foreign_key_list(t.name, 'main') k WHERE ` + ordinaryTable + ` ORDER BY k.id, k.seq`
)

// A reader sends queries, and for a trial also statements. It keeps the first error in
// err, and sends nothing after it, so that callers can check err after several queries.
type reader struct {
	conn *sql.Conn
	err  error
}

// read returns the rows of a query. After an error, which r keeps, it returns nil.
func read[T any](ctx context.Context, r *reader, query string, args ...any) (found []T) {
	if r.err == nil {
		if found, r.err = rows.Read[T](ctx, r.conn, query, args...); r.err != nil {
			r.err = fmt.Errorf("sqlmigrate: inspect: %w", r.err)
		}
	}
	return found
}

// readOne returns the only row of a query, or the zero value if the query has no row.
func readOne[T any](ctx context.Context, r *reader, query string, args ...any) (row T) {
	for _, found := range read[T](ctx, r, query, args...) {
		row = found
	}
	return row
}

// readSchema reads the tables with their columns, the views, the triggers and the foreign
// keys of database main. After an error, which r keeps, the schema is incomplete.
func readSchema(ctx context.Context, r *reader) *schema {
	s := &schema{tables: map[string]*table{}, views: map[string]object{}, triggers: map[string]object{}}
	for _, o := range read[object](ctx, r, objectsSQL) {
		switch o.Kind {
		case "table":
			withoutAuto, autoincrement := withoutAutoincrement(o.Text)
			s.tables[fold(o.Name)] = &table{object: o, withoutAuto: withoutAuto, autoincrement: autoincrement}
		case "view":
			s.views[fold(o.Name)] = o
		case "trigger":
			s.triggers[fold(o.Name)] = o
		}
	}
	for _, name := range read[string](ctx, r, shadowsSQL) {
		if t := s.tables[fold(name)]; t != nil {
			t.shadow = true
		}
	}
	// A table that s.tables lacks was created since the first query, which a caller without a
	// transaction does not exclude.
	for _, c := range read[column](ctx, r, columnsSQL) {
		if c.table = s.tables[fold(c.Table)]; c.table != nil {
			c.table.columns = append(c.table.columns, &c)
		}
	}
	for _, i := range read[struct {
		Table string
		Both  bool // whether there is a rowid in addition to the index
	}](ctx, r, keyIndexesSQL) {
		if t := s.tables[fold(i.Table)]; t != nil {
			t.keyIndex, t.rowidAndIndex = true, i.Both
		}
	}
	s.readForeignKeys(ctx, r)
	return s
}

// readForeignKeys adds an edge from each column of each foreign key to the column of the
// parent. A foreign key that names no column of its parent refers to the columns of the
// primary key, in their order.
func (s *schema) readForeignKeys(ctx context.Context, r *reader) {
	for _, k := range read[struct {
		Child        string
		Place        int
		Parent, From string
		To           sql.NullString // NULL means the primary key
		OnDelete     string
	}](ctx, r, foreignKeysSQL) {
		parent := s.tables[fold(k.Parent)]
		// Place, the position in the foreign key, counts from 0, and Key, the position in
		// the primary key, from 1.
		to := parent.column(func(c *column) bool {
			return k.To.Valid && fold(c.Name) == fold(k.To.String) || !k.To.Valid && c.Key == k.Place+1
		})
		s.addEdge(s.tables[fold(k.Child)].columnNamed(k.From), to, true, k.OnDelete == "CASCADE")
	}
}

// readSequences reads the last keys that AUTOINCREMENT has assigned. The table
// sqlite_sequence, which stores them, exists only if a table with AUTOINCREMENT has been
// created.
func (s *schema) readSequences(ctx context.Context, r *reader) {
	if s.tables["sqlite_sequence"] == nil {
		return
	}
	for _, of := range read[struct {
		Name string
		Last sql.NullInt64
	}](ctx, r, "SELECT name, seq FROM main.sqlite_sequence") {
		if t := s.tables[fold(of.Name)]; t != nil {
			t.sequence = of.Last
		}
	}
}

// addEdge adds an edge from a column to the column to which it refers. enforced means that
// a foreign key rejects values that are not in the other column, and cascades means that
// the foreign key deletes the row together with its parent. addEdge ignores columns that do
// not exist, which are nil, and the columns of shadow tables, which are not moved.
func (s *schema) addEdge(from, to *column, enforced, cascades bool) {
	if from == nil || to == nil || from.table.shadow || to.table.shadow {
		return
	}
	s.edges = append(s.edges, edge{from, to, cascades})
	from.enforced = from.enforced || enforced && from != to
	from.refers = engine.AppendNew(from.refers, to)
}

// addReferences adds edges for the references that the caller of Inspect knows, for which
// there need not be a foreign key. It ignores the columns of views, because they show the
// columns of tables.
func (s *schema) addReferences(references []engine.Reference) error {
	for _, r := range references {
		if s.isView(r.Table) || s.isView(r.ToTable) {
			continue
		}
		from, fromErr := s.requestedTable(r.Table)
		to, toErr := s.requestedTable(r.ToTable)
		if err := cmp.Or(fromErr, toErr); err != nil {
			return err
		}
		s.addEdge(from.columnNamed(r.Column), to.columnNamed(r.ToColumn), false, false) // no foreign key enforces it or cascades
	}
	return nil
}

// isView reports whether name is a view.
func (s *schema) isView(name plan.TableName) bool {
	_, exists := s.views[fold(name.Name)]
	return exists && (name.Schema == "" || fold(name.Schema) == "main")
}

// requestedTable returns the table with the name that a caller of Inspect has given.
func (s *schema) requestedTable(name plan.TableName) (*table, error) {
	if name.Schema != "" && fold(name.Schema) != "main" {
		return nil, fmt.Errorf("sqlmigrate: table %s is not in the database main: open its file as a database of its own", name)
	}
	t := s.tables[fold(name.Name)]
	switch {
	case t == nil:
		return nil, fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, and not a view", name)
	case strings.HasPrefix(fold(t.Name), "sqlite_"):
		return nil, fmt.Errorf("sqlmigrate: table %s is SQLite's own", name)
	}
	return t, nil
}

// column returns the first column for which the function is returns true, or nil. It also
// returns nil if t is nil, so that a foreign key to a missing table needs no check.
func (t *table) column(is func(*column) bool) *column {
	if t != nil {
		for _, c := range t.columns {
			if is(c) {
				return c
			}
		}
	}
	return nil
}

// columnNamed returns the column with the name, or nil.
func (t *table) columnNamed(name string) *column {
	return t.column(func(c *column) bool { return fold(c.Name) == fold(name) })
}

// key returns the moved column of the primary key, or the first if several of its columns
// are moved. It returns nil if none of them is.
func (t *table) key() *column {
	return t.column(func(c *column) bool { return c.Key > 0 && c.moved })
}

// keys returns the columns of the primary key.
func (t *table) keys() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.Key == 0 })
}

// keyIsRowid reports whether the primary key is the rowid, the number by which SQLite
// stores each row. SQLite assigns the rowid to a row that is inserted without it. The primary
// key is the rowid if it is a single column of type INTEGER without an index of its own.
func (t *table) keyIsRowid() bool {
	keys := t.keys()
	return len(keys) == 1 && !t.keyIndex && fold(keys[0].Type) == "integer"
}

// isInteger reports whether the type has the affinity INTEGER, which by SQLite's rule is
// every type that contains "int", such as bigint.
func (c *column) isInteger() bool { return strings.Contains(fold(c.Type), "int") }

// tokens returns the words, names, strings and signs of an SQL text in SQLite's syntax.
func tokens(text string) []sqltext.Token {
	return sqltext.Scan(text, sqltext.Rules{Brackets: true, Backticks: true})
}

// isWord reports whether a token is the keyword, which is in lower case.
func isWord(t sqltext.Token, keyword string) bool {
	return t.Kind == sqltext.Word && fold(t.Text) == keyword
}

// withoutAutoincrement returns the CREATE TABLE text of a table without the keyword
// AUTOINCREMENT, and reports whether the text has it. SQLite does not accept this word as
// a name without quotes, so every unquoted occurrence is the keyword.
func withoutAutoincrement(text string) (string, bool) {
	for _, token := range tokens(text) {
		if isWord(token, "autoincrement") {
			return strings.TrimRight(text[:token.Start], " \t") + text[token.End:], true
		}
	}
	return text, false
}
