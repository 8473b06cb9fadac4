package mysql

import (
	"cmp"
	"database/sql"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A column is a column of the connected set, which are the keys of the requested tables
// and all columns that references connect with them, over any number of steps.
type column struct {
	*mycatalog.Column

	newType mycatalog.Integer // the type after phase widen; zero if the type does not change
	refers  []*column         // the columns to which it refers
}

// widens reports whether phase widen changes the type of the column.
func (c *column) widens() bool { return c.newType.Base != "" }

// assignedBy returns how the database assigns the key in the column, for example
// "auto_increment", or "" if it does not. The default of a column that refers to another
// key does not count, because the column is not the key of its own table.
func (c *column) assignedBy() string {
	if c.Definition.Auto() || len(c.refers) == 0 {
		return c.Assigned()
	}
	return ""
}

// afterWiden returns the definition of the column after phase widen.
func (c *column) afterWiden() mycatalog.Definition {
	if c.widens() {
		return c.Definition.As(c.newType)
	}
	return c.Definition
}

// from returns the type of the column before phase widen, even if an unfinished run has
// changed it.
func (c *column) from() mycatalog.Integer { return c.Integer() }

// to returns the type of the column after phase widen. It is zero if the type does not
// change.
func (c *column) to() mycatalog.Integer { return c.newType }

// A keyRange holds the smallest and the largest key of a column, limited to values that fit
// the types of the fields. Both are NULL in an empty table.
type keyRange struct {
	smallest sql.NullInt64    // 1 if the smallest key is larger, so that it fits an int64
	largest  sql.Null[uint64] // 0 if the largest key is negative, so that it fits a uint64
}

// last returns the largest key, or the largest int64 if the key is larger.
func (k keyRange) last() types.ID { return types.ID(min(k.largest.V, math.MaxInt64)) }

// A graph holds the tables of the plan and the connected set of their columns. After an
// unfinished run, the graph describes the tables as they were before this run.
type graph struct {
	*mycatalog.Reader

	parks   bool                          // whether phase park replaces detach and guard, so that AUTO_INCREMENT stays
	columns map[*mycatalog.Column]*column // all columns of the plan, by the column that was read
	moved   []*column                     // the requested keys, and all columns that are connected with them

	// resumed are the columns of an unfinished run, and all columns that are connected with
	// them. It leaves out the columns in moved.
	resumed []*column

	keys map[*column]keyRange // of the columns of primary keys in moved that are integers

	// dropped are the foreign keys that have to be dropped while types change, and the
	// foreign keys that an unfinished run has dropped. They are grouped by table. The foreign
	// keys of a table are in the order of their indexes in the table. When the foreign keys are
	// added back, the server may create the indexes again, and this order stays.
	dropped [][]mycatalog.ForeignKey
}

// allColumns returns all columns of the plan, which are those in moved and those in
// resumed.
func (g *graph) allColumns() []*column { return slices.Concat(g.moved, g.resumed) }

// columnsToWiden returns the columns whose type phase widen changes.
func (g *graph) columnsToWiden() []*column {
	return slices.DeleteFunc(g.allColumns(), func(c *column) bool { return !c.widens() })
}

// assignedColumns returns the requested and connected columns that the database assigns.
// It leaves out the columns of an unfinished run, because a plan completes only the phase
// in which this run has stopped, and does not begin the next phases for its tables.
func (g *graph) assignedColumns() []*column {
	return slices.DeleteFunc(slices.Clone(g.moved), func(c *column) bool { return c.assignedBy() == "" })
}

// changedColumns returns the columns whose types change among the columns of the foreign
// key and the columns to which it refers.
func (g *graph) changedColumns(f mycatalog.ForeignKey) []*column {
	var columns []*column
	add := func(t *mycatalog.Table, names []string) {
		for _, name := range names {
			if c := g.columns[t.Column(name)]; c != nil && c.widens() {
				columns = engine.AppendNew(columns, c)
			}
		}
	}
	add(g.Tables[f.Child], f.Columns)
	if parent := g.Tables[f.Parent]; parent != nil { // it may be nil for a foreign key of the journal
		add(parent, f.Refers)
	}
	return columns
}

// findDropped returns the foreign keys for the field dropped, as a list for each table.
// These are the foreign keys that the plan has to drop and add back, because a column on
// either side changes its type. They are also the foreign keys that an unfinished run has
// dropped. The foreign keys of a table are in the order of their indexes, see the field
// dropped.
func (g *graph) findDropped() [][]mycatalog.ForeignKey {
	var dropped [][]mycatalog.ForeignKey
	for _, columns := range byTable(g.allColumns()) {
		t := columns[0].Table
		keys := slices.DeleteFunc(slices.Clone(t.Foreign), func(f mycatalog.ForeignKey) bool { return len(g.changedColumns(f)) == 0 && !g.Journal.Has(f) })
		slices.SortFunc(keys, func(a, b mycatalog.ForeignKey) int {
			return cmp.Or(cmp.Compare(t.IndexOf(a), t.IndexOf(b)), strings.Compare(a.Name, b.Name))
		})
		if len(keys) > 0 {
			dropped = append(dropped, keys)
		}
	}
	return dropped
}

// allDropped returns the dropped foreign keys of all tables.
func (g *graph) allDropped() []mycatalog.ForeignKey { return slices.Concat(g.dropped...) }

// indexesToRebuild returns the definitions of the indexes of a table that phase widen
// drops and creates again. The server has created some indexes for a foreign key without
// being asked. When the foreign key is added back, the server would replace such an index
// by an index with another name or in another place. If phase widen creates the index
// explicitly, the server keeps it. The indexes after it are created again too, so that all
// indexes stay in their order. This takes little time, because phase widen copies the
// table anyway.
func (g *graph) indexesToRebuild(t *mycatalog.Table) []string {
	var indexes []string
	for _, e := range t.Elements {
		// All indexes from the first index of a dropped foreign key on.
		if mycatalog.IsIndex(e) && (len(indexes) > 0 || slices.ContainsFunc(g.allDropped(), func(f mycatalog.ForeignKey) bool {
			return f.Child == t.TableName && mycatalog.Serves(e, f)
		})) {
			indexes = append(indexes, e)
		}
	}
	return indexes
}

// indexName returns the name in the definition of an index, for example ix_user of KEY
// `ix_user` (`user_id`).
func indexName(element string) string { return mycatalog.QuotedNames(element)[0] }

// byTable groups columns by table, without duplicates. The groups are in the order of the
// tables' names.
func byTable(columns []*column) [][]*column {
	groups := map[*mycatalog.Table][]*column{}
	for _, c := range columns {
		groups[c.Table] = engine.AppendNew(groups[c.Table], c)
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b []*column) int {
		return strings.Compare(a[0].Table.String(), b[0].Table.String())
	})
}

