package fill

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// fillMaps fills structs in the place of the maps, and then writes what these lack
// into the caller's maps, as GORM does with keys that the database assigned.
func fillMaps(stmt *gorm.Statement, set *model.Set, m *model.Model, maps []map[string]any, selected model.Selection) error {
	list := reflect.MakeSlice(reflect.SliceOf(stmt.Schema.ModelType), len(maps), len(maps))
	lacking := 0
	for i, values := range maps {
		lacking += copyTo(list.Index(i), values, m.Columns)
	}
	structs := rowview.Rows{Value: list, Many: true, N: len(maps), Plain: true}
	for _, g := range m.Groups {
		g = g.Selected(selected)
		if _, lack := needs(structs, g); lack && slices.ContainsFunc(maps, func(values map[string]any) bool { return values == nil }) {
			return errors.New("the map is nil and cannot hold a key: create it with make first")
		}
		if err := fillRows(stmt, set, g, structs); err != nil {
			return err
		}
	}
	for i, values := range maps {
		lacking -= copyFrom(list.Index(i), values, m.Columns)
	}
	if lacking < 0 { // a driver.Valuer in a map may return another value each time
		return errors.New("the map was modified concurrently: do not share it until Create returns")
	}
	return nil
}

// copyTo sets the columns of a struct that are set in the map, and returns how
// many are not. What is not an ID becomes -1, of which no serial number is made.
func copyTo(row reflect.Value, values map[string]any, columns []*model.Column) (lacking int) {
	for _, c := range columns {
		value := values[nameIn(values, c.Field)]
		if isUnset(value) {
			lacking++
			continue
		}
		c.Set(row, cmp.Or(idIn(c.Kind, value), -1))
	}
	return lacking
}

// copyFrom writes the columns that are set in the struct alone, and returns how
// many are not set in the map.
func copyFrom(row reflect.Value, values map[string]any, columns []*model.Column) (lacking int) {
	for _, c := range columns {
		name := nameIn(values, c.Field)
		if !isUnset(values[name]) {
			continue
		}
		lacking++
		if !c.Unset(row) { // else the statement omits it
			values[name] = c.Value(row)
		}
	}
	return lacking
}

// nameIn returns the name under which the map holds the column. GORM accepts the
// column, the field, and any name that its naming strategy maps to the column. A
// second name for a column would add a second value to the INSERT; if there are
// two already, every call must find the same one.
func nameIn(row map[string]any, f *schema.Field) string {
	if _, ok := row[f.DBName]; ok {
		return f.DBName
	}
	first := ""
	for name := range row {
		if (first == "" || name < first) && f.Schema.LookUpField(name) == f {
			first = name
		}
	}
	return cmp.Or(first, f.DBName)
}

// isUnset reports whether the database would get NULL or a zero value.
func isUnset(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return reflect.ValueOf(value).IsZero()
	}
	if text, ok := v.([]byte); ok {
		return len(text) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// idIn returns the ID in a map's value of any form, 0 if there is none. A string
// column accepts only the canonical text of an ID: to the database, 017 and 17
// are two keys.
func idIn(k model.Kind, value any) types.ID {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return 0
	}
	var id types.ID
	if err := id.Scan(v); err != nil || k.IsString() && model.TextOf(v) != id.String() {
		return 0
	}
	return id
}
