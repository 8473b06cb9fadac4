// Package guard keeps GORM from inserting a row without a key. Package types
// gives GORM its clause for each key ([Clauses]), and the plugin adds the
// statements in which GORM leaves the clause out ([Unscoped]).
package guard

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// key is a clause that adds nothing to a create and checks it instead. GORM
// passes it the statement after all hooks and just before it builds the INSERT.
type key struct {
	clause.Insert // for the methods of a clause, which GORM does not call
	field         *schema.Field
	plain         bool // an integer in the row itself, with no pointer to follow
}

var _ gorm.StatementModifier = (*key)(nil)

// Clauses returns the clause that checks creates of a model for field, whose type
// is an ID. It returns none unless field is the only primary key.
func Clauses(field *schema.Field) []clause.Interface {
	if keys := field.Schema.PrimaryFields; len(keys) != 1 || keys[0] != field {
		return nil
	}
	behind := slices.ContainsFunc(field.StructField.Index, func(i int) bool { return i < 0 })
	return []clause.Interface{&key{field: field, plain: !behind && field.FieldType.Kind() == reflect.Int64}}
}

// Unscoped checks a create that is unscoped, for which GORM asks no field for
// clauses.
func Unscoped(db *gorm.DB) {
	if db.Statement.Unscoped {
		Check(db)
	}
}

// Check checks rows that are written without GORM's create.
func Check(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	for _, c := range stmt.Schema.CreateClauses {
		if Guards(c) {
			c.(*key).ModifyStatement(stmt)
		}
	}
}

// Guards reports whether c is a clause of this package.
func Guards(c clause.Interface) bool {
	_, ok := c.(*key)
	return ok
}

// ModifyStatement makes the create fail if one of its rows has no key.
func (k *key) ModifyStatement(stmt *gorm.Statement) {
	// GORM or the database replaces a key that is 0 by its default.
	replaced := k.field.HasDefaultValue && k.field.DefaultValueInterface != any(int64(0))
	if stmt.SQL.Len() > 0 || replaced || !k.unset(stmt) {
		return
	}
	// These cost more than the above, and rows without keys are rare.
	if Skipped(stmt.Context) || k.omitted(stmt) {
		return
	}
	_ = stmt.AddError(fmt.Errorf("gormflake: model %s, field %s: the row has no key: %s",
		k.field.Schema.Name, k.field.BindName(), k.cause(stmt)))
	// GORM builds the INSERT in spite of the error, and ToSQL would return it.
	stmt.BuildClauses = nil
}

func (k *key) omitted(stmt *gorm.Statement) bool {
	if len(stmt.Omits) == 0 && k.field.Creatable {
		return false
	}
	columns, _ := stmt.SelectAndOmitColumns(true, false)
	selected, ok := columns[k.field.DBName]
	return ok && !selected
}

// unset reports whether the statement creates a row without a key. It leaves
// values that GORM rejects to GORM.
func (k *key) unset(stmt *gorm.Statement) bool {
	if maps, ok := Maps(stmt.Dest); ok {
		return slices.ContainsFunc(maps, func(row map[string]any) bool {
			zero, found := ZeroInMap(k.field, row)
			return zero || !found
		})
	}
	value := stmt.ReflectValue
	switch value.Kind() {
	case reflect.Struct:
		return k.isModel(value.Type()) && k.unsetIn(value)
	case reflect.Slice, reflect.Array:
		return k.unsetInList(value)
	default:
		return false
	}
}

// isModel reports whether rows of type t have the fields of the model at the same
// positions.
func (k *key) isModel(t reflect.Type) bool {
	model := k.field.Schema.ModelType
	return t == model || t.ConvertibleTo(model)
}

func (k *key) unsetInList(list reflect.Value) bool {
	elem := list.Type().Elem()
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if !k.isModel(elem) {
		return false
	}
	for i := range list.Len() {
		if row := reflect.Indirect(list.Index(i)); row.IsValid() && k.unsetIn(row) {
			return true
		}
	}
	return false
}

// unsetIn reports whether the key of a row is 0, nil, or behind a nil pointer.
func (k *key) unsetIn(row reflect.Value) bool {
	if k.plain { // the most frequent case, in half the time
		for _, i := range k.field.StructField.Index {
			row = row.Field(i)
		}
		return row.Int() == 0
	}
	for _, i := range k.field.StructField.Index {
		if i < 0 { // an embedded pointer
			i = -i - 1
		}
		if row = indirect(row); !row.IsValid() {
			return true
		}
		row = row.Field(i)
	}
	row = indirect(row)
	return !row.IsValid() || row.IsZero()
}

func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}
