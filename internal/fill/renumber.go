package fill

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// numberedSetting is where a statement keeps the keys that its rows had when their
// serial numbers were made: a hook may set others later.
const numberedSetting = "gormflake:numbered"

func numberedOf(stmt *gorm.Statement) []types.ID {
	keys, _ := stmt.Settings.Load(numberedSetting)
	numbered, _ := keys.([]types.ID)
	return numbered
}

func noteNumbers(stmt *gorm.Statement, g *model.Group, rows guard.Rows) {
	if g.Primary == nil || len(g.Serials) == 0 || numberedOf(stmt) != nil {
		return
	}
	numbered := make([]types.ID, rows.N)
	for i := range numbered {
		if row := rows.At(i); row.IsValid() {
			numbered[i] = g.Primary.Get(row)
		}
	}
	stmt.Settings.Store(numberedSetting, numbered)
}

// renumber makes the serial numbers again of rows that have another key now.
func renumber(stmt *gorm.Statement, g *model.Group, rows guard.Rows) error {
	numbered := numberedOf(stmt)
	if g.Primary == nil || len(numbered) != rows.N {
		return nil
	}
	for i, made := range numbered {
		row := rows.At(i)
		if !row.IsValid() || g.Primary.Get(row) == made {
			continue
		}
		if err := g.Renumber(row, made); err != nil {
			return at(g.Primary, i, rows.Many, err.Error())
		}
	}
	return nil
}

// checkNumbers rejects a map that has another key now, and the serial number of the
// first.
func checkNumbers(m *model.Model, values map[string]any, made types.ID) error {
	for _, g := range m.Groups {
		if g.Primary == nil || idIn(g.Primary.Kind, values[nameIn(values, g.Primary.Field)]) == made {
			continue
		}
		for _, c := range g.Serials {
			if values[nameIn(values, c.Field)] == c.Serial.Format(made) {
				return fmt.Errorf("the key was changed since %s was made from it: set both, or neither", c.Field.BindName())
			}
		}
	}
	return nil
}
