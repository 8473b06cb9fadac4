// Package likely finds columns that are too narrow for a Snowflake ID and may hold keys
// of given tables, although no foreign key shows it. It judges columns by their names and
// comments, by the comparisons in views and functions, and by their values. Package
// sqlmigrate calls [Find] with a survey of the catalog.
package likely

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Find returns the narrow columns of the survey that may hold one of the keys, sorted by
// table, and in a table in the order of the survey. It first judges each column by the
// catalog, for example by its foreign keys and its name. If this does not decide, it
// compares a sample of the column's values with the keys.
func Find(ctx context.Context, in Input) (found []plan.LikelyReference, err error) {
	in.Keys = slices.Clone(in.Keys)
	slices.SortFunc(in.Keys, func(a, b Key) int { return cmp.Compare(a.String(), b.String()) })
	f := &finder{in: in, tables: newTableIndex(in.Survey.Tables, in.Keys), keys: map[Key]Key{}}
	f.tables.findOwners(in.Survey) // for keys that refer to another key, as user_stats.user_id
	f.readSources()
	var suspects []*suspect
	for _, c := range in.Survey.Columns {
		if s := f.judge(c); s != nil {
			suspects = append(suspects, s)
		}
	}
	if err := f.weighValues(ctx, suspects); err != nil {
		return nil, err
	}
	slices.SortStableFunc(suspects, func(a, b *suspect) int {
		return cmp.Or(cmp.Compare(a.column.Table.Schema, b.column.Table.Schema), cmp.Compare(a.column.Table.Name, b.column.Table.Name))
	})
	for _, s := range suspects {
		if s.reason != "" { // without a reason, the column holds no keys
			found = append(found, s.reference())
		}
	}
	return found, nil
}

// judge returns the suspect for a column, or nil if the column holds none of the keys. It
// decides by the sources, for example by a foreign key, then by the name and the comment of
// the column. If none of these decides, judge returns a suspect without a reason, and
// weighValues then compares the values of the column with the keys.
func (f *finder) judge(c engine.NarrowColumn) *suspect {
	id := columnOf(c.Table, c.Name)
	if c.Assigned { // the database assigns the values, so the column is the key of its own table
		return nil
	}
	for _, source := range f.sources {
		switch entry := source[id]; {
		case entry == nil: // the source does not know the column
		case len(entry.keys) == 0:
			return nil
		default:
			return &suspect{column: c, keys: entry.keys, reason: entry.reason}
		}
	}
	// The name of an attribute of a composite type is column.attribute, of which only the
	// last part counts.
	s := &suspect{column: c, name: parseName(c.Name[strings.LastIndex(c.Name, ".")+1:])}
	s.meaning, s.keys = f.tables.meaningOf(c.Table, s.name)
	if s.meaning == givenKey && !f.isOwnKey(s) { // the name means a key, as user_id means users.id
		s.reason = "its name"
		return s
	}
	if mentioned := slices.DeleteFunc(slices.Clone(f.in.Keys), func(key Key) bool { return !mentions(c.Comment, key) }); len(mentioned) > 0 {
		s.keys, s.reason = mentioned, "its comment"
		return s
	}
	if _, isKey := f.keys[id]; isKey || s.meaning == otherKey { // a moved key, or a reference to another table
		return nil
	}
	// The name of a primary key usually means the key itself. Some primary keys are
	// references nevertheless, such as redirect.rd_from, so only the values decide.
	if c.Alone {
		s.meaning = noMeaning
	}
	return s
}

// isOwnKey reports whether the name of the column means the key of its own table, such as
// film.film_id, because the column is the primary key of this table. Such a name does not
// show a reference to another table.
func (f *finder) isOwnKey(s *suspect) bool {
	return s.column.Alone && len(s.keys) == 1 && s.keys[0].Table == s.column.Table
}

// weighValues reads values of the suspects that have no reason yet, and decides by them
// whether the columns hold keys. It leaves out a column whose name only means an amount,
// such as quantity, because small numbers look like keys.
func (f *finder) weighValues(ctx context.Context, suspects []*suspect) error {
	var undecided []*suspect
	byTable := map[plan.TableName][]*suspect{}
	for _, s := range suspects {
		if s.reason == "" && (s.meaning != noMeaning || !s.name.amount) {
			undecided = append(undecided, s)
			byTable[s.column.Table] = append(byTable[s.column.Table], s)
		}
	}
	for table, list := range byTable {
		f.sample(ctx, table, list)
	}
	if len(undecided) == 0 {
		return nil
	}
	found := make([]*lookup, len(f.in.Keys))
	for i, key := range f.in.Keys {
		found[i] = f.lookUp(ctx, key, undecided)
	}
	for _, s := range undecided {
		f.settle(s, found)
	}
	return ctx.Err() // a table that the account may not read is unknown, and not an error
}

// settle decides by the values of a column, and by the meaning of its name, whether it
// holds keys. If it does, settle sets its keys and the reason. found shows for each key
// which values of the columns exist as this key. If a key refers to another key, as
// user_stats.user_id to users.id, replaceOwned puts the other key in its place.
func (f *finder) settle(s *suspect, found []*lookup) {
	// holdAll are the keys, such as users.id, in which all values of the column exist, and
	// holdSome are those in which at least one may exist.
	holdAll := keysOf(found, func(p *lookup) bool { return len(s.values) > 0 && p.hasAll(s.values) })
	holdSome := keysOf(found, func(p *lookup) bool { return p.unknown || p.count(s.values) > 0 })
	switch s.meaning {
	case someKey: // the name decides, unless many values have been read and none exists as a key
		if len(s.values) >= disproof && len(holdSome) == 0 {
			return
		}
		s.reason, s.keys = "its name", f.tables.replaceOwned(holdAll)
		if other := f.typeColumn(s.column); other != "" {
			s.reason = "its name, next to " + other
		}
	case maybeGivenKey: // the values must confirm the name
		s.keys = slices.DeleteFunc(s.keys, func(key Key) bool { return !slices.Contains(holdAll, key) })
		if len(s.keys) > 0 {
			s.reason = "its name and values"
		}
	case noMeaning: // only the values can decide
		s.keys = f.tables.replaceOwned(keysOf(found, func(p *lookup) bool { return p.isEvidence(s) }))
		if len(s.keys) == 0 {
			return
		}
		s.reason = fmt.Sprintf("its values: all %d that were looked up are keys", len(s.values))
		// Unless the values avoid the gaps between keys, another counter may have assigned
		// them, so that they are keys by chance.
		if !slices.ContainsFunc(found, func(p *lookup) bool { return p.avoidsGaps(s.values) }) {
			s.reason += ", as a counter's may be"
		}
	}
}

// keysOf returns the key of each lookup in found for which is(lookup) is true.
func keysOf(found []*lookup, is func(*lookup) bool) []Key {
	var keys []Key
	for _, p := range found {
		if is(p) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// typeColumn returns the column of the same table that may name the table to which c
// refers, for example owner_type for owner_id. It returns "" if there is none.
func (f *finder) typeColumn(c engine.NarrowColumn) string {
	stem, ok := strings.CutSuffix(c.Name, "_id")
	if other := (engine.Reference{Table: c.Table, Column: stem + "_type"}); ok && slices.Contains(f.in.Survey.TypeColumns, other) {
		return other.Column
	}
	return ""
}