// foreignNames returns the names of foreign keys.
func foreignNames(keys []mycatalog.ForeignKey) []string {
	names := make([]string, len(keys))
	for i, f := range keys {
		names[i] = f.Name
	}
	return names
}

// tablesOf returns the tables of the graph in the form in which a plan shows them.
func tablesOf(g *graph) []plan.Table {
	var tables []plan.Table
	for _, columns := range byTable(g.allColumns()) {
		t := columns[0].Table
		table := plan.Table{Schema: t.Schema, Name: t.Name, Rows: t.Rows, Bytes: t.Bytes}
		for _, c := range columns {
			table.MaxKey = max(table.MaxKey, g.keys[c].last())
			table.Columns = append(table.Columns, c.planColumn())
		}
		slices.SortFunc(table.Columns, func(a, b plan.Column) int { return strings.Compare(a.Name, b.Name) })
		tables = append(tables, table)
	}
	return tables
}

// planColumn returns the column in the form in which a plan shows it.
func (c *column) planColumn() plan.Column {
	planned := plan.Column{Name: c.Name, Type: c.Type, Key: c.Primary, Auto: c.assignedBy()}
	// assignedBy leaves a computed default out, because phase detach keeps it. The plan shows
	// such a default if the column is the key of its own table.
	if planned.Auto == "" && c.Primary && len(c.refers) == 0 && c.Computed() {
		planned.Auto = plan.Computed
	}
	if c.widens() {
		planned.To = c.newType.String()
	}
	// If an unfinished run has changed the type already, the plan shows the original
	// type.
	if original := c.Integer(); original.Base != "" && original != mycatalog.IntegerOf(c.Type) {
		planned.Type = original.String()
	}
	for _, to := range c.refers {
		planned.Refers = append(planned.Refers, to.String())
	}
	slices.Sort(planned.Refers)
	return planned
}
