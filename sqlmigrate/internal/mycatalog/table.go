package mycatalog

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Table is a table as it was before an unfinished run. Its schema is empty in the
// current database, so that what is planned here can be carried out in a database of
// another name.
type Table struct {
	plan.TableName

	Kind, Engine string // BASE TABLE, …; InnoDB, …
	Rows, Bytes  int64
	Elements     []string // columns, keys and constraints, as SHOW CREATE TABLE writes them
	Options      string   // what follows them
	Columns      []*Column
	Foreign      []ForeignKey        // also those that an unfinished run has dropped
	Indexes      map[string][]string // of each, what the catalog has about its columns, see indexIs

	checks map[string][]string // of MariaDB's columns, by their names in small letters; nil on MySQL
}

// A Column is a column of a table.
type Column struct {
	Table      *Table     `row:"-"`
	Definition Definition `row:"-"` // the old one, if an unfinished run has changed it

	Name, Type string // as information_schema has them
	Primary    bool   // part of the primary key
	Generated  string // the expression from which the database computes it
	Preset     string // its default, see presetIs
	Rest       string // see restIs
}

func (c *Column) String() string { return c.Table.String() + "." + c.Name }

// Integer is the column's type, or its old one.
func (c *Column) Integer() Integer { return c.Definition.Integer() }

// Assigned is how the database assigns the column, or empty.
func (c *Column) Assigned() string {
	switch {
	case c.Definition.Auto():
		return "auto_increment"
	case c.Primary && c.Definition.Has(" DEFAULT ") && !c.Computed():
		return "default"
	}
	return ""
}

// Computed reports whether the column has a default that is an expression and gives no
// numbers of a counter.
func (c *Column) Computed() bool {
	if slices.ContainsFunc([]string{"nextval(", "NEXTVAL(", "uuid_short(", "rand("}, c.Definition.Has) {
		return false
	}
	return c.Definition.Has(" DEFAULT (") || computedDefault.MatchString(string(c.Definition))
}

// computedDefault is how MariaDB writes a default that is an expression: a name, or a
// call, and no number, string or NULL.
var computedDefault = regexp.MustCompile(`(?i) DEFAULT (?:[a-z_@]\w*|` + "`" + `[^` + "`" + `]+` + "`" + `(?:\.` + "`" + `[^` + "`" + `]+` + "`" + `)?)\(`)

// HasForeignKey reports whether the column refers to another.
func (c *Column) HasForeignKey() bool {
	return slices.ContainsFunc(c.Table.Foreign, func(f ForeignKey) bool { return contains(f.Columns, c.Name) })
}

// contains compares as the servers compare names of columns.
func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
}

// Column is the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// Key are the columns of the primary key.
func (t *Table) Key() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return !c.Primary })
}

// IsUnique reports whether a unique key consists of these columns.
func (t *Table) IsUnique(columns []string) bool {
	return slices.ContainsFunc(t.Elements, func(e string) bool {
		e = strings.Replace(e, "PRIMARY KEY (", "UNIQUE KEY `` (", 1) // all but one have a name
		return strings.HasPrefix(e, "UNIQUE KEY ") && !IsFunctional(e) && slices.EqualFunc(QuotedNames(e)[1:], columns, strings.EqualFold)
	})
}

// IsIndex reports whether an element is an index that need not be unique.
func IsIndex(element string) bool { return strings.HasPrefix(element, "KEY `") }

// IsFunctional reports whether an element is an index of an expression.
func IsFunctional(element string) bool {
	return strings.Contains(element, "KEY `") && (strings.Contains(bare(element), "((") || strings.Contains(bare(element), ",("))
}

// IndexOf is the place of the index that serves only the foreign key, or -1.
func (t *Table) IndexOf(f ForeignKey) int {
	return slices.IndexFunc(t.Elements, func(e string) bool { return Serves(e, f) })
}

// Serves reports whether an element is an index of the columns of the foreign key, and
// of no others.
func Serves(element string, f ForeignKey) bool {
	return IsIndex(element) && !IsFunctional(element) && slices.EqualFunc(f.Columns, QuotedNames(element)[1:], strings.EqualFold)
}

// JournalTable is a table in the current database. A phase that a failure could
// leave half-way writes into it first what its statements remove: foreign keys that are
// dropped for the time being, and columns as they were. It is dropped at the end of the
// phase. An inspection in between sees the schema as it was, so the plan is the same
// again, and its statements leave out what is done. Only this package and package mysql
// read it.
const JournalTable = "sqlmigrate_journal"

// OnlineTable has a row for each online move that is under way.
const OnlineTable = "sqlmigrate_online"

// hasJournal is a condition: an unfinished run may have dropped foreign keys.
const hasJournal = "(SELECT COUNT(*) = 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + JournalTable + "')"

// A Journal is what an unfinished run has left.
type Journal struct {
	Exists  bool
	Entries []Entry
}

// An Entry is what one row of the journal keeps.
type Entry struct {
	Kind       string         // ColumnEntry or ForeignEntry
	Table      plan.TableName // without a schema in the current database
	Name       string
	Definition string // as SHOW CREATE TABLE writes it
}

// The kinds of entries.
const (
	ColumnEntry  = "column"
	ForeignEntry = "foreign key"
)

// ID names what the entry is about: the first one of a name has the old state.
func (e Entry) ID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Kind, e.Table.Schema, e.Table.Name, e.Name}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// ForeignKey is the foreign key that the entry is about, if it is about one.
func (e Entry) ForeignKey() (ForeignKey, bool) {
	if e.Kind != ForeignEntry {
		return ForeignKey{}, false
	}
	return parseForeignKey(e.Table, e.Definition)
}

// Has reports whether an unfinished run has dropped the foreign key.
func (j Journal) Has(f ForeignKey) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool {
		return e.Kind == ForeignEntry && e.Table == f.Child && strings.EqualFold(e.Name, f.Name)
	})
}

// overlay makes t what it was before the run.
func (j Journal) overlay(t *Table) {
	for _, e := range j.Entries {
		if e.Table != t.TableName {
			continue
		}
		exists := func(f ForeignKey) bool { return strings.EqualFold(f.Name, e.Name) }
		if f, ok := e.ForeignKey(); ok && !slices.ContainsFunc(t.Foreign, exists) {
			t.Foreign = append(t.Foreign, f)
		}
		if c := t.Column(e.Name); c != nil && e.Kind == ColumnEntry {
			c.Definition = Definition(e.Definition)
		}
	}
}
