package mycatalog

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Table describes a table. If an unfinished run has changed the table, the field Foreign
// and the definitions of the columns are as they were before this run, see [JournalTable].
// The other fields describe the table as it is now. Its schema is empty if it is in the
// current database, so that the plan also works in a database with another name.
type Table struct {
	plan.TableName

	Kind, Engine string   // for example BASE TABLE, and InnoDB
	Rows, Bytes  int64    // estimates of the server; Bytes includes indexes
	Elements     []string // the definitions of columns, keys and constraints, as SHOW CREATE TABLE writes them
	Options      string   // the text that follows the definitions
	Columns      []*Column
	Foreign      []ForeignKey        // the foreign keys of the table, including those that an unfinished run has dropped
	Indexes      map[string][]string // for each index, its rows in the catalog in the form of the expression indexSQL

	checks map[string][]string // on MariaDB, the checks of columns by their names in lower case; nil on MySQL
}

// A Column is a column of a table.
type Column struct {
	Table      *Table     `row:"-"`
	Definition Definition `row:"-"` // the original definition, if an unfinished run has changed the column

	Name, Type string // as in information_schema
	Primary    bool   // whether it is part of the primary key
	Generated  string // the expression of a generated column
	Preset     string // its default, in the form of the expression presetSQL
	Rest       string // its other properties, in the form of the expression restSQL
}

// String returns the name of the column with its table, for example orders.user_id.
func (c *Column) String() string { return c.Table.String() + "." + c.Name }

// Integer returns the original type of the column. It is zero if the type is not an
// integer.
func (c *Column) Integer() Integer { return c.Definition.Integer() }

// Assigned returns how the database assigns a key in the column. This is "auto_increment",
// "default" for a primary key with a default, or "" if it assigns none. A default that is
// Computed does not count, because phase detach keeps such a default.
func (c *Column) Assigned() string {
	switch {
	case c.Definition.Auto():
		return "auto_increment"
	case c.Primary && c.Definition.Has(" DEFAULT ") && !c.Computed():
		return "default"
	}
	return ""
}

// Computed reports whether the default of the column is an expression, for example a
// function that returns the present tenant. It returns false for an expression that
// generates numbers, such as nextval or rand, because such a default assigns new keys.
func (c *Column) Computed() bool {
	if slices.ContainsFunc([]string{"nextval(", "NEXTVAL(", "uuid_short(", "rand("}, c.Definition.Has) {
		return false
	}
	// MySQL encloses an expression in parentheses.
	return c.Definition.Has(" DEFAULT (") || computedDefault.MatchString(string(c.Definition))
}

// computedDefault matches a default that is an expression in the form of MariaDB, which is
// a call of a function, for example DEFAULT uuid() or DEFAULT `shop`.`tenant`(). It does
// not match a number, a string or NULL.
var computedDefault = regexp.MustCompile(`(?i) DEFAULT (?:[a-z_@]\w*|` + "`" + `[^` + "`" + `]+` + "`" + `(?:\.` + "`" + `[^` + "`" + `]+` + "`" + `)?)\(`)

// HasForeignKey reports whether the column belongs to a foreign key of its table.
func (c *Column) HasForeignKey() bool {
	return slices.ContainsFunc(c.Table.Foreign, func(f ForeignKey) bool { return contains(f.Columns, c.Name) })
}

// contains reports whether name is in names. It ignores case, because the servers do so
// for names of columns.
func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
}

// Column returns the column with this name, or nil. It ignores case.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// Key returns the columns of the primary key, in the order of the table's columns.
func (t *Table) Key() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return !c.Primary })
}

// IsUnique reports whether there is a primary or unique key on exactly these columns, in
// this order. The first quoted name of an element such as UNIQUE KEY `uq` (`code`) is the
// name of the key itself.
func (t *Table) IsUnique(columns []string) bool {
	return slices.ContainsFunc(t.Elements, func(e string) bool {
		e = strings.Replace(e, "PRIMARY KEY (", "UNIQUE KEY `` (", 1) // a primary key has no name: insert an empty name, so that the columns are at the same places
		return strings.HasPrefix(e, "UNIQUE KEY ") && !IsFunctional(e) && slices.EqualFunc(QuotedNames(e)[1:], columns, strings.EqualFold)
	})
}

