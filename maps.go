package gormflake

import (
	"errors"
	"reflect"
	"slices"

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
	for _, g := range m.groups {
		g = g.selected(selected)
		n, lack := 0, false
		for _, row := range maps {
			ids, lacks := g.needsInMap(mapRow{stmt.Schema, row})
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
		ids, err := p.take(stmt, g, n)
		if err != nil {
			return err
		}
		setMaps(stmt.Schema, g, maps, *ids)
		p.give(ids)
	}
	return nil
}

func setMaps(s *schema.Schema, g *group, maps []map[string]any, ids []types.ID) {
	for _, c := range g.keys {
		for _, row := range maps {
			if r := (mapRow{s, row}); r.unset(c) {
				r.set(c, c.kind.mapValue(ids[0]))
				ids = ids[1:]
			}
		}
	}
	for _, row := range maps {
		ids = g.numberMap(mapRow{s, row}, ids)
	}
}

// mapRow is a row that the caller gives as a map.
type mapRow struct {
	schema *schema.Schema
	values map[string]any
}

func (r mapRow) get(c *column) any { return r.values[nameIn(r.schema, r.values, c.field)] }

func (r mapRow) unset(c *column) bool { return isUnset(r.get(c)) }

func (r mapRow) set(c *column, value any) { r.values[nameIn(r.schema, r.values, c.field)] = value }

// needsInMap is needs for a map.
func (g *group) needsInMap(row mapRow) (ids int, lacks bool) {
	for _, c := range g.keys {
		if row.unset(c) {
			ids++
		}
	}
	if !slices.ContainsFunc(g.serials, row.unset) {
		return ids, ids > 0
	}
	if !g.derivesInMap(row) {
		ids++
	}
	return ids, true
}

// derivesInMap is derives for a map.
func (g *group) derivesInMap(row mapRow) bool {
	return g.own != nil && (g.holds(idIn(row.get(g.own))) || g.makesOwn && row.unset(g.own))
}

// numberMap is number for a map.
func (g *group) numberMap(row mapRow, ids []types.ID) []types.ID {
	if !slices.ContainsFunc(g.serials, row.unset) {
		return ids
	}
	id := types.ID(0)
	if g.own != nil {
		id = idIn(row.get(g.own))
	}
	if !g.holds(id) {
		id, ids = ids[0], ids[1:]
	}
	for _, c := range g.serials {
		if row.unset(c) {
			row.set(c, c.serial.Format(id))
		}
	}
	return ids
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
