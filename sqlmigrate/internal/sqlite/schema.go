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

// A schema holds the objects of the database main.
type schema struct {
	tables          map[string]*table // by their folded names
	views, triggers map[string]object // by their folded names
	edges           []edge
}

type table struct {
	object

	shadow   bool   // whether a virtual table stores its rows in it
	plain    string // the SQL text without AUTOINCREMENT
	counts   bool   // whether it has AUTOINCREMENT
	columns  []*column
	keyIndex bool // whether the primary key has an index, so that it is not the rowid
	both     bool // whether it has a rowid in addition to such an index

	sequence sql.NullInt64
	measures
}

// tableName returns the name without a schema, because all tables are in main.
func (t *table) tableName() plan.TableName { return plan.TableName{Name: t.Name} }

// measures are the results of measure.
type measures struct {
	Rows     int64
	Largest  sql.NullInt64
	Smallest sql.NullInt64
	Odd      int64 // number of keys that are not integers
}

type column struct {
	Table, Name, Type string
	Key               int // position in the primary key, from 1 on; 0 if it is not part of it

	table    *table    `row:"-"`
	refers   []*column `row:"-"`
	enforced bool      `row:"-"` // whether a foreign key to another column ensures that its values are keys
	moved    bool      `row:"-"`
}

// An edge leads from a column to the column to which it refers.
type edge struct {
	from, to *column
	cascades bool // whether deleting the parent deletes the row
}

// An object is a row of sqlite_master.
type object struct{ Kind, Name, Table, Text string }

func (o object) isView() bool { return o.Kind == "view" }

func (o object) isVirtual() bool { return strings.HasPrefix(o.Text, "CREATE VIRTUAL ") }

func (o object) isGuard() bool { return fold(o.Name) == fold(parking.SQLiteGuardName(o.Table)) }

const (
	objectsSQL = `SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL`

	// plain excludes virtual tables, because reading their columns needs their module,
	// which may be missing.
	plain = `t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL %'`

	// shadowsSQL returns the shadow tables. They must not get a trigger, because SQLite
	// crashes at the next write to the virtual table.
	shadowsSQL = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`

	columnsSQL = `SELECT t.name, c.name, c.type, c.pk FROM main.sqlite_master t JOIN pragma_table_xinfo(t.name, 'main') c WHERE ` + plain + ` ORDER BY c.cid`

	// keyIndexesSQL returns the tables whose primary key has an index, and whether the
	// index ends with the rowid (cid -1). It does not in a table WITHOUT ROWID.
	keyIndexesSQL = `SELECT t.name, EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name, 'main') x WHERE x.cid = -1)
FROM main.sqlite_master t JOIN pragma_index_list(t.name, 'main') i WHERE ` + plain + ` AND i.origin = 'pk'`

	foreignKeysSQL = `SELECT t.name, k.seq, k."table", k."from", k."to", k.on_delete
FROM main.sqlite_master t JOIN pragma_foreign_key_list(t.name, 'main') k WHERE ` + plain + ` ORDER BY k.id, k.seq`
)

// A reader reads rows. After an error, it does not send any further query.
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

// one returns the only row of a query, or the zero value if the query has no row.
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
		To           sql.NullString // NULL means the primary key
		OnDelete     string
	}](ctx, r, foreignKeysSQL) {
		parent := s.tables[fold(k.Parent)]
		to := parent.column(func(c *column) bool {
			return k.To.Valid && fold(c.Name) == fold(k.To.String) || !k.To.Valid && c.Key == k.Place+1
		})
		s.refer(s.tables[fold(k.Child)].named(k.From), to, true, k.OnDelete == "CASCADE")
	}
}

// readSequences reads the positions of AUTOINCREMENT. The table sqlite_sequence exists
// only if a table with AUTOINCREMENT has been created.
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

// refer adds an edge. It ignores references to or from columns that do not exist, and of
// shadow tables.
func (s *schema) refer(from, to *column, enforced, cascades bool) {
	if from == nil || to == nil || from.table.shadow || to.table.shadow {
		return
	}
	s.edges = append(s.edges, edge{from, to, cascades})
	from.enforced = from.enforced || enforced && from != to
	from.refers = engine.AppendNew(from.refers, to)
}

// referAll adds the requested references. It ignores the columns of views, because they
// follow their tables.
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

// wanted returns a requested table.
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

// column returns the first column for which is returns true, or nil. t may be nil.
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

// key returns the moved column of the primary key, or the first if there are several. It
// returns nil if there is none.
func (t *table) key() *column {
	return t.column(func(c *column) bool { return c.Key > 0 && c.moved })
}

func (t *table) keys() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.Key == 0 })
}

// rowid reports whether the primary key is the rowid, which SQLite assigns if it is
// omitted.
func (t *table) rowid() bool {
	keys := t.keys()
	return len(keys) == 1 && !t.keyIndex && fold(keys[0].Type) == "integer"
}

// integer reports whether the type has the affinity INTEGER, by SQLite's rule.
func (c *column) integer() bool { return strings.Contains(fold(c.Type), "int") }

func tokens(text string) []sqltext.Token {
	return sqltext.Scan(text, sqltext.Rules{Brackets: true, Backticks: true})
}

// isWord reports whether a token is the keyword.
func isWord(t sqltext.Token, keyword string) bool {
	return t.Kind == sqltext.Word && fold(t.Text) == keyword
}

// withoutAutoincrement removes the keyword AUTOINCREMENT from the SQL text of a table,
// and reports whether it was there. SQLite does not accept this word as a name without
// quotes, so every unquoted occurrence is the keyword.
func withoutAutoincrement(text string) (string, bool) {
	for _, token := range tokens(text) {
		if isWord(token, "autoincrement") {
			return strings.TrimRight(text[:token.Start], " \t") + text[token.End:], true
		}
	}
	return text, false
}
