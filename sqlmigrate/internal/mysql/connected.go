package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A pair is a table that refers to another one by a foreign key.
type pair struct{ child, parent engine.TableName }

const pairs = "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME " +
	"FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL"

// readPairs asks for all databases, because a foreign key can come from any.
func (in *inspection) readPairs() error {
	err := in.query(pairs, func(scan func(...any) error) error {
		var p pair
		if err := scan(&p.child.Schema, &p.child.Name, &p.parent.Schema, &p.parent.Name); err != nil {
			return err
		}
		in.pairs = append(in.pairs, pair{in.normal(p.child), in.normal(p.parent)})
		return nil
	})
	if err == nil {
		err = in.noneSkipped()
	}
	if err != nil {
		return fmt.Errorf("sqlmigrate: list the foreign keys: %w", err)
	}
	in.pairs = append(in.pairs, in.journal.pairs()...)
	return nil
}

// noneSkipped looks for the warning with which MariaDB leaves out a table that
// is being changed: its foreign keys would be missing.
func (in *inspection) noneSkipped() error {
	const skipped = 1684
	return in.query("SHOW WARNINGS", func(scan func(...any) error) error {
		var level, text string
		var number int
		if err := scan(&level, &number, &text); err != nil {
			return err
		}
		if number == skipped && strings.Contains(text, in.database) {
			return fmt.Errorf("%s: try again when that has ended", text)
		}
		return nil
	})
}

// readWanted finds the keys that were asked for and what is connected with
// them.
func (in *inspection) readWanted() error {
	asked := map[*table]bool{}
	var keys []*column
	for _, name := range in.want.Tables {
		t, err := in.table(name)
		if err != nil {
			return err
		}
		asked[t] = true
		keys = append(keys, in.wantedKey(t)...)
	}
	if err := in.connect(keys, &in.moved); err != nil {
		return err
	}
	for _, c := range in.moved {
		if c.assigned() != "" && !asked[c.table] {
			in.note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", c.table.name)
		}
	}
	return nil
}

// wantedKey is the table's key: of several columns that which the database
// assigns, or else the only integer. The others say something else, such as the
// tenant, and of several integers there is no telling which is which.
func (in *inspection) wantedKey(t *table) []*column {
	key := t.key()
	if len(key) == 0 {
		in.block(t, "table "+t.name.String(), "it has no primary key", "give it one, or leave it out")
		return nil
	}
	if i := slices.IndexFunc(key, func(c *column) bool { return c.definition.auto() >= 0 }); i >= 0 {
		return key[i : i+1]
	}
	integers := slices.DeleteFunc(slices.Clone(key), func(c *column) bool { return c.typ().base == "" })
	switch len(integers) {
	case 0:
		in.block(t, "column "+key[0].name, "its type is "+key[0].columnType+", and only keys of integer types can be moved",
			"give the table an integer key, or leave it out")
	case 1:
		return integers
	default:
		in.note(engine.CompositeNote, t.name, len(key))
	}
	return nil
}

// readUnfinished finds what a run that has stopped half-way was about.
func (in *inspection) readUnfinished() error {
	if in.journal == nil {
		return nil
	}
	in.note("An earlier run has stopped half-way, as table %s of database %s says. This plan completes it, whatever it was for.", journalTable, in.database)
	var columns []*column
	for _, e := range in.journal.entries {
		t, err := in.table(e.table)
		if err != nil {
			in.note("What table %s says of table %s is left out: %v.", journalTable, e.table, err)
			continue
		}
		if c := t.column(e.name); c != nil && e.kind == columnEntry {
			columns = append(columns, c)
		}
	}
	return in.connect(columns, &in.resumed)
}

// connect follows references from columns, in both directions, and adds what it
// comes upon to found.
func (in *inspection) connect(columns []*column, found *[]*column) error {
	for _, c := range columns {
		if in.has(c) {
			continue
		}
		first := len(*found)
		*found = append(*found, c)
		for i := first; i < len(*found); i++ {
			neighbours, err := in.neighbours((*found)[i])
			if err != nil {
				return err
			}
			for _, n := range neighbours {
				if !in.has(n) {
					*found = append(*found, n)
				}
			}
		}
		in.widen((*found)[first:])
	}
	return nil
}

func (in *inspection) has(c *column) bool {
	return slices.Contains(in.moved, c) || slices.Contains(in.resumed, c)
}

// neighbours are the columns that refer to c or that it refers to.
func (in *inspection) neighbours(c *column) ([]*column, error) {
	keys := slices.Clone(c.table.foreign)
	for _, p := range in.pairs {
		if p.parent != c.table.name || p.child == c.table.name {
			continue
		}
		child, err := in.table(p.child)
		if err != nil {
			return nil, err
		}
		keys = append(keys, child.foreign...)
	}
	references := slices.Clone(in.want.References)
	for _, f := range keys {
		for i := range f.columns {
			references = append(references, engine.Reference{Table: f.child, Column: f.columns[i], ToTable: f.parent, ToColumn: f.refers[i]})
		}
	}
	var found []*column
	for _, r := range references {
		other, err := in.otherEnd(c, r)
		if err != nil {
			return nil, err
		}
		if other != nil {
			found = append(found, other)
		}
	}
	return found, nil
}

// otherEnd is nil if the reference has nothing to do with c, or is a view's:
// its columns follow.
func (in *inspection) otherEnd(c *column, r engine.Reference) (*column, error) {
	is := func(t engine.TableName, column string) bool {
		return in.normal(t) == c.table.name && strings.EqualFold(column, c.name)
	}
	child, parent := is(r.Table, r.Column), is(r.ToTable, r.ToColumn)
	if !child && !parent {
		return nil, nil
	}
	from, errFrom := in.end(r.Table, r.Column)
	to, errTo := in.end(r.ToTable, r.ToColumn)
	if err := errors.Join(errFrom, errTo); errors.Is(err, errMySQLView) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if from != to && !slices.Contains(from.refers, to) {
		from.refers = append(from.refers, to)
	}
	if child {
		return to, nil
	}
	return from, nil
}

func (in *inspection) end(table engine.TableName, name string) (*column, error) {
	t, err := in.table(table)
	if err != nil {
		return nil, err
	}
	c := t.column(name)
	if c == nil {
		return nil, fmt.Errorf("sqlmigrate: table %s has no column %s", table, name)
	}
	return c, nil
}

// widen decides on the types of connected columns, which have to be alike.
func (in *inspection) widen(connected []*column) {
	unsigned := slices.ContainsFunc(connected, func(c *column) bool { return c.typ() == integerType{"bigint", true} })
	for _, c := range connected {
		if t := c.typ(); t.base != "" && t.base != "bigint" {
			c.wide = integerType{"bigint", unsigned && t.unsigned}
		}
	}
}
