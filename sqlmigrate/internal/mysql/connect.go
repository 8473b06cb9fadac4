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

// A connector computes the connected set. The columns of this set hold the same keys,
// because they refer to each other, so their types must stay equal. It follows references
// from column to column, and reads the tables to which they lead.
type connector struct {
	*graph
	engine.Findings

	references []engine.Reference // references in addition to the foreign keys of the database
	placed     []*column          // the columns that the present call of connect has added to the set
}

// readGraph returns the graph of a plan. It has the keys of the requested tables, the
// columns that an unfinished run has changed, and all columns that references connect with
// them.
func readGraph(ctx context.Context, r *mycatalog.Reader, want engine.Request) (*graph, engine.Findings, error) {
	g := &graph{Reader: r, parks: want.Park, columns: map[*mycatalog.Column]*column{}}
	n := &connector{graph: g, references: want.References}
	var err error
	if g.moved, err = n.requestedKeys(ctx, want.Tables); err == nil {
		g.resumed, err = n.unfinishedColumns(ctx)
	}
	g.dropped = g.findDropped()
	return g, n.Findings, err
}

// requestedKeys returns the keys of the requested tables, and all columns that references
// connect with them. The plan also moves connected keys of tables that were not requested.
// requestedKeys adds a note on each of these keys that the database assigns.
func (n *connector) requestedKeys(ctx context.Context, names []plan.TableName) ([]*column, error) {
	requested := map[*mycatalog.Table]bool{}
	var keys []*mycatalog.Column
	for _, name := range names {
		t, err := n.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		requested[t] = true
		keys = append(keys, n.keyOf(t)...)
	}
	moved, err := n.connect(ctx, keys)
	for _, c := range moved {
		if c.assignedBy() != "" && !requested[c.Table] {
			n.Note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", c.Table)
		}
	}
	return moved, err
}

// keyOf returns the column of the primary key that is moved, in a list of one column. If
// the primary key has several columns, this is the column with AUTO_INCREMENT, or else the
// only integer column, unless its default is computed. The other columns have another
// meaning, such as the tenant.
//
// keyOf returns no column, and adds a blocker, if there is no primary key or if the key
// has no integer column. If it cannot tell which column is the ID, it returns no column
// and adds a note.
func (n *connector) keyOf(t *mycatalog.Table) []*mycatalog.Column {
	key := t.Key()
	if len(key) == 0 || isGeneratedKey(key[0]) {
		n.Block(t.TableName, "table "+t.String(), "it has no primary key", "give it one, or leave it out")
		return nil
	}
	if i := slices.IndexFunc(key, func(c *mycatalog.Column) bool { return c.Definition.Auto() }); i >= 0 {
		return key[i : i+1]
	}
	integers := slices.DeleteFunc(slices.Clone(key), func(c *mycatalog.Column) bool { return c.Integer().Base == "" })
	// A computed default, such as the tenant of the session, shows that the column is not the ID.
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

// isGeneratedKey reports whether the server itself has added the primary key, as MySQL
// does with the setting sql_generate_invisible_primary_key. No program knows such a key,
// so a plan must not move it.
func isGeneratedKey(key *mycatalog.Column) bool {
	return key.Name == "my_row_id" && key.Definition.Has("INVISIBLE")
}

// unfinishedColumns returns the columns that an unfinished run has recorded in the journal,
// and all columns connected with them, so that this plan completes that run. It leaves out
// the columns that connect has returned before. For a foreign key in the journal there is
// nothing to return, because n.Table has already restored the foreign key in the definition
// of its table.
func (n *connector) unfinishedColumns(ctx context.Context) ([]*column, error) {
	if !n.Journal.Exists {
		return nil, nil
	}
	n.Note("An earlier run has stopped half-way, as table %s of database %s says. This plan completes it, whatever it was for.", mycatalog.JournalTable, n.Database)
	var columns []*mycatalog.Column
	for _, e := range n.Journal.Entries {
		t, err := n.Table(ctx, e.Table)
		if err != nil { // for example because somebody has dropped the table since
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
// direction. It leaves out columns that an earlier call has returned. It also sets the new
// types of the columns that it returns.
func (n *connector) connect(ctx context.Context, columns []*mycatalog.Column) ([]*column, error) {
	n.placed = nil
	for _, c := range columns {
		// n.placed[first:] are c and the columns connected with c. The list grows while follow
		// adds such columns. It is empty if c has been in the set before.
		first := len(n.placed)
		n.place(c)
		for i := first; i < len(n.placed); i++ {
			if err := n.follow(ctx, n.placed[i]); err != nil {
				return nil, err
			}
		}
		setNewTypes(n.placed[first:])
	}
	return n.placed, nil
}

// place returns the column of the connected set for c. It adds c to the set, and to
// n.placed, if it is not in the set yet.
func (n *connector) place(c *mycatalog.Column) *column {
	known := n.columns[c]
	if known == nil {
		known = &column{Column: c}
		n.columns[c], n.placed = known, append(n.placed, known)
	}
	return known
}

// setNewTypes sets the new types of columns that are connected with each other. A narrow
// column becomes bigint. Foreign keys require equal types, and a bigint unsigned does not
// change, so a narrow unsigned column becomes bigint unsigned if one of the columns is
// bigint unsigned. A narrow signed column becomes bigint even then. Only a reference
// without a foreign key can connect it with a bigint unsigned, and such a reference does
// not require equal types.
func setNewTypes(connected []*column) {
	unsigned := slices.ContainsFunc(connected, func(c *column) bool { return c.Integer() == mycatalog.UnsignedBigint })
	for _, c := range connected {
		if t := c.Integer(); t.Base != "" && t.Base != "bigint" {
			c.newType = mycatalog.Integer{Base: "bigint", Unsigned: unsigned && t.Unsigned}
		}
	}
}

// follow adds to the set the columns that refer to c, and the columns to which c refers,
// by a foreign key or by a reference of the request. To find the foreign keys to c, it
// reads the tables that have a foreign key to the table of c, as n.Pairs lists them.
func (n *connector) follow(ctx context.Context, c *column) error {
	// The foreign keys of the table of c, and of the tables that refer to it.
	foreign := slices.Clone(c.Table.Foreign)
	for _, p := range n.Pairs {
		if p.Parent == c.Table.TableName && p.Child != p.Parent { // c.Table.Foreign has the foreign keys of the table to itself
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
	// is reports whether the column with this name in table t is c.
	is := func(t plan.TableName, name string) bool {
		return n.Normalize(t) == c.Table.TableName && strings.EqualFold(name, c.Name)
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

// link adds both columns of a reference to the set, and records that the first refers to
// the second. It ignores a reference from or to a view, because the columns of a view get
// the types of the tables below.
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
