package gormflake

import (
	"errors"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// mapsOf returns the maps of a create from maps, in the forms that GORM knows.
func mapsOf(dest any) ([]map[string]any, bool) {
	switch dest := dest.(type) {
	case map[string]any:
		return []map[string]any{dest}, true
	case *map[string]any:
		return []map[string]any{*dest}, true
	case []map[string]any:
		return dest, true
	case *[]map[string]any:
		return *dest, true
	}
	return nil, false
}

// fillMaps writes the keys into the caller's maps, as GORM does with keys that
// the database made.
func (p *Plugin) fillMaps(stmt *gorm.Statement, m *model, maps []map[string]any, selected selection) error {
	for _, columns := range m.groups {
		n := 0
		eachUnset(stmt.Schema, columns, selected, maps, func(map[string]any, string, *column) { n++ })
		if n == 0 {
			continue
		}
		for _, row := range maps {
			if row == nil {
				return errors.New("the map is nil and cannot take a key: make it first")
			}
		}
		ids, err := p.take(stmt, columns[0], n)
		if err != nil {
			return err
		}
		left := *ids
		eachUnset(stmt.Schema, columns, selected, maps, func(row map[string]any, name string, c *column) {
			row[name] = c.kind.mapValue(left[0])
			left = left[1:]
		})
		p.give(ids)
	}
	return nil
}

func eachUnset(s *schema.Schema, columns []*column, selected selection, maps []map[string]any, visit func(map[string]any, string, *column)) {
	for _, c := range columns {
		if selected.omits(c) {
			continue
		}
		for _, row := range maps {
			if name := nameIn(s, row, c.field); isUnset(row[name]) {
				visit(row, name, c)
			}
		}
	}
}

// nameIn returns the name under which the map holds the column: GORM accepts
// the column, the field, and anything that its naming strategy turns into the
// column. A second name for one column would be a second value in the INSERT.
func nameIn(s *schema.Schema, row map[string]any, f *schema.Field) string {
	if _, ok := row[f.DBName]; ok {
		return f.DBName
	}
	for name := range row {
		if s.LookUpField(name) == f {
			return name
		}
	}
	return f.DBName
}

func isUnset(value any) bool {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return !v.IsValid() || v.IsZero()
}

func (k kind) mapValue(id types.ID) any {
	if k.isString() {
		return id.String()
	}
	return id
}
