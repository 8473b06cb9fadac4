package gormflake_test

import (
	"reflect"
	"strings"
	"unicode"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// keyed is a model without a tag, whose key is a K.
type keyed[K any] struct {
	ID    K      `gorm:"primaryKey"`
	Title string `gorm:"size:50"`
}

// TableName implements schema.Tabler, because the name of a generic type is not a valid
// name of a table.
func (keyed[K]) TableName() string {
	name := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '_'
	}
	return "plain_" + strings.Map(name, reflect.TypeFor[K]().String())
}

// plainModel embeds gorm.Model.
type plainModel struct {
	gorm.Model
	Title string `gorm:"size:50"`
}

// PlainBase is embedded by a pointer.
type PlainBase struct{ ID uint64 }

// plainBehind has its key behind a pointer.
type plainBehind struct {
	*PlainBase
	Title string `gorm:"size:50"`
}

// plainCounted has a key that is auto-increment by a setting, in a column that is not
// named after its field.
type plainCounted struct {
	Number uint   `gorm:"column:id;primaryKey;autoIncrement"`
	Title  string `gorm:"size:50"`
}

// plainRows returns the rows of a model whose key is the field with the name key.
func plainRows(model any, table, key string) plugintest.RowKind {
	return plugintest.RowKind{
		Model: model,
		Table: table,
		Make: func(title string, id types.ID) any {
			row := reflect.New(reflect.TypeOf(model).Elem())
			row.Elem().FieldByName("Title").SetString(title)
			if id != 0 {
				setKey(fieldOf(row.Elem(), key), id)
			}
			return row.Interface()
		},
		Key: func(row any) types.ID { return getKey(fieldOf(reflect.ValueOf(row).Elem(), key)) },
	}
}

// fieldOf returns the key field of a row, and allocates the struct that contains it.
func fieldOf(row reflect.Value, key string) reflect.Value {
	if base := row.FieldByName("PlainBase"); base.IsValid() && base.IsNil() {
		base.Set(reflect.ValueOf(&PlainBase{}))
	}
	return row.FieldByName(key)
}

// setKey sets a key of any kind in [plainKinds].
func setKey(v reflect.Value, id types.ID) {
	switch {
	case v.CanInt():
		v.SetInt(id.Int64())
	case v.CanUint():
		v.SetUint(uint64(id.Int64()))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setKey(v.Elem(), id)
	default:
		v.FieldByName("Valid").SetBool(true)
		setKey(v.Field(0), id)
	}
}

// getKey returns a key of any kind in [plainKinds].
func getKey(v reflect.Value) types.ID {
	switch {
	case v.CanInt():
		return types.ID(v.Int())
	case v.CanUint():
		return types.ID(v.Uint())
	case v.Kind() != reflect.Pointer:
		return getKey(v.Field(0))
	case v.IsNil():
		return 0
	}
	return getKey(v.Elem())
}
