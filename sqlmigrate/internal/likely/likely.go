// Package likely finds columns that are too narrow for a Snowflake ID and may hold
// keys of given tables, although no constraint says so: by their names and comments,
// by what views and functions compare them with, and by their values.
package likely

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Key is a column whose values are, or become, Snowflake IDs.
type Key struct {
	Table  plan.TableName
	Column string
}

func (k Key) String() string { return k.Table.String() + "." + plan.QuoteDotted(k.Column) }

// An Input is what is known.
type Input struct {
	Engine engine.Engine
	Conn   *sql.Conn
	Survey *engine.Survey
	Keys   []Key

	// Named are references that are known: their columns are found if they are
	// narrow, whatever else they look like.
	Named []engine.Reference

	// Explained are the columns that are left out: those that are moved, and those
	// that are said to hold no keys.
	Explained []engine.Reference
}

// Find returns the columns, by table and in their order there. It reads samples of
// those whose names leave it open.
func Find(ctx context.Context, in Input) (found []plan.LikelyReference, err error) {
	in.Keys = slices.Clone(in.Keys)
	slices.SortFunc(in.Keys, func(a, b Key) int { return cmp.Compare(a.String(), b.String()) })
	f := &finder{in: in, tables: newTables(in.Survey.Tables, in.Keys), keys: map[Key]Key{}}
	f.read()
	var open []*suspect
	for _, c := range in.Survey.Columns {
		if s := f.judge(c); s != nil {
			open = append(open, s)
		}
	}
	if err := f.weigh(ctx, open); err != nil {
		return nil, err
	}
	slices.SortStableFunc(open, func(a, b *suspect) int {
		return cmp.Or(cmp.Compare(a.column.Table.Schema, b.column.Table.Schema), cmp.Compare(a.column.Table.Name, b.column.Table.Name))
	})
	for _, s := range open {
		if s.reason != "" {
			found = append(found, s.found())
		}
	}
	return found, nil
}

type finder struct {
	in      Input
	tables  *tables
	keys    map[Key]Key // by their names in small letters
	sources []source    // the first that has a column counts
}

// A source shows what columns hold: some of the keys, or none of them.
type source map[Key]*shown

type shown struct {
	keys   []Key
	reason string
}

func (s source) add(column Key, reason string, keys ...Key) {
	if s[column] == nil {
		s[column] = &shown{reason: reason}
	}
	for _, key := range keys {
		s[column].keys = engine.AppendNew(s[column].keys, key)
	}
}

// read arranges what is known of columns, and what the catalog shows of them in pairs.
func (f *finder) read() {
	explained, named, foreign, joined := source{}, source{}, source{}, source{}
	f.sources = []source{explained, named, foreign, joined}
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
		foreign.add(from, "its foreign key")
		if key, ok := f.keys[columnOf(r.ToTable, r.ToColumn)]; ok {
			foreign.add(from, "its foreign key", key)
		}
	}
	known := map[string][]plan.TableName{}
	for _, t := range f.in.Survey.Tables {
		known[strings.ToLower(t.Name)] = append(known[strings.ToLower(t.Name)], t)
	}
	for _, text := range f.in.Survey.Texts {
		for _, pair := range joins(text.SQL, known) {
			for _, ends := range [][2]Key{pair, {pair[1], pair[0]}} {
				if key, ok := f.keys[ends[1]]; ok {
					joined.add(ends[0], text.Object+", which compares it with "+key.String(), key)
				}
			}
		}
	}
}

// A suspect is a column that is not explained. Its reason is empty as long as only
// its values can tell.
type suspect struct {
	column  engine.NarrowColumn
	name    name
	meaning meaning
	keys    []Key
	reason  string
	values  samples
	dense   bool // they are a primary key without gaps, as a counter's
}

func (s *suspect) found() plan.LikelyReference {
	found := plan.LikelyReference{Column: s.column.String(), Type: s.column.Type, Reason: s.reason, Change: s.column.Change}
	for _, key := range s.keys {
		found.Keys = append(found.Keys, key.String())
	}
	return found
}

