package sqlite

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// resolve starts with the keys of the tables that were asked for.
func (in *inspection) resolve() error {
	for _, name := range in.want.Tables {
		t, err := in.wanted(name)
		if err != nil {
			return err
		}
		if t.virtual {
			in.block(t.name, "virtual table "+t.name, "its keys are its module's", "leave the table out")
			continue
		}
		keys := t.keys()
		if len(keys) == 0 {
			in.block(t.name, "primary key", "the table has none, so it is not known which column is to be moved", "add one, or leave the table out")
		}
		if integers := slices.DeleteFunc(slices.Clone(keys), func(c *column) bool { return !c.integer() }); len(integers) > 1 {
			in.note(engine.CompositeNote, t.name, len(keys))
			continue
		} else if len(integers) == 1 {
			keys = integers
		}
		for _, c := range keys {
			in.moved[c.id] = true
		}
	}
	return nil
}

// connect follows references in both directions.
func (in *inspection) connect() error {
	for found := true; found; {
		found = false
		for _, e := range in.edges {
			if in.moved[e.from] != in.moved[e.to] {
				in.moved[e.from], in.moved[e.to] = true, true
				found = true
			}
		}
	}
	for _, t := range in.tables {
		if slices.ContainsFunc(t.columns, func(c *column) bool { return in.moved[c.id] }) {
			in.affected = append(in.affected, t)
		}
	}
	slices.SortFunc(in.affected, func(a, b *table) int { return cmp.Compare(a.name, b.name) })
	return nil
}

// measure reads what rows there are. Only of a key that is the rowid can the
// values be nothing but integers.
func (in *inspection) measure() error {
	for _, t := range in.affected {
		c := in.key(t)
		name := "main." + quote(t.name)
		query := "SELECT count(*), NULL, NULL, 0 FROM " + name
		if c != nil {
			column := quote(c.name)
			integers := fmt.Sprintf(" FROM %s WHERE typeof(%s) = 'integer')", name, column)
			odd := fmt.Sprintf("(SELECT count(*) FROM %s WHERE typeof(%s) <> 'integer')", name, column)
			if t.rowid() {
				integers, odd = " FROM "+name+")", "0"
			}
			query = fmt.Sprintf("SELECT count(*), (SELECT max(%[1]s)%[2]s, (SELECT min(%[1]s)%[2]s, %[3]s FROM %[4]s", column, integers, odd, name)
		}
		var largest sql.NullInt64
		if err := in.each(query, func(rows *sql.Rows) error { return rows.Scan(&t.rows, &largest, &t.smallest, &t.odd) }); err != nil {
			return err
		}
		t.largest = largest.Int64
		if err := in.readSequence(t); err != nil {
			return err
		}
	}
	return nil
}

// key is the moved column of a table that is its key or, of several, the first
// one.
func (in *inspection) key(t *table) *column {
	for _, c := range t.columns {
		if c.key > 0 && in.moved[c.id] {
			return c
		}
	}
	return nil
}

func (in *inspection) readSequence(t *table) error {
	if _, ok := withoutAutoincrement(t.text); !ok {
		return nil
	}
	return in.each("SELECT seq FROM main.sqlite_sequence WHERE name = ?", func(rows *sql.Rows) error {
		return rows.Scan(&t.sequence)
	}, t.name)
}
