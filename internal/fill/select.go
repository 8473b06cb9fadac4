package fill

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// selectKeys adds the tagged columns to a statement that selects other columns. Otherwise
// GORM would insert the row without its key, and the database would choose another key or
// none. selectKeys does not add a column that the statement omits. It returns the columns
// that the statement itself, without this addition, selects (true) and omits (false). It
// returns nil if the statement has neither Select nor Omit.
func selectKeys(stmt *gorm.Statement, columns []*model.Column) model.Selection {
	if len(stmt.Selects)+len(stmt.Omits) == 0 {
		return nil
	}
	// restricted is set if the statement has a Select other than "*".
	named, restricted := stmt.SelectAndOmitColumns(true, false) // for a create, not for an update
	if !restricted {
		return named
	}
	// Clip makes append copy the array, which statements of the same session share.
	selects := slices.Clip(stmt.Selects)
	for _, c := range columns {
		if _, ok := named[c.Field.DBName]; !ok {
			selects = append(selects, c.Field.DBName)
		}
	}
	stmt.Selects = selects
	return named
}

// checkOmitted rejects a statement that omits a tagged column whose value is set in the
// struct, because the row would get another value or none. It also rejects a statement
// that omits a primary key, because SQLite would choose a number that a generator may
// issue later, and MySQL stores 0 if sql_mode is empty. It accepts a key that the model
// leaves to the database, because GORM reads that key back. If it accepts an omitted column,
// it sets omits in the note, so that checkSent does not blame a callback for the omission.
func checkOmitted(stmt *gorm.Statement, m *model.Model, selected model.Selection) error {
	if selected == nil {
		return nil
	}
	for _, c := range m.Columns {
		switch {
		case !selected.Omits(c):
		case readsBack(stmt, c):
			noteForWriting(stmt).omits = true
		case c.Field.PrimaryKey && !c.Field.HasDefaultValue:
			return fmt.Errorf("the statement omits the key %s, and the row would get another key than the struct, or none: leave it out of Omit, or use Skip if the database assigns it", c.Field.BindName())
		case hasValue(stmt, c):
			return fmt.Errorf("the statement omits %s, which the struct has and the row would not: leave it out of Omit, or set it to 0", c.Field.BindName())
		default:
			noteForWriting(stmt).omits = true
		}
	}
	return nil
}

// readsBack reports whether GORM reads the value of the column after the INSERT, because
// the database chooses its default. GORM reads it by RETURNING, except for a list of maps.
// On a database without RETURNING, GORM writes the key that the database assigned into a
// single map.
func readsBack(stmt *gorm.Statement, c *model.Column) bool {
	return c.Field.HasDefaultValue && !isMaps(stmt) && (gormAddsReturning(stmt) || stmt.ReflectValue.Kind() == reflect.Map)
}

// hasValue reports whether at least one row has a value in the column.
func hasValue(stmt *gorm.Statement, c *model.Column) bool {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return slices.ContainsFunc(maps, func(values map[string]any) bool {
			return !isUnset(values[nameIn(values, c.Field)])
		})
	}
	rows, err := rowview.Of(stmt)
	return err == nil && rows.Contain(func(row reflect.Value) bool { return !c.Unset(row) })
}
