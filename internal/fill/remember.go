package fill

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// rememberKeys notes the keys of a list before the INSERT, so that [restoreKeys] can write
// the keys back after the INSERT. GORM may overwrite keys of the list with keys of other
// rows. It does so if it assumes that the database assigned consecutive keys to the list, or
// if it writes the values that an INSERT returns into the structs by their positions.
// rememberKeys does nothing for structs that GORM replaces by whole returned rows.
func rememberKeys(stmt *gorm.Statement, m *model.Model) {
	columns := guessedColumns(stmt, m)
	if len(columns) == 0 || !isList(stmt) || !isMaps(stmt) && replacesList(stmt) {
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
	columns := guessedColumns(stmt, m)
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

// guessedColumns returns the columns that GORM may set after the INSERT. For maps, these are
// the tagged columns that have a default, such as auto-increment. For structs, these are all
// columns whose default only the database knows, and all tagged columns, because the caller's
// RETURNING may name them.
func guessedColumns(stmt *gorm.Statement, m *model.Model) (columns []*model.Column) {
	if !isMaps(stmt) {
		for _, f := range stmt.Schema.FieldsWithDefaultDBValue {
			columns = append(columns, model.NewColumn(f))
		}
		return append(columns, m.Columns...)
	}
	for _, c := range m.Columns {
		if c.Field.HasDefaultValue {
			columns = append(columns, c)
		}
	}
	return columns
}
