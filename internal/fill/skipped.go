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
	named, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, c := range m.Columns {
		written, given := named[c.Field.DBName]
		if !c.Primary || c.Serial != nil || c.Field.HasDefaultValue || given && !written || !given && restricted {
			continue
		}
		i, many := zeroKey(stmt, c)
		if i < 0 {
			continue
		}
		if assigned, err := assigns(stmt, c); assigned || err != nil {
			return err
		}
		return at(c, i, many, "the row has no key: Skip leaves it to the caller, and the database would store 0: set a key, or Omit the field if the database assigns one")
	}
	return nil
}

// zeroKey returns the first row whose key is 0, or -1. NULL is not: the database
// rejects it, or assigns a key.
func zeroKey(stmt *gorm.Statement, c *model.Column) (i int, many bool) {
	if maps, ok := guard.Maps(stmt.Dest); ok {
		for i, values := range maps {
			value, found := values[nameIn(c.Field.Schema, values, c.Field)]
			if found && isZero(value) {
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
		if value, _ := c.Field.ValueOf(stmt.Context, row); isZero(value) {
			return i, rows.Many
		}
	}
	return -1, false
}

func isZero(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	return err == nil && v != nil && reflect.ValueOf(v).IsZero()
}

// assignsSQL asks whether a 0 makes MySQL assign a key: in a column of
// AUTO_INCREMENT, unless the session takes 0 for a key.
const assignsSQL = `SELECT EXTRA LIKE '%auto_increment%' AND @@SESSION.sql_mode NOT LIKE '%NO_AUTO_VALUE_ON_ZERO%'
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?`

// assigns reports whether the database assigns a key to a row that has 0. Of other
// databases than those that the plugin is tested on nothing is known.
func assigns(stmt *gorm.Statement, c *model.Column) (bool, error) {
	switch {
	case stmt.DryRun:
		return true, nil
	case stmt.Name() != "mysql":
		return stmt.Name() != "sqlite" && stmt.Name() != "postgres", nil
	}
	schema, table, found := strings.Cut(stmt.Table, ".")
	if !found {
		schema, table = "", schema
	}
	var yes bool
	err := stmt.ConnPool.QueryRowContext(stmt.Context, assignsSQL, schema, table, c.Field.DBName).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("model %s, field %s: cannot see whether the database assigns a key in the place of 0: %w", c.Field.Schema.Name, c.Field.BindName(), err)
	}
	return yes, nil
}
