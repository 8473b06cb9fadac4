package check

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checker holds the state of a call of [Models].
type checker struct {
	db     *gorm.DB
	set    *model.Set
	tables map[string]table // by name

	schemas []*schema.Schema
	foreign map[*schema.Field]bool // fields that are checked as foreign keys

	warnings []string // of tables that work, but whose keys an INSERT without a key may duplicate
}

// table returns the columns of a table, which it reads once.
func (c *checker) table(name string) table {
	t, ok := c.tables[name]
	if !ok {
		db := at(c.db, name)
		t.columns, t.err = readColumns(db, name)
		if t.err == nil {
			t.version, t.err = version(db)
		}
		if len(t.columns) > 0 && t.err == nil {
			t.err = readRandom(db, name, t)
		}
		t.err = tableError(name, t.err)
		c.tables[name] = t
	}
	return t
}

// live returns the column in the table, or nil if there is none. A missing table is not
// an error, because it may still be migrated.
func (c *checker) live(column *model.Column) (*liveColumn, error) {
	s := column.Field.Schema
	t := c.table(s.Table)
	if t.err != nil || len(t.columns) == 0 {
		return nil, t.err
	}
	if live := t.find(c.db.Name(), column.Field.DBName); live != nil {
		return live, nil
	}
	return nil, mistake(column, fmt.Sprintf("table %s has no column %s: migrate it", s.Table, column.Field.DBName))
}

func mistake(c *model.Column, text string) error {
	return fmt.Errorf("gormflake: model %s, field %s: %s", c.Field.Schema.Name, c.Field.BindName(), text)
}
