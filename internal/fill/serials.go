package fill

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// noteNumbers notes, for each row, the key from which the row's serial number was made. A
// serial number is a text such as PAY2022062816074010511260000. By this note, [renumber] and
// [checkNumbers] notice a key that a hook changes later. If [Create] has written the note,
// [BeforeInsert] keeps it, because hooks may have changed keys since.
func noteNumbers(stmt *gorm.Statement, g *model.Group, rows rowview.Rows) {
	if g.Primary == nil || len(g.Serials) == 0 || readNote(stmt).numberedKeys != nil {
		return
	}
	numbered := make([]types.ID, rows.N)
	for i := range numbered {
		if row := rows.At(i); row.IsValid() {
			numbered[i] = g.Primary.Get(row)
		}
	}
	noteForWriting(stmt).numberedKeys = numbered
}

// renumber replaces the serial numbers of rows whose key has changed since their serial
// numbers were made from it, for example in the hook BeforeCreate.
func renumber(stmt *gorm.Statement, g *model.Group, rows rowview.Rows) error {
	numbered := readNote(stmt).numberedKeys
	// Without a note of each row, no serial number was made, or a hook has changed the list.
	if g.Primary == nil || len(numbered) != rows.N {
		return nil
	}
	for i, oldKey := range numbered {
		row := rows.At(i)
		if !row.IsValid() || g.Primary.Get(row) == oldKey {
			continue
		}
		if err := g.Renumber(row, oldKey); err != nil {
			return rowError(g.Primary, i, rows.Many, err.Error())
		}
	}
	return nil
}

// checkNumbers returns an error if the map still has a serial number that was made from
// oldKey, although the map now has another key.
func checkNumbers(m *model.Model, values map[string]any, oldKey types.ID) error {
	for _, g := range m.Groups {
		if g.Primary == nil || idIn(g.Primary.Kind, values[nameIn(values, g.Primary.Field)]) == oldKey {
			continue
		}
		for _, c := range g.Serials {
			if values[nameIn(values, c.Field)] == c.Serial.Format(oldKey) {
				return fmt.Errorf("the key was changed since %s was made from it: set both, or neither", c.Field.BindName())
			}
		}
	}
	return nil
}