// IsIndex reports whether an element of a definition is an index that is not unique, for
// example KEY `ix` (`user_id`).
func IsIndex(element string) bool { return strings.HasPrefix(element, "KEY `") }

// IsFunctional reports whether an element is an index on an expression. Such an expression
// has its own parentheses in the list of columns, for example KEY `ix` (`n`,(`a` + 1)).
func IsFunctional(element string) bool {
	return strings.Contains(element, "KEY `") && (strings.Contains(maskQuoted(element), "((") || strings.Contains(maskQuoted(element), ",("))
}

// IndexOf returns the position in t.Elements of the index with exactly the columns of the
// foreign key, or -1.
func (t *Table) IndexOf(f ForeignKey) int {
	return slices.IndexFunc(t.Elements, func(e string) bool { return Serves(e, f) })
}

// Serves reports whether an element is an index with exactly the columns of the foreign
// key, as the server creates it for a foreign key. The first quoted name of the element is
// the name of the index itself.
func Serves(element string, f ForeignKey) bool {
	return IsIndex(element) && !IsFunctional(element) && slices.EqualFunc(f.Columns, QuotedNames(element)[1:], strings.EqualFold)
}

// JournalTable is the name of the journal in the current database. The journal stores
// definitions that the statements of a phase remove, and that would be lost if the phase
// were interrupted half-way. These are the foreign keys that the phase drops for a while,
// and the original definitions of columns. The phase begins by writing the journal, and
// ends by dropping it. While the journal exists, an inspection sees the schema as it was
// before the phase. Therefore the inspection makes the same plan as before the phase, and
// the statements of the plan skip the work that has been done. Only packages mycatalog and
// mysql read the journal.
//
// Online moves have a journal of their own, see [OnlineTable].
const JournalTable = "sqlmigrate_journal"

// OnlineTable is the name of the table in which package myonline stores online moves, a
// row for each move that has begun.
const OnlineTable = "sqlmigrate_online"

// hasJournal is a condition that the journal exists, so that an unfinished run may have
// dropped foreign keys.
const hasJournal = "(SELECT COUNT(*) = 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + JournalTable + "')"

// A Journal holds the entries of the journal. If there is no unfinished run, it does not
// exist and has no entries.
type Journal struct {
	Exists  bool
	Entries []Entry
}

// An Entry is a row of the journal, which has the original definition of a column or a
// foreign key.
type Entry struct {
	Kind       string         // ColumnEntry or ForeignEntry
	Table      plan.TableName // without a schema for the current database
	Name       string         // of the column or foreign key
	Definition string         // as SHOW CREATE TABLE writes it
}

// The kinds of entries.
const (
	ColumnEntry  = "column"
	ForeignEntry = "foreign key"
)

// ID returns the primary key of the entry in the journal. It is a hash of the kind and
// name of the object, and does not depend on the definition. Therefore a later run does
// not overwrite the first entry of an object, which has the original definition.
func (e Entry) ID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Kind, e.Table.Schema, e.Table.Name, e.Name}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// ForeignKey returns the foreign key of the entry, and true. If the entry is about a
// column, it returns false.
func (e Entry) ForeignKey() (ForeignKey, bool) {
	if e.Kind != ForeignEntry {
		return ForeignKey{}, false
	}
	return parseForeignKey(e.Table, e.Definition)
}

// Has reports whether the journal has an entry for the foreign key, so that an unfinished
// run may have dropped it.
func (j Journal) Has(f ForeignKey) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool {
		return e.Kind == ForeignEntry && e.Table == f.Child && strings.EqualFold(e.Name, f.Name)
	})
}

// overlay changes the definitions of t to the definitions before the unfinished run. It
// adds the foreign keys that this run has dropped, and gives the columns their original
// definitions.
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
