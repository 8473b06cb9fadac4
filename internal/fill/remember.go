package fill

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// rememberKeys notes the keys of a list before the INSERT, so that [restoreKeys] can write
// them back after it. Only keys with a default, such as auto-increment keys, need that,
// because GORM overwrites them. It assumes that the database assigned consecutive keys to
// maps, and it writes the keys that an INSERT returns into the structs by their positions.
// rememberKeys does nothing for structs that GORM replaces by whole returned rows.
func rememberKeys(stmt *gorm.Statement, m *model.Model) {
	columns := withDefault(m)
	if len(columns) == 0 || !isList(stmt) || !isMaps(stmt) && returnsAll(stmt) {
		return
	}
	noted := noteForWriting(stmt)
	for _, e := range entriesOf(stmt, columns) {
		row := reflect.New(stmt.Schema.ModelType).Elem()
		for _, c := range columns {
			if e.row.IsValid() {
				value, _ := c.Field.ValueOf(stmt.Context, e.row)
				_ = c.Field.Set(stmt.Context, row, value) // cannot fail, because the value has the field's type
			}
		}
		noted.rememberedKeys = append(noted.rememberedKeys, row)
	}
}

// restoreKeys writes the keys back that [rememberKeys] has stored.
func restoreKeys(stmt *gorm.Statement, m *model.Model) error {
	keys := readNote(stmt).rememberedKeys
	if keys == nil {
		return nil
	}
	columns := withDefault(m)
	for i, e := range entriesOf(stmt, columns) {
		switch {
		case i >= len(keys): // GORM has appended returned rows to a list of maps
			return nil
		case e.values != nil:
			entry{row: keys[i], values: e.values}.copyToMap(columns)
			continue
		case !e.row.CanSet(): // nil, or a copy that GORM cannot have changed
			continue
		}
		for _, c := range columns {
			value, _ := c.Field.ValueOf(stmt.Context, keys[i])
			if err := c.Field.Set(stmt.Context, e.row, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// withDefault returns the tagged columns that have a default, whose values GORM reads
// back.
func withDefault(m *model.Model) (columns []*model.Column) {
	for _, c := range m.Columns {
		if c.Field.HasDefaultValue {
			columns = append(columns, c)
		}
	}
	return columns
}
