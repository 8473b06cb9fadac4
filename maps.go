package gormflake

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
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
func (p *Plugin) fillMaps(stmt *gorm.Statement, m *model.Model, maps []map[string]any, selected model.Selection) error {
	for _, g := range m.Groups {
		g = g.Selected(selected)
		n, lack := 0, false
		for _, row := range maps {
			ids, lacks := needsInMap(g, mapRow{stmt.Schema, row})
			n += ids
			lack = lack || lacks
		}
		if !lack {
			continue
		}
		for _, row := range maps {
			if row == nil {
				return errors.New("the map is nil and cannot take a key: make it first")
			}
		}
		ids, err := p.set.Generate(stmt.Context, g, n)
		if err != nil {
			return err
		}
		if !setMaps(stmt.Schema, g, maps, *ids) {
			return errors.New("the map changed during the call: do not use it elsewhere meanwhile")
		}
		p.set.Recycle(ids)
	}
	return nil
}

// setMaps returns false if the maps need more IDs than they were seen to need,
// as a value in them can be another one each time that it is asked.
func setMaps(s *schema.Schema, g *model.Group, maps []map[string]any, ids []types.ID) bool {
	for _, c := range g.Keys {
		for _, row := range maps {
			r := mapRow{s, row}
			if !r.unset(c) {
				continue
			}
			if len(ids) == 0 {
				return false
			}
			r.set(c, mapValue(c.Kind, ids[0]))
			ids = ids[1:]
		}
	}
	for _, row := range maps {
		var ok bool
		if ids, ok = numberMap(g, mapRow{s, row}, ids); !ok {
			return false
		}
	}
	return true
}

// mapRow is a row that the caller gives as a map.
type mapRow struct {
	schema *schema.Schema
	values map[string]any
}

func (r mapRow) get(c *model.Column) any { return r.values[nameIn(r.schema, r.values, c.Field)] }

func (r mapRow) id(c *model.Column) types.ID { return idIn(c.Kind, r.get(c)) }

func (r mapRow) unset(c *model.Column) bool { return isUnset(r.get(c)) }

func (r mapRow) set(c *model.Column, value any) {
	r.values[nameIn(r.schema, r.values, c.Field)] = value
}

// needsInMap is needs for a map.
func needsInMap(g *model.Group, row mapRow) (ids int, lacks bool) {
	for _, c := range g.Keys {
		if row.unset(c) {
			ids++
		}
	}
	if !slices.ContainsFunc(g.Serials, row.unset) {
		return ids, ids > 0
	}
	if !derivesInMap(g, row) {
		ids++
	}
	return ids, true
}

// derivesInMap is derives for a map.
func derivesInMap(g *model.Group, row mapRow) bool {
	return g.Primary != nil && (g.Representable(row.id(g.Primary)) || row.unset(g.Primary))
}

// numberMap is number for a map.
func numberMap(g *model.Group, row mapRow, ids []types.ID) (left []types.ID, ok bool) {
	if !slices.ContainsFunc(g.Serials, row.unset) {
		return ids, true
	}
	id := types.ID(0)
	if g.Primary != nil {
		id = row.id(g.Primary)
	}
	if !g.Representable(id) {
		if len(ids) == 0 {
			return nil, false
		}
		id, ids = ids[0], ids[1:]
	}
	for _, c := range g.Serials {
		if row.unset(c) {
			row.set(c, c.Serial.Format(id))
		}
	}
	return ids, true
}

// nameIn returns the name under which the map holds the column: GORM accepts
// the column, the field, and anything that its naming strategy turns into the
// column. A second name for one column would be a second value in the INSERT;
// where there are two already, each look must find the same one.
func nameIn(s *schema.Schema, row map[string]any, f *schema.Field) string {
	if _, ok := row[f.DBName]; ok {
		return f.DBName
	}
	first := ""
	for name := range row {
		if (first == "" || name < first) && s.LookUpField(name) == f {
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

func mapValue(k model.Kind, id types.ID) any {
	if k.IsString() {
		return id.String()
	}
	return id
}

// idIn returns the ID that a caller's map holds in whatever form, 0 if it is
// none. For a string column only the one text of an ID is it: to the database,
// 017 and 17 are two keys.
func idIn(k model.Kind, value any) types.ID {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return 0
	}
	var id types.ID
	if err := id.Scan(v); err != nil || k.IsString() && !isTextOf(id, v) {
		return 0
	}
	return id
}

// isTextOf tells the text of id from others of the same number.
func isTextOf(id types.ID, value driver.Value) bool {
	switch v := value.(type) {
	case string:
		return v == id.String()
	case []byte:
		return string(v) == id.String()
	}
	return true
}
