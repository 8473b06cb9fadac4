package check

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checker holds the state of one call of [Models]. The state consists of the tables that the
// call has read, and the models and foreign keys that it has checked.
type checker struct {
	db     *gorm.DB
	set    *model.Set
	tables map[string]table // by name

	schemas []*schema.Schema
	foreign map[*schema.Field]bool // fields that are checked as foreign keys

	warnings []string // of SQLite tables that assign a key to a row without one
}

// readTable returns the description of a table. It queries the database only in the first
// call for a table. If a query fails, the field err of the description is the error.
func (c *checker) readTable(name string) table {
	t, ok := c.tables[name]
	if !ok {
		db := writeSession(c.db, name)
		t.columns, t.err = readColumns(db, name)
		if t.err == nil {
			t.version, t.err = version(db)
		}
		if len(t.columns) > 0 && t.err == nil {
			t.err = markAutoRandom(db, name, t)
		}
		t.err = tableError(name, t.err)
		c.tables[name] = t
	}
	return t
}

// findColumn returns the column in the table. If the table does not exist, it returns nil and
// no error, because the program may still migrate the table. If the table exists without the
// column, or cannot be read, findColumn returns nil and an error.
func (c *checker) findColumn(column *model.Column) (*liveColumn, error) {
	s := column.Field.Schema
	t := c.readTable(s.Table)
	if t.err != nil || len(t.columns) == 0 {
		return nil, t.err
	}
	if live := t.find(c.db.Name(), column.Field.DBName); live != nil {
		return live, nil
	}
	return nil, columnError(column, fmt.Sprintf("table %s has no column %s: migrate it", s.Table, column.Field.DBName))
}

// columnError returns an error that names the model and the field of the column.
func columnError(c *model.Column, text string) error {
	return fmt.Errorf("gormflake: model %s, field %s: %s", c.Field.Schema.Name, c.Field.BindName(), text)
}
