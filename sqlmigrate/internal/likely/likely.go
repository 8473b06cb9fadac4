// Package likely finds columns that are too narrow for a Snowflake ID and may hold keys
// of given tables, although no foreign key shows it. It judges columns by their names and
// comments, by the comparisons in views and functions, and by their values. Package
// sqlmigrate calls [Find] with a survey of the catalog.
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

// A Key is a column whose values are Snowflake IDs, or will be.
type Key struct {
	Table  plan.TableName
	Column string
}

func (k Key) String() string { return k.Table.String() + "." + plan.QuoteDotted(k.Column) }

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
	// the caller says that they hold no keys.
	Explained []engine.Reference
}

// Find returns the columns, sorted by table and in the order of the survey. It reads
// samples of the columns whose names do not decide.
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
	keys    map[Key]Key // the keys by their names in lower case
	sources []source    // in the order of their priority; the first source that has a column decides
}

// A source maps columns to the keys that they hold. An entry without keys means that the
// column holds none of the keys.
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

// read fills the sources from the input. It also finds the pairs of columns that views
// and functions compare.
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

// A suspect is a column that may hold keys. Its reason is empty as long as only its
// values can decide.
type suspect struct {
	column  engine.NarrowColumn
	name    name
	meaning meaning
	keys    []Key
	reason  string
	values  samples
	dense   bool // whether the values are a primary key almost without gaps, as a counter assigns it
}

func (s *suspect) found() plan.LikelyReference {
	found := plan.LikelyReference{Column: s.column.String(), Type: s.column.Type, Reason: s.reason, Change: s.column.Change}
	for _, key := range s.keys {
		found.Keys = append(found.Keys, key.String())
	}
	return found
}

// judge returns the suspect for a column, or nil if the column does not hold one of the
// keys.
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
	if c.Alone { // for example redirect.rd_from, whose name says nothing
		s.meaning = nothing
	}
	return s
}

// own reports whether the column is the primary key of its table and is named after this
// table, such as film_id of film.
func (f *finder) own(s *suspect) bool {
	return s.column.Alone && len(s.keys) == 1 && s.keys[0].Table == s.column.Table
}

// weigh reads the values of the columns whose names do not decide, and decides by them.
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
	return ctx.Err() // a table that the account may not read is unknown, and not an error
}

// settle decides by the values whether the column holds keys, and sets its keys and the
// reason.
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

// keysOf returns the keys for which is returns true.
func keysOf(found []*present, is func(*present) bool) []Key {
	var keys []Key
	for _, p := range found {
		if is(p) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// typeColumn returns the column beside c that may name the table to which c refers, or
// "".
func (f *finder) typeColumn(c engine.NarrowColumn) string {
	stem, ok := strings.CutSuffix(c.Name, "_id")
	if other := (engine.Reference{Table: c.Table, Column: stem + "_type"}); ok && slices.Contains(f.in.Survey.TypeColumns, other) {
		return other.Column
	}
	return ""
}