// judge returns nil for a column that holds no key.
func (f *finder) judge(c engine.NarrowColumn) *suspect {
	id := columnOf(c.Table, c.Name)
	if c.Assigned {
		return nil
	}
	for _, source := range f.sources {
		switch shown := source[id]; {
		case shown == nil:
		case len(shown.keys) == 0:
			return nil
		default:
			return &suspect{column: c, keys: shown.keys, reason: shown.reason}
		}
	}
	s := &suspect{column: c, name: parseName(c.Name[strings.LastIndex(c.Name, ".")+1:])}
	s.meaning, s.keys = f.tables.meaningOf(c.Table, s.name)
	if s.meaning == named && !f.own(s) {
		s.reason = "its name"
		return s
	}
	if keys := slices.DeleteFunc(slices.Clone(f.in.Keys), func(key Key) bool { return !mentions(c.Comment, key) }); len(keys) > 0 {
		s.keys, s.reason = keys, "its comment"
		return s
	}
	if _, isKey := f.keys[id]; isKey || s.meaning == elsewhere {
		return nil
	}
	if c.Alone { // redirect.rd_from: no name shows it
		s.meaning = nothing
	}
	return s
}

// own reports whether the column is the whole primary key of its table and has its
// own table's name, as film_id of film.
func (f *finder) own(s *suspect) bool {
	return s.column.Alone && len(s.keys) == 1 && s.keys[0].Table == s.column.Table
}

// weigh reads the values of the columns whose names leave something open.
func (f *finder) weigh(ctx context.Context, open []*suspect) error {
	var asked []*suspect
	byTable := map[plan.TableName][]*suspect{}
	for _, s := range open {
		if s.reason == "" && (s.meaning != nothing || !s.name.amount) {
			asked = append(asked, s)
			byTable[s.column.Table] = append(byTable[s.column.Table], s)
		}
	}
	for table, list := range byTable {
		f.sample(ctx, table, list)
	}
	if len(asked) == 0 {
		return nil
	}
	found := make([]*present, len(f.in.Keys))
	for i, key := range f.in.Keys {
		found[i] = f.lookUp(ctx, key, asked)
	}
	for _, s := range asked {
		f.settle(s, found)
	}
	return ctx.Err() // what may not be read is unknown, and no error
}

// settle says what the values add to the name.
func (f *finder) settle(s *suspect, found []*present) {
	all := keysOf(found, func(p *present) bool { return len(s.values) > 0 && p.has(s.values) })
	switch s.meaning {
	case role:
		some := keysOf(found, func(p *present) bool { return p.unknown || p.count(s.values) > 0 })
		if len(s.values) >= disproof && len(some) == 0 {
			return
		}
		s.reason, s.keys = "its name", all
		if other := f.typeColumn(s.column); other != "" {
			s.reason = "its name, next to " + other
		}
	case weak:
		s.keys = slices.DeleteFunc(s.keys, func(key Key) bool { return !slices.Contains(all, key) })
		if len(s.keys) > 0 {
			s.reason = "its name and values"
		}
	case nothing:
		s.keys = keysOf(found, func(p *present) bool { return p.fits(s) })
		if len(s.keys) == 0 {
			return
		}
		s.reason = fmt.Sprintf("its values: all %d that were looked up are keys", len(s.values))
		if !slices.ContainsFunc(found, func(p *present) bool { return p.leavesOut(s.values) }) {
			s.reason += ", as a counter's may be"
		}
	}
}

// keysOf are the keys of which that is so.
func keysOf(found []*present, is func(*present) bool) []Key {
	var keys []Key
	for _, p := range found {
		if is(p) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// typeColumn is another column that may tell which table this one refers to, or none.
func (f *finder) typeColumn(c engine.NarrowColumn) string {
	stem, ok := strings.CutSuffix(c.Name, "_id")
	if other := (engine.Reference{Table: c.Table, Column: stem + "_type"}); ok && slices.Contains(f.in.Survey.TypeColumns, other) {
		return other.Column
	}
	return ""
}
