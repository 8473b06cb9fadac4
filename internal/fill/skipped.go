package fill

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
)

// lookAtSkipped checks rows that the plugin leaves to their caller: a key of 0 that
// the statement writes is nobody's, unless the column assigns one in its place.
func lookAtSkipped(stmt *gorm.Statement, m *model.Model) error {
	if stmt.DryRun {
		return nil // nothing is stored, and nobody is asked
	}
	named, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, c := range m.Columns {
		written, given := named[c.Field.DBName]
		if !c.Primary || c.Serial != nil || c.Field.HasDefaultValue || given && !written || !given && restricted {
			continue
		}
		for _, v := range unsetValues {
			i, many := rowWith(v.is, stmt, c)
			if i < 0 {
				continue
			}
			if replaced, err := v.replaced(stmt, c); err != nil {
				return err
			} else if !replaced {
				return at(c, i, many, "the row has no key: Skip leaves it to the caller, and the database would store "+v.name+": set a key, or Omit the field if the database assigns one")
			}
		}
	}
	return nil
}

// unsetValues are the keys that a database stores, or in whose place it assigns one.
var unsetValues = []struct {
	name     string
	is       func(value any) bool
	replaced func(*gorm.Statement, *model.Column) (bool, error)
}{{"0", isZero, replacesZero}, {"NULL", isNull, replacesNull}}

// rowWith returns the first row whose key is such a value, or -1.
func rowWith(isUnset func(any) bool, stmt *gorm.Statement, c *model.Column) (i int, many bool) {
	if maps, ok := guard.Maps(stmt.Dest); ok {
		for i, values := range maps {
			value, found := values[nameIn(c.Field.Schema, values, c.Field)]
			if found && isUnset(value) {
				return i, len(maps) > 1
			}
		}
		return -1, false
	}
	rows, err := rowsOf(stmt)
	if err != nil {
		return -1, false // GORM rejects them
	}
	for i := range rows.N {
		row := rows.At(i)
		if !row.IsValid() {
			continue
		}
		if value, _ := c.Field.ValueOf(stmt.Context, row); isUnset(value) {
			return i, rows.Many
		}
	}
	return -1, false
}

func isZero(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	return err == nil && v != nil && reflect.ValueOf(v).IsZero()
}

func isNull(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	return err == nil && v == nil
}

// replacesZeroSQL asks whether a 0 makes MySQL assign a key: in a column of
// AUTO_INCREMENT, unless the session takes 0 for a key.
const replacesZeroSQL = `SELECT EXTRA LIKE '%auto_increment%' AND @@SESSION.sql_mode NOT LIKE '%NO_AUTO_VALUE_ON_ZERO%'
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?`

// replacesZero reports whether the database assigns a key to a row that has 0. Of
// other databases than those that the plugin is tested on nothing is known.
func replacesZero(stmt *gorm.Statement, c *model.Column) (bool, error) {
	if stmt.Name() == "mysql" {
		return ask(stmt, c, replacesZeroSQL)
	}
	return stmt.Name() != "sqlite" && stmt.Name() != "postgres", nil
}

// replacesNullSQL asks whether SQLite assigns a rowid or rejects the row. It stores
// NULL in a primary key of another type, which no other database does.
const replacesNullSQL = `SELECT "notnull" OR type LIKE 'integer' AND (SELECT max(pk) FROM pragma_table_info(?2, NULLIF(?1, ''))) = 1
FROM pragma_table_info(?2, NULLIF(?1, '')) WHERE name = ?3 COLLATE NOCASE`

func replacesNull(stmt *gorm.Statement, c *model.Column) (bool, error) {
	if stmt.Name() == "sqlite" {
		return ask(stmt, c, replacesNullSQL)
	}
	return true, nil
}

// ask asks the database about a column.
func ask(stmt *gorm.Statement, c *model.Column, query string) (yes bool, err error) {
	schema, table, found := strings.Cut(stmt.Table, ".")
	if !found {
		schema, table = "", schema
	}
	err = stmt.ConnPool.QueryRowContext(stmt.Context, query, schema, table, c.Field.DBName).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("model %s, field %s: cannot see whether the database assigns the key that the row lacks: %w", c.Field.Schema.Name, c.Field.BindName(), err)
	}
	return yes, nil
}
