package fill

import (
	"cmp"
	"errors"
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
// the database assigned.
func fillMaps(stmt *gorm.Statement, set *model.Set, m *model.Model, maps []map[string]any, selected model.Selection) error {
	rows := make([]mapRow, len(maps))
	for i, values := range maps {
		rows[i] = mapRow{stmt.Schema, values}
	}
	for _, g := range m.Groups {
		if err := fillGroup(stmt, set, g.Selected(selected), rows); err != nil {
			return err
		}
	}
	return nil
}

func fillGroup(stmt *gorm.Statement, set *model.Set, g *model.Group, rows []mapRow) error {
	n, lack := needsInMaps(g, rows)
	if !lack {
		return nil
	}
	if slices.ContainsFunc(rows, func(r mapRow) bool { return r.values == nil }) {
		return errors.New("the map is nil and cannot hold a key: create it with make first")
	}
	ids, err := set.Generate(stmt.Context, g, n)
	if err != nil {
		return err
	}
	if !setMaps(g, rows, *ids) {
		return errors.New("the map was modified concurrently: do not share it until Create returns")
	}
	set.Recycle(ids)
	return nil
}

func needsInMaps(g *model.Group, rows []mapRow) (ids int, lack bool) {
	for _, row := range rows {
		n, lacks := needsInMap(g, row)
		ids += n
		lack = lack || lacks
	}
	return ids, lack
}

// setMaps returns false if the maps need more IDs than needsInMaps returned,
// which happens if a driver.Valuer in them returns another value each time.
func setMaps(g *model.Group, rows []mapRow, ids []types.ID) (ok bool) {
	for _, c := range g.Keys {
		for _, row := range rows {
			if !row.unset(c) {
				continue
			}
			if len(ids) == 0 {
				return false
			}
			row.set(c, valueOf(c.Kind, ids[0]))
			ids = ids[1:]
		}
	}
	for _, row := range rows {
		if ids, ok = fillSerials(g, row, ids); !ok {
			return false
		}
	}
	return true
}

// mapRow is a row of a create from maps.
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

// needsInMap is [model.Group.Needs] for a map.
func needsInMap(g *model.Group, row mapRow) (ids int, lacks bool) {
	for _, c := range g.Keys {
		if row.unset(c) {
			ids++
		}
	}
	if !slices.ContainsFunc(g.Serials, row.unset) {
		return ids, ids > 0
	}
	if !serialFromKey(g, row) {
		ids++
	}
	return ids, true
}

// serialFromKey reports whether the serial numbers of a map are made from its
// primary key.
func serialFromKey(g *model.Group, row mapRow) bool {
	return g.Primary != nil && (g.Representable(row.id(g.Primary)) || row.unset(g.Primary))
}

// fillSerials is [model.Group.FillSerials] for a map.
func fillSerials(g *model.Group, row mapRow, ids []types.ID) (rest []types.ID, ok bool) {
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

// nameIn returns the name under which the map holds the column. GORM accepts the
// column, the field, and any name that its naming strategy maps to the column. A
// second name for a column would add a second value to the INSERT; if there are
// two already, every call must find the same one.
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
