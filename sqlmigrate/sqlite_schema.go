package sqlmigrate

import (
	"database/sql"
	"fmt"
	"strings"
)

// A sqliteTable is one of the database main.
type sqliteTable struct {
	name, text string
	virtual    bool
	columns    []*sqliteColumn
	keyIndex   bool // the primary key has an index, so it is not the rowid
	sequence   sql.NullInt64
	rows       int64
	largest    int64
	odd        int64 // keys that are no integers
	smallest   sql.NullInt64
}

type sqliteColumn struct {
	id     sqliteColumnID
	name   string
	typ    string
	key    int // position in the primary key, from 1
	refers []sqliteEdge
}

// A sqliteColumnID has folded names.
type sqliteColumnID struct{ table, column string }

// A sqliteEdge leads from a column to what it refers to.
type sqliteEdge struct {
	from, to sqliteColumnID
	enforced bool // by a constraint
	cascades bool // when rows are deleted
}

type sqliteTrigger struct{ name, table, text string }

const (
	sqliteTablesSQL = `SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND sql IS NOT NULL`

	sqliteColumnsSQL = `SELECT name, type, pk FROM pragma_table_xinfo(?, 'main') ORDER BY cid`

	sqliteKeyIndexSQL = `SELECT EXISTS (SELECT 1 FROM pragma_index_list(?, 'main') WHERE origin = 'pk')`

	sqliteForeignKeysSQL = `SELECT id, seq, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq`

	sqliteViewsSQL = `SELECT name FROM main.sqlite_master WHERE type = 'view'`

	sqliteTriggersSQL = `SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger' ORDER BY name`
)

func (in *sqliteInspection) readTables() error {
	err := in.each(sqliteTablesSQL, func(rows *sql.Rows) error {
		t := &sqliteTable{}
		if err := rows.Scan(&t.name, &t.text); err != nil {
			return err
		}
		// Asked for its columns, a virtual table wants its module.
		words := strings.Fields(sqliteFold(t.text))
		t.virtual = len(words) > 1 && words[1] == "virtual"
		in.tables[sqliteFold(t.name)] = t
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
	err = in.each(sqliteViewsSQL, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		in.views[sqliteFold(name)] = true
		return err
	})
	if err != nil {
		return err
	}
	return in.each(sqliteTriggersSQL, func(rows *sql.Rows) error {
		var t sqliteTrigger
		err := rows.Scan(&t.name, &t.table, &t.text)
		in.triggers = append(in.triggers, t)
		return err
	})
}

func (in *sqliteInspection) readColumns(t *sqliteTable) error {
	err := in.each(sqliteColumnsSQL, func(rows *sql.Rows) error {
		c := &sqliteColumn{}
		if err := rows.Scan(&c.name, &c.typ, &c.key); err != nil {
			return err
		}
		c.id = sqliteColumnID{sqliteFold(t.name), sqliteFold(c.name)}
		t.columns = append(t.columns, c)
		return nil
	}, t.name)
	if err != nil {
		return err
	}
	return in.each(sqliteKeyIndexSQL, func(rows *sql.Rows) error { return rows.Scan(&t.keyIndex) }, t.name)
}

func (in *sqliteInspection) readReferences() error {
	for _, t := range in.tables {
		if t.virtual {
			continue
		}
		err := in.each(sqliteForeignKeysSQL, func(rows *sql.Rows) error {
			var id, seq int
			var table, from, onDelete string
			var to sql.NullString
			if err := rows.Scan(&id, &seq, &table, &from, &to, &onDelete); err != nil {
				return err
			}
			target := sqliteColumnID{sqliteFold(table), sqliteFold(to.String)}
			if parent := in.tables[target.table]; !to.Valid && parent != nil {
				target.column = parent.keyAt(seq + 1)
			}
			in.edge(sqliteEdge{sqliteColumnID{sqliteFold(t.name), sqliteFold(from)}, target, true, onDelete == "CASCADE"})
			return nil
		}, t.name)
		if err != nil {
			return err
		}
	}
	for _, r := range in.want.references {
		if in.isView(r.table) || in.isView(r.toTable) {
			continue // it follows by itself
		}
		from, err := in.wanted(r.table)
		if err != nil {
			return err
		}
		to, err := in.wanted(r.toTable)
		if err != nil {
			return err
		}
		in.edge(sqliteEdge{
			from: sqliteColumnID{sqliteFold(from.name), sqliteFold(r.column)},
			to:   sqliteColumnID{sqliteFold(to.name), sqliteFold(r.toColumn)},
		})
	}
	return nil
}

func (in *sqliteInspection) isView(name tableName) bool {
	return (name.schema == "" || sqliteFold(name.schema) == "main") && in.views[sqliteFold(name.name)]
}

// edge leaves out what refers to a table that does not exist.
func (in *sqliteInspection) edge(e sqliteEdge) {
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

func (in *sqliteInspection) column(id sqliteColumnID) *sqliteColumn {
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
func (in *sqliteInspection) wanted(name tableName) (*sqliteTable, error) {
	if name.schema != "" && sqliteFold(name.schema) != "main" {
		return nil, fmt.Errorf("sqlmigrate: table %s is not in the database main: open its file as a database of its own", name)
	}
	t := in.tables[sqliteFold(name.name)]
	switch {
	case t == nil:
		return nil, fmt.Errorf("sqlmigrate: there is no table %s: want one that exists, and not a view", name)
	case strings.HasPrefix(sqliteFold(t.name), "sqlite_"):
		return nil, fmt.Errorf("sqlmigrate: table %s is SQLite's own", name)
	}
	return t, nil
}

// keyAt is the folded name of a column of the primary key.
func (t *sqliteTable) keyAt(position int) string {
	for _, c := range t.columns {
		if c.key == position {
			return c.id.column
		}
	}
	return ""
}

func (t *sqliteTable) keys() []*sqliteColumn {
	var keys []*sqliteColumn
	for _, c := range t.columns {
		if c.key > 0 {
			keys = append(keys, c)
		}
	}
	return keys
}

// rowid reports whether the key is the rowid, which SQLite assigns if it is
// omitted.
func (t *sqliteTable) rowid() bool {
	keys := t.keys()
	return len(keys) == 1 && !t.keyIndex && sqliteFold(keys[0].typ) == "integer"
}

// integer is SQLite's own rule for the affinity of a type.
func (c *sqliteColumn) integer() bool { return strings.Contains(sqliteFold(c.typ), "int") }
