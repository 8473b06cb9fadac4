package sqlite

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A table is one of the database main.
type table struct {
	name, text string
	virtual    bool
	columns    []*column
	keyIndex   bool // the primary key has an index, so it is not the rowid
	sequence   sql.NullInt64
	rows       int64
	largest    int64
	odd        int64 // keys that are not integers
	smallest   sql.NullInt64
}

type column struct {
	id     columnID
	name   string
	typ    string
	key    int // position in the primary key, from 1
	refers []edge
}

// A columnID has folded names.
type columnID struct{ table, column string }

// An edge leads from a column to what it refers to.
type edge struct {
	from, to columnID
	enforced bool // by a constraint
	cascades bool // when rows are deleted
}

type trigger struct{ name, table, text string }

const (
	tablesSQL = `SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND sql IS NOT NULL`

	columnsSQL = `SELECT name, type, pk FROM pragma_table_xinfo(?, 'main') ORDER BY cid`

	keyIndexSQL = `SELECT EXISTS (SELECT 1 FROM pragma_index_list(?, 'main') WHERE origin = 'pk')`

	foreignKeysSQL = `SELECT id, seq, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq`

	viewsSQL = `SELECT name FROM main.sqlite_master WHERE type = 'view'`

	triggersSQL = `SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger' ORDER BY name`
)

func (in *inspection) readTables() error {
	err := in.each(tablesSQL, func(rows *sql.Rows) error {
		t := &table{}
		if err := rows.Scan(&t.name, &t.text); err != nil {
			return err
		}
		// Asked for its columns, a virtual table wants its module.
		words := strings.Fields(fold(t.text))
		t.virtual = len(words) > 1 && words[1] == "virtual"
		in.tables[fold(t.name)] = t
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range in.tables {
		if !t.virtual {
			if err := in.readColumns(t); err != nil {
				return err
			}
		}
	}
	err = in.each(viewsSQL, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		in.views[fold(name)] = true
		return err
	})
	if err != nil {
		return err
	}
	return in.each(triggersSQL, func(rows *sql.Rows) error {
		var t trigger
		err := rows.Scan(&t.name, &t.table, &t.text)
		in.triggers = append(in.triggers, t)
		return err
	})
}

func (in *inspection) readColumns(t *table) error {
	err := in.each(columnsSQL, func(rows *sql.Rows) error {
		c := &column{}
		if err := rows.Scan(&c.name, &c.typ, &c.key); err != nil {
			return err
		}
		c.id = columnID{fold(t.name), fold(c.name)}
		t.columns = append(t.columns, c)
		return nil
	}, t.name)
	if err != nil {
		return err
	}
	return in.each(keyIndexSQL, func(rows *sql.Rows) error { return rows.Scan(&t.keyIndex) }, t.name)
}

func (in *inspection) readReferences() error {
	for _, t := range in.tables {
		if t.virtual {
			continue
		}
		err := in.each(foreignKeysSQL, func(rows *sql.Rows) error {
			var id, seq int
			var table, from, onDelete string
			var to sql.NullString
			if err := rows.Scan(&id, &seq, &table, &from, &to, &onDelete); err != nil {
				return err
			}
			target := columnID{fold(table), fold(to.String)}
			if parent := in.tables[target.table]; !to.Valid && parent != nil {
				target.column = parent.keyAt(seq + 1)
			}
			in.edge(edge{columnID{fold(t.name), fold(from)}, target, true, onDelete == "CASCADE"})
			return nil
		}, t.name)
		if err != nil {
			return err
		}
	}
	for _, r := range in.want.References {
		if in.isView(r.Table) || in.isView(r.ToTable) {
			continue // it follows its table
		}
		from, err := in.wanted(r.Table)
		if err != nil {
			return err
		}
		to, err := in.wanted(r.ToTable)
		if err != nil {
			return err
		}
		in.edge(edge{
			from: columnID{fold(from.name), fold(r.Column)},
			to:   columnID{fold(to.name), fold(r.ToColumn)},
		})
	}
	return nil
}

func (in *inspection) isView(name engine.TableName) bool {
	return (name.Schema == "" || fold(name.Schema) == "main") && in.views[fold(name.Name)]
}

// edge leaves out what refers to a table that does not exist.
func (in *inspection) edge(e edge) {
	column := in.column(e.from)
	if column == nil || in.column(e.to) == nil {
		return
	}
	in.edges = append(in.edges, e)
	for i, known := range column.refers {
		if known.to == e.to {
			column.refers[i].enforced = known.enforced || e.enforced
			return
		}
	}
	column.refers = append(column.refers, e)
}

func (in *inspection) column(id columnID) *column {
	t := in.tables[id.table]
	if t == nil {
		return nil
	}
	for _, c := range t.columns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// wanted finds a table that was asked for.
func (in *inspection) wanted(name engine.TableName) (*table, error) {
	if name.Schema != "" && fold(name.Schema) != "main" {
		return nil, fmt.Errorf("sqlmigrate: table %s is not in the database main: open its file as a database of its own", name)
	}
	t := in.tables[fold(name.Name)]
	switch {
	case t == nil:
		return nil, fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, and not a view", name)
	case strings.HasPrefix(fold(t.name), "sqlite_"):
		return nil, fmt.Errorf("sqlmigrate: table %s is SQLite's own", name)
	}
	return t, nil
}

// keyAt is the folded name of a column of the primary key.
func (t *table) keyAt(position int) string {
	for _, c := range t.columns {
		if c.key == position {
			return c.id.column
		}
	}
	return ""
}

func (t *table) keys() []*column {
	var keys []*column
	for _, c := range t.columns {
		if c.key > 0 {
			keys = append(keys, c)
		}
	}
	return keys
}

// rowid reports whether the key is the rowid, which SQLite assigns if it is
// omitted.
func (t *table) rowid() bool {
	keys := t.keys()
	return len(keys) == 1 && !t.keyIndex && fold(keys[0].typ) == "integer"
}

// integer is SQLite's own rule for the affinity of a type.
func (c *column) integer() bool { return strings.Contains(fold(c.typ), "int") }
