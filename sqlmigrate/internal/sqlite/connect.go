package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// choose marks the keys of the wanted tables as moved, which means that the plan lets them
// hold Snowflake IDs. For a table whose key it cannot choose, it returns a blocker or a
// note.
func (s *schema) choose(wanted []plan.TableName) (found engine.Findings, err error) {
	var shadows []string
	for _, name := range wanted {
		t, err := s.requestedTable(name)
		if err != nil {
			return found, err
		}
		if t.isVirtual() {
			found.Block(t.tableName(), "virtual table "+t.Name, "its keys are its module's", "leave the table out")
			continue
		}
		if t.shadow { // with a guard, SQLite would crash at the next write to its virtual table
			shadows = append(shadows, t.Name)
			continue
		}
		keys := t.keys()
		if len(keys) == 0 {
			found.Block(t.tableName(), "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		}
		// If several columns of a key are integers, it is unknown which of them is the ID.
		// connect still marks those that refer to a moved key. If a single column is an
		// integer, it is the ID. If no column is, blockKey reports the key.
		if integers := slices.DeleteFunc(slices.Clone(keys), func(c *column) bool { return !c.isInteger() }); len(integers) > 1 {
			found.Note(engine.CompositeNote, t.Name, len(keys))
			continue
		} else if len(integers) == 1 {
			keys = integers
		}
		for _, c := range keys {
			c.moved = true
		}
	}
	if len(shadows) > 0 {
		found.Note("These tables are left out, because a virtual table keeps its rows in them: %s.", engine.List(shadows))
	}
	return found, nil
}

// connect follows references in both directions from the moved columns, and marks all
// columns that it reaches as moved, because their values are the same keys. It returns
// the tables of all moved columns, sorted by name.
func (s *schema) connect() []*table {
	for found := true; found; { // until a pass over all edges finds no further column
		found = false
		for _, e := range s.edges {
			if e.from.moved != e.to.moved {
				e.from.moved, e.to.moved = true, true
				found = true
			}
		}
	}
	var affected []*table
	for _, t := range s.tables {
		if slices.ContainsFunc(t.columns, func(c *column) bool { return c.moved }) {
			affected = append(affected, t)
		}
	}
	slices.SortFunc(affected, func(a, b *table) int { return cmp.Compare(a.Name, b.Name) })
	return affected
}

// measure reads the number of rows, the largest and the smallest integer key, and the
// number of keys that are not integers, because a column of SQLite can hold values of any
// type. A rowid is always an integer, so the query for a rowid needs no conditions. If no
// column of the primary key is moved, measure reads only the number of rows. r keeps the
// first error.
func (t *table) measure(ctx context.Context, r *reader) {
	name := "main." + quote(t.Name)
	query := "SELECT count(*), NULL, NULL, 0 FROM " + name
	if c := t.key(); c != nil {
		column := quote(c.Name)
		fromIntegers := fmt.Sprintf(" FROM %s WHERE typeof(%s) = 'integer'", name, column)
		nonIntegers := fmt.Sprintf("(SELECT count(*) FROM %s WHERE typeof(%s) <> 'integer')", name, column)
		if t.keyIsRowid() {
			fromIntegers, nonIntegers = " FROM "+name, "0"
		}
		query = fmt.Sprintf("SELECT count(*), (SELECT max(%[1]s)%[2]s), (SELECT min(%[1]s)%[2]s), %[3]s FROM %[4]s", column, fromIntegers, nonIntegers, name)
	}
	t.measures = readOne[measures](ctx, r, query)
}
