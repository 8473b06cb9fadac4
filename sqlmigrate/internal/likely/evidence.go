package likely

import (
	"database/sql"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An Input holds the arguments of [Find].
type Input struct {
	Engine engine.Engine
	Conn   *sql.Conn
	Survey *engine.Survey
	Keys   []Key

	// Named are references that the caller knows. Their columns are found if they are
	// narrow, even if their names and values do not look like references.
	Named []engine.Reference

	// Explained are columns that are left out, because the plan moves them, or because
	// the caller says that they hold no keys. Only Table and Column are used.
	Explained []engine.Reference
}

// A finder is one call of [Find].
type finder struct {
	in      Input
	tables  *tableIndex
	keys    map[Key]Key // the keys by their names in lower case
	sources []keySource // in the order of their priority; the first source that has a column decides
}

// A keySource maps columns to the keys that they hold, according to one kind of evidence,
// such as the foreign keys. An entry without keys means that the column holds none of the
// keys. If a column has no entry, the evidence shows nothing about it.
type keySource map[Key]*keyEvidence

// A keyEvidence is an entry of a source. It has the keys that a column holds, and the
// reason for the user, such as "its foreign key".
type keyEvidence struct {
	keys   []Key
	reason string
}

// add adds keys to the entry of a column, which it creates if necessary. If the entry
// exists, its reason does not change.
func (s keySource) add(column Key, reason string, keys ...Key) {
	if s[column] == nil {
		s[column] = &keyEvidence{reason: reason}
	}
	for _, key := range keys {
		s[column].keys = engine.AppendNew(s[column].keys, key)
	}
}

// readSources fills the sources from the input, in the order in which judge asks them:
// columns that the caller explains or names, foreign keys, and comparisons in views,
// functions and triggers. It also fills f.keys.
func (f *finder) readSources() {
	explained, named, foreign, joined := keySource{}, keySource{}, keySource{}, keySource{}
	f.sources = []keySource{explained, named, foreign, joined}
	for _, c := range f.in.Explained {
		explained.add(columnOf(c.Table, c.Column), "")
	}
	for _, r := range f.in.Named {
		named.add(columnOf(r.Table, r.Column), "its being named as a reference", Key{r.ToTable, r.ToColumn})
	}
	for _, key := range f.in.Keys {
		f.keys[columnOf(key.Table, key.Column)] = key
	}
	for _, r := range f.in.Survey.ForeignKeys {
		from := columnOf(r.Table, r.Column)
		foreign.add(from, "its foreign key") // without keys, if it refers to another table
		if key, ok := f.keys[columnOf(r.ToTable, r.ToColumn)]; ok {
			foreign.add(from, "its foreign key", key)
		}
	}
	known := map[string][]plan.TableName{} // all tables by their names in lower case
	for _, t := range f.in.Survey.Tables {
		known[strings.ToLower(t.Name)] = append(known[strings.ToLower(t.Name)], t)
	}
	for _, text := range f.in.Survey.Texts {
		for _, pair := range joins(text.SQL, known) {
			// Either column of a pair may refer to the other.
			for _, direction := range [][2]Key{pair, {pair[1], pair[0]}} {
				if key, ok := f.keys[direction[1]]; ok {
					joined.add(direction[0], text.Object+", which compares it with "+key.String(), key)
				}
			}
		}
	}
}

// A suspect is a column that may hold keys.
type suspect struct {
	column  engine.NarrowColumn
	name    columnName
	meaning nameMeaning
	keys    []Key        // the keys that it may hold
	reason  string       // the reason for the user; while it is empty, only the values can decide
	values  sampleValues // a sample of its values; empty if they do not matter, or cannot be read
	dense   bool         // whether the values are a primary key almost without gaps, as a counter assigns it
}

// reference returns the suspect in the form of a plan.
func (s *suspect) reference() plan.LikelyReference {
	r := plan.LikelyReference{Column: s.column.String(), Type: s.column.Type, Reason: s.reason, Change: s.column.Change}
	for _, key := range s.keys {
		r.Keys = append(r.Keys, key.String())
	}
	return r
}
