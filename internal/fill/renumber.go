package fill

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// numberedSetting is where a statement keeps the keys from which the serial numbers
// of its rows were made, 0 for a row that had its own.
const numberedSetting = "gormflake:numbered"

func numberedOf(stmt *gorm.Statement) []types.ID {
	keys, _ := stmt.Settings.Load(numberedSetting)
	numbered, _ := keys.([]types.ID)
	return numbered
}

// fillNumbered fills rows, and notes from which keys their serial numbers are made:
// a hook may set another key later.
func (r Rows) fillNumbered(stmt *gorm.Statement, g *model.Group, ids []types.ID) bool {
	if g.Primary == nil || len(g.Serials) == 0 {
		return r.set(g, ids)
	}
	lacking := make([]int, 0, r.N)
	for i := range r.N {
		if row := r.At(i); row.IsValid() && g.LacksSerial(row) {
			lacking = append(lacking, i)
		}
	}
	if !r.set(g, ids) {
		return false
	}
	numbered := numberedOf(stmt)
	if len(numbered) != r.N {
		numbered = make([]types.ID, r.N)
	}
	for _, i := range lacking {
		if key := g.Primary.Get(r.At(i)); g.Representable(key) {
			numbered[i] = key
		}
	}
	stmt.Settings.Store(numberedSetting, numbered)
	return true
}

// renumber makes the serial numbers again of rows that have another key now.
func (r Rows) renumber(stmt *gorm.Statement, g *model.Group) error {
	numbered := numberedOf(stmt)
	if g.Primary == nil || len(g.Serials) == 0 || len(numbered) != r.N {
		return nil
	}
	for i, made := range numbered {
		row := r.At(i)
		if made == 0 || !row.IsValid() || g.Primary.Get(row) == made {
			continue
		}
		if err := g.Renumber(row, made); err != nil {
			return at(g.Primary, i, r.Many, err.Error())
		}
	}
	return nil
}

// checkNumbers rejects a map that has another key now, and the serial number of the
// first.
func checkNumbers(m *model.Model, values map[string]any, made types.ID) error {
	for _, g := range m.Groups {
		if g.Primary == nil || idIn(g.Primary.Kind, values[nameIn(g.Primary.Field.Schema, values, g.Primary.Field)]) == made {
			continue
		}
		for _, c := range g.Serials {
			if values[nameIn(c.Field.Schema, values, c.Field)] == c.Serial.Format(made) {
				return fmt.Errorf("the key was changed since %s was made from it: set both, or neither", c.Field.BindName())
			}
		}
	}
	return nil
}
