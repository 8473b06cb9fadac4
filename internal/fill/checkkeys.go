package fill

import (
	"cmp"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// checkKeys checks that the rows have their keys just before the INSERT. If a hook has
// cleared a key since [Create], the database would store 0 or NULL, or choose a key that a
// generator may issue too. If a hook has changed a key since the row's serial number was made
// from the key, checkKeys replaces the serial number.
func checkKeys(stmt *gorm.Statement, m *model.Model) error {
	selected := selectKeys(stmt, m.Columns)
	if err := checkOmitted(stmt, m, selected); err != nil {
		return fmt.Errorf("model %s: %w", stmt.Schema.Name, err)
	}
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return checkMaps(stmt, m, maps, selected)
	}
	rows, err := rowview.Of(stmt)
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		g = g.Selected(selected) // without the columns that the statement omits
		if err := renumber(stmt, g, rows); err != nil {
			return err
		}
		if _, lack := needs(rows, g); lack {
			// If checkSet finds no unset key, another goroutine has set it in the meantime.
			return cmp.Or(checkSet(rows, slices.Concat(g.Keys, g.Serials), byHook), errModified)
		}
	}
	return nil
}

// checkSkipped checks the rows of a create whose context is from [guard.Skip]. The plugin
// sets no keys in such a create, because the caller or the database sets them. checkSkipped
// rejects a primary key that the statement would write as 0 or NULL.
func checkSkipped(stmt *gorm.Statement, m *model.Model) error {
	if stmt.DryRun { // stores no row
		return nil
	}
	named, restricted := stmt.SelectAndOmitColumns(true, false) // for a create, not for an update
	maps, isMaps := rowview.Maps(stmt.Dest)
	// Check the primary keys that the statement writes. If a struct has 0 in a column with a
	// default or auto-increment, GORM writes the default or leaves the column to the database.
	// If a map has 0 in such a column, GORM writes the 0.
	columns := slices.DeleteFunc(slices.Clone(m.Columns), func(c *model.Column) bool {
		written, isNamed := named[c.Field.DBName]
		return !c.Primary || !isMaps && c.Field.HasDefaultValue || !written && (isNamed || restricted)
	})
	if !isMaps {
		rows, _ := rowview.Of(stmt) // GORM rejects rows for which this fails
		return checkSet(rows, columns, bySkip)
	}
	for _, c := range columns {
		// If one of the maps has the column, GORM writes NULL for each map that lacks the column.
		// If no map has the column, GORM does not write the column.
		isWritten := slices.ContainsFunc(maps, func(values map[string]any) bool {
			_, found := rowview.ZeroInMap(c.Field, values)
			return found
		})
		for i, values := range maps {
			if zero, found := rowview.ZeroInMap(c.Field, values); isWritten && (zero || !found) {
				return rowError(c, i, len(maps) > 1, missingText(c)+bySkip)
			}
		}
	}
	return nil
}

// These texts end an error about a missing key, with its cause and the fix.
const (
	byHook = "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	bySkip = "Skip leaves it to the caller: set one, or Omit the field if the database assigns it"
)

// checkMaps checks that the maps have their keys, as [checkKeys] does for structs. If a hook
// has changed the key from which a serial number was made, checkMaps rejects the map.
func checkMaps(stmt *gorm.Statement, m *model.Model, maps []map[string]any, selected model.Selection) error {
	// For each map, the key from which its serial number was made. It is empty if no serial
	// number was made.
	numbered := readNote(stmt).numberedKeys
	for i, values := range maps {
		for _, c := range m.Columns {
			if problem := mapProblem(c, values); problem != "" && !selected.Omits(c) {
				return rowError(c, i, len(maps) > 1, problem)
			}
		}
		if len(numbered) == len(maps) && numbered[i] != 0 {
			if err := checkNumbers(m, values, numbered[i]); err != nil {
				return rowError(m.Columns[0], i, len(maps) > 1, err.Error())
			}
		}
	}
	return nil
}

// mapProblem returns the problem with the column's value in the map, or "". An SQL expression
// is a problem in a key, because its result may be 0, or a key that a generator may issue. A
// serial number may be an SQL expression.
func mapProblem(c *model.Column, values map[string]any) string {
	zero, found := rowview.ZeroInMap(c.Field, values)
	switch value := values[nameIn(values, c.Field)]; {
	case !found: // Create has written the value into the map, so a hook has removed the value
		return missingText(c) + byHook
	case zero:
		return missingText(c) + "the map has 0 for it: leave it out for the plugin to fill, or set a key"
	case isExpression(value) && c.Serial == nil:
		return "the map has an SQL expression as the key, which cannot be checked: leave it out for the plugin to fill, or set a key"
	}
	return ""
}

// isExpression reports whether GORM writes the value as SQL, for example gorm.Expr("x + 1").
func isExpression(value any) bool {
	switch value.(type) {
	case clause.Expression, gorm.Valuer, *gorm.DB:
		return true
	}
	return false
}

// checkSet returns an error for the first row in which one of the columns is unset. cause is
// the end of the error, such as byHook. checkSet skips nil elements, which GORM rejects.
func checkSet(rows rowview.Rows, columns []*model.Column, cause string) error {
	for i := range rows.N {
		row := rows.At(i)
		for _, c := range columns {
			if row.IsValid() && c.Unset(row) {
				return rowError(c, i, rows.Many, missingText(c)+cause)
			}
		}
	}
	return nil
}

// missingText begins the error for a row without a value in the column.
func missingText(c *model.Column) string {
	if c.Serial != nil {
		return "the row has no serial number: "
	}
	return "the row has no key: "
}
