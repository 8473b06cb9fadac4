package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A connector follows references from column to column, and reads the tables to which
// they lead.
type connector struct {
	*graph
	engine.Findings

	references []engine.Reference // references in addition to the foreign keys of the database
	found      []*column          // the columns that the present call of connect has placed
}

// connect returns the graph of the requested tables, and of the tables of an unfinished
// run, with all columns that references connect with them.
func connect(ctx context.Context, r *mycatalog.Reader, want engine.Request) (*graph, engine.Findings, error) {
	g := &graph{Reader: r, parks: want.Park, columns: map[*mycatalog.Column]*column{}}
	n := &connector{graph: g, references: want.References}
	var err error
	if g.moved, err = n.wanted(ctx, want.Tables); err == nil {
		g.resumed, err = n.unfinished(ctx)
	}
	g.dropped = g.findDropped()
	return g, n.Findings, err
}

func (n *connector) wanted(ctx context.Context, names []plan.TableName) ([]*column, error) {
	asked := map[*mycatalog.Table]bool{}
	var keys []*mycatalog.Column
	for _, name := range names {
		t, err := n.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		asked[t] = true
		keys = append(keys, n.keyOf(t)...)
	}
	moved, err := n.connect(ctx, keys)
	for _, c := range moved {
		if c.assigned() != "" && !asked[c.Table] {
			n.Note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", c.Table)
		}
	}
	return moved, err
}

// keyOf returns the column of the primary key that is moved, or no column. If the primary
// key has several columns, that is the column that the database assigns, or else the only
// integer whose default is not computed. The other columns have another meaning, such as
// the tenant. If there are several integers, it adds a note, because it cannot tell which
// is the ID.
func (n *connector) keyOf(t *mycatalog.Table) []*mycatalog.Column {
	key := t.Key()
	if len(key) == 0 || isMadeUp(key[0]) {
		n.Block(t.TableName, "table "+t.String(), "it has no primary key", "give it one, or leave it out")
		return nil
	}
	if i := slices.IndexFunc(key, func(c *mycatalog.Column) bool { return c.Definition.Auto() }); i >= 0 {
		return key[i : i+1]
	}
	integers := slices.DeleteFunc(slices.Clone(key), func(c *mycatalog.Column) bool { return c.Integer().Base == "" })
	switch computed := len(integers) == 1 && len(key) > 1 && integers[0].Computed(); {
	case len(integers) == 0:
		n.Block(t.TableName, "column "+key[0].Name, "its type is "+key[0].Type+", and only keys of integer types can be moved",
			"give the table an integer key, or leave it out")
	case len(integers) == 1 && !computed:
		return integers
	default:
		n.Note(engine.CompositeNote, t, len(key))
	}
	return nil
}

// isMadeUp reports whether the server generated the primary key because
// sql_generate_invisible_primary_key is on. No program knows such a key.
func isMadeUp(key *mycatalog.Column) bool {
	return key.Name == "my_row_id" && key.Definition.Has("INVISIBLE")
}

// unfinished returns the columns of a run that did not complete, and all columns
// connected with them.
func (n *connector) unfinished(ctx context.Context) ([]*column, error) {
	if !n.Journal.Exists {
		return nil, nil
	}
	n.Note("An earlier run has stopped half-way, as table %s of database %s says. This plan completes it, whatever it was for.", mycatalog.JournalTable, n.Database)
	var columns []*mycatalog.Column
	for _, e := range n.Journal.Entries {
		t, err := n.Table(ctx, e.Table)
		if err != nil {
			n.Note("What table %s says of table %s is left out: %v.", mycatalog.JournalTable, e.Table, err)
			continue
		}
		if c := t.Column(e.Name); c != nil && e.Kind == mycatalog.ColumnEntry {
			columns = append(columns, c)
		}
	}
	return n.connect(ctx, columns)
}

// connect returns columns, and all columns that references connect with them in either
// direction. It also decides on their types.
func (n *connector) connect(ctx context.Context, columns []*mycatalog.Column) ([]*column, error) {
	n.found = nil
	for _, c := range columns {
		first := len(n.found)
		n.place(c)
		for i := first; i < len(n.found); i++ {
			if err := n.follow(ctx, n.found[i]); err != nil {
				return nil, err
			}
		}
		widen(n.found[first:])
	}
	return n.found, nil
}

// place adds a column to the connected set, unless it is there already.
func (n *connector) place(c *mycatalog.Column) *column {
	placed := n.columns[c]
	if placed == nil {
		placed = &column{Column: c}
		n.columns[c], n.found = placed, append(n.found, placed)
	}
	return placed
}

// widen sets the new types of connected columns. Foreign keys require that they are
// equal.
func widen(connected []*column) {
	unsigned := slices.ContainsFunc(connected, func(c *column) bool { return c.Integer() == mycatalog.UnsignedBigint })
	for _, c := range connected {
		if t := c.Integer(); t.Base != "" && t.Base != "bigint" {
			c.wide = mycatalog.Integer{Base: "bigint", Unsigned: unsigned && t.Unsigned}
		}
	}
}

// follow places the columns that refer to c, and the columns to which c refers.
func (n *connector) follow(ctx context.Context, c *column) error {
	foreign := slices.Clone(c.Table.Foreign)
	for _, p := range n.Pairs {
		if p.Parent == c.Table.TableName && p.Child != p.Parent {
			child, err := n.Table(ctx, p.Child)
			if err != nil {
				return err
			}
			foreign = append(foreign, child.Foreign...)
		}
	}
	references := slices.Clone(n.references)
	for _, f := range foreign {
		for i := range f.Columns {
			references = append(references, engine.Reference{Table: f.Child, Column: f.Columns[i], ToTable: f.Parent, ToColumn: f.Refers[i]})
		}
	}
	is := func(t plan.TableName, name string) bool {
		return n.Normal(t) == c.Table.TableName && strings.EqualFold(name, c.Name)
	}
	for _, r := range references {
		if is(r.Table, r.Column) || is(r.ToTable, r.ToColumn) {
			if err := n.link(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// link places both columns of a reference. It ignores a reference of a view, because the
// columns of a view get the types of the tables below.
func (n *connector) link(ctx context.Context, r engine.Reference) error {
	from, errFrom := n.Column(ctx, r.Table, r.Column)
	to, errTo := n.Column(ctx, r.ToTable, r.ToColumn)
	if err := errors.Join(errFrom, errTo); errors.Is(err, mycatalog.ErrView) {
		return nil
	} else if err != nil {
		return err
	}
	child, parent := n.place(from), n.place(to)
	if child != parent {
		child.refers = engine.AppendNew(child.refers, parent)
	}
	return nil
}
