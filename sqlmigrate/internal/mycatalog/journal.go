package mycatalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

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
	Kind       string           // ColumnEntry or ForeignEntry
	Table      engine.TableName // without a schema in the current database
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
