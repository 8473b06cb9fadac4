package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A schema is what there is in the database main.
type schema struct {
	tables          map[string]*table // by their folded names
	views, triggers map[string]object // likewise
	edges           []edge
}

type table struct {
	object

	shadow   bool   // a virtual table keeps its rows in it
	plain    string // the text without AUTOINCREMENT
	counts   bool   // it has AUTOINCREMENT
	columns  []*column
	keyIndex bool // the primary key has an index, so it is not the rowid
	both     bool // there is a rowid too

	sequence sql.NullInt64
	measures
}

// tableName has no schema, because there is none but main.
func (t *table) tableName() plan.TableName { return plan.TableName{Name: t.Name} }

// Measures are what the rows of a table have.
type measures struct {
	Rows     int64
	Largest  sql.NullInt64
	Smallest sql.NullInt64
	Odd      int64 // keys that are not integers
}

type column struct {
	Table, Name, Type string
	Key               int // position in the primary key, from 1

	table    *table    `row:"-"`
	refers   []*column `row:"-"`
	enforced bool      `row:"-"` // by a foreign key to another column
	moved    bool      `row:"-"`
}

// An edge leads from a column to what it refers to.
type edge struct {
	from, to *column
	cascades bool // when rows are deleted
}

// An object is what the catalog has.
type object struct{ Kind, Name, Table, Text string }

func (o object) isView() bool { return o.Kind == "view" }

func (o object) isVirtual() bool { return strings.HasPrefix(o.Text, "CREATE VIRTUAL ") }

func (o object) isGuard() bool { return fold(o.Name) == fold(parking.SQLiteGuardName(o.Table)) }

const (
	objectsSQL = `SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL`

	// Asked for its columns, a virtual table wants its module.
	plain = `t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL %'`

	// A trigger on a shadow table crashes SQLite at the next write of its virtual table.
	shadowsSQL = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`

	columnsSQL = `SELECT t.name, c.name, c.type, c.pk FROM main.sqlite_master t JOIN pragma_table_xinfo(t.name, 'main') c WHERE ` + plain + ` ORDER BY c.cid`

	// An index of a table WITHOUT ROWID does not end with the rowid.
	keyIndexesSQL = `SELECT t.name, EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name, 'main') x WHERE x.cid = -1)
FROM main.sqlite_master t JOIN pragma_index_list(t.name, 'main') i WHERE ` + plain + ` AND i.origin = 'pk'`

	foreignKeysSQL = `SELECT t.name, k.seq, k."table", k."from", k."to", k.on_delete
FROM main.sqlite_master t JOIN pragma_foreign_key_list(t.name, 'main') k WHERE ` + plain + ` ORDER BY k.id, k.seq`
)

// A reader reads nothing any more after an error.
type reader struct {
	conn *sql.Conn
	err  error
}

func read[T any](ctx context.Context, r *reader, query string, args ...any) (found []T) {
	if r.err == nil {
		if found, r.err = rows.Read[T](ctx, r.conn, query, args...); r.err != nil {
			r.err = fmt.Errorf("sqlmigrate: inspect: %w", r.err)
		}
	}
	return found
}

// one is the only row of a query, or zero without one.
func one[T any](ctx context.Context, r *reader, query string, args ...any) (row T) {
	for _, found := range read[T](ctx, r, query, args...) {
		row = found
	}
	return row
}

func readSchema(ctx context.Context, r *reader) *schema {
	s := &schema{tables: map[string]*table{}, views: map[string]object{}, triggers: map[string]object{}}
	for _, o := range read[object](ctx, r, objectsSQL) {
		switch o.Kind {
		case "table":
			plain, counts := withoutAutoincrement(o.Text)
			s.tables[fold(o.Name)] = &table{object: o, plain: plain, counts: counts}
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
	for _, c := range read[column](ctx, r, columnsSQL) {
		c.table = s.tables[fold(c.Table)]
		c.table.columns = append(c.table.columns, &c)
	}
	for _, i := range read[struct {
		Table string
		Both  bool
	}](ctx, r, keyIndexesSQL) {
		t := s.tables[fold(i.Table)]
		t.keyIndex, t.both = true, i.Both
	}
	s.readForeignKeys(ctx, r)
	return s
}

func (s *schema) readForeignKeys(ctx context.Context, r *reader) {
	for _, k := range read[struct {
		Child        string
		Place        int
		Parent, From string
		To           sql.NullString // NULL: the primary key
		OnDelete     string
	}](ctx, r, foreignKeysSQL) {
		parent := s.tables[fold(k.Parent)]
		to := parent.column(func(c *column) bool {
			return k.To.Valid && fold(c.Name) == fold(k.To.String) || !k.To.Valid && c.Key == k.Place+1
		})
		s.refer(s.tables[fold(k.Child)].named(k.From), to, true, k.OnDelete == "CASCADE")
	}
}

// readSequences reads where AUTOINCREMENT stands. The table for that exists with the first
// one that has it.
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

// refer leaves out what refers to a table that does not exist, and shadow tables.
func (s *schema) refer(from, to *column, enforced, cascades bool) {
	if from == nil || to == nil || from.table.shadow || to.table.shadow {
		return
	}
	s.edges = append(s.edges, edge{from, to, cascades})
	from.enforced = from.enforced || enforced && from != to
	from.refers = engine.AppendNew(from.refers, to)
}

// referAll adds the references that were asked for. Those of a view follow its table.
func (s *schema) referAll(references []engine.Reference) error {
	for _, r := range references {
		if s.isView(r.Table) || s.isView(r.ToTable) {
			continue
		}
		from, err := s.wanted(r.Table)
		to, late := s.wanted(r.ToTable)
		if err := cmp.Or(err, late); err != nil {
			return err
		}
		s.refer(from.named(r.Column), to.named(r.ToColumn), false, false)
	}
	return nil
}

func (s *schema) isView(name plan.TableName) bool {
	_, exists := s.views[fold(name.Name)]
	return exists && (name.Schema == "" || fold(name.Schema) == "main")
}

// wanted finds a table that was asked for.
func (s *schema) wanted(name plan.TableName) (*table, error) {
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

// column is the first that is meant, or nil. So is a column of a table that is nil.
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

func (t *table) named(name string) *column {
	return t.column(func(c *column) bool { return fold(c.Name) == fold(name) })
}

// key is the moved column of a table that is its key or, of several, the first
// one.
func (t *table) key() *column {
	return t.column(func(c *column) bool { return c.Key > 0 && c.moved })
}

func (t *table) keys() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.Key == 0 })
}

// rowid reports whether the key is the rowid, which SQLite assigns if it is
// omitted.
func (t *table) rowid() bool {
	keys := t.keys()
	return len(keys) == 1 && !t.keyIndex && fold(keys[0].Type) == "integer"
}

// integer is SQLite's own rule for the affinity of a type.
func (c *column) integer() bool { return strings.Contains(fold(c.Type), "int") }

func tokens(text string) []sqltext.Token {
	return sqltext.Scan(text, sqltext.Rules{Brackets: true, Backticks: true})
}

// isWord reports whether a token is the keyword.
func isWord(t sqltext.Token, keyword string) bool {
	return t.Kind == sqltext.Word && fold(t.Text) == keyword
}

// withoutAutoincrement takes the keyword out of the text of a table. It is
// one wherever it stands without quotes: SQLite allows no name like it.
func withoutAutoincrement(text string) (string, bool) {
	for _, token := range tokens(text) {
		if isWord(token, "autoincrement") {
			return strings.TrimRight(text[:token.Start], " \t") + text[token.End:], true
		}
	}
	return text, false
}
