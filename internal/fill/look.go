package fill

import (
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
)

// look checks the rows as they go into the INSERT. Where a hook has cleared a key
// since [Create], the database would store 0 or NULL, or choose a key of its own
// that a generator may issue too.
func look(stmt *gorm.Statement, m *model.Model) error {
	var selected model.Selection
	if len(stmt.Selects)+len(stmt.Omits) > 0 {
		selected, _ = stmt.SelectAndOmitColumns(true, false)
	}
	if maps, ok := guard.Maps(stmt.Dest); ok {
		return lookAtMaps(stmt, m, maps, selected)
	}
	rows, err := rowsOf(stmt)
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		g = g.Selected(selected)
		if err := rows.renumber(stmt, g); err != nil {
			return err
		}
		if _, lack := rows.needs(g); lack {
			return rows.lacking(g)
		}
	}
	return nil
}

const byHook = "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"

// lacking returns the error for the first row that lacks a column.
func (r Rows) lacking(g *model.Group) error {
	for i := range r.N {
		row := r.At(i)
		for _, c := range slices.Concat(g.Keys, g.Serials) {
			if row.IsValid() && c.Unset(row) {
				return at(c, i, r.Many, lacks(c)+byHook)
			}
		}
	}
	return errModified
}

func lacks(c *model.Column) string {
	if c.Serial != nil {
		return "the row has no serial number: "
	}
	return "the row has no key: "
}

// at names the field, and the row where there are several.
func at(c *model.Column, i int, many bool, problem string) error {
	field := c.Field.BindName()
	if many {
		field += fmt.Sprintf(", row %d", i)
	}
	return fmt.Errorf("model %s, field %s: %s", c.Field.Schema.Name, field, problem)
}

func lookAtMaps(stmt *gorm.Statement, m *model.Model, maps []map[string]any, selected model.Selection) error {
	numbered := numberedOf(stmt)
	for i, values := range maps {
		for _, c := range m.Columns {
			if problem := inMap(c, values); problem != "" && !selected.Omits(c) {
				return at(c, i, len(maps) > 1, problem)
			}
		}
		if len(numbered) == len(maps) && numbered[i] != 0 {
			if err := checkNumbers(m, values, numbered[i]); err != nil {
				return at(m.Columns[0], i, len(maps) > 1, err.Error())
			}
		}
	}
	return nil
}

// inMap returns what is wrong with the value of a column, empty if nothing is.
func inMap(c *model.Column, values map[string]any) string {
	zero, found := guard.ZeroInMap(c.Field, values)
	switch value := values[nameIn(c.Field.Schema, values, c.Field)]; {
	case !found:
		return lacks(c) + byHook
	case zero:
		return lacks(c) + "the map has 0 for it: leave it out for the plugin to fill, or set a key"
	case isExpression(value) && c.Serial == nil:
		return "the map has an SQL expression as the key, which cannot be checked: leave it out for the plugin to fill, or set a key"
	}
	return ""
}

// isExpression reports whether GORM writes the value as SQL.
func isExpression(value any) bool {
	switch value.(type) {
	case clause.Expression, gorm.Valuer, *gorm.DB:
		return true
	}
	return false
}
