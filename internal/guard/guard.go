// Package guard makes a create fail that would insert a row without a key. The check is in
// a clause, which the method CreateClauses of types.ID returns. GORM therefore adds the
// clause to the creates of each model that has a types.ID key, also in a program that does
// not register the plugin. The plugin calls [Check] for statements in which GORM ignores
// the clause.
package guard

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/rowview"
)

// keyClause is a clause that checks a create and adds nothing to its SQL. GORM calls the
// method ModifyStatement after all hooks, just before GORM builds the INSERT.
type keyClause struct {
	clause.Insert // for the methods of a clause, which GORM does not call
	field         *schema.Field
	index         []int              // of the field, for reflect.Value.FieldByIndex
	plain         *rowview.PlainKeys // reads the field without reflection, nil if it cannot
}

var _ gorm.StatementModifier = (*keyClause)(nil)

// Clauses returns the clause with which GORM checks that every row has a value in field,
// whose type is an ID. It returns nil unless field is the only primary key, because 0 is a
// valid value for any other field, and for a part of a composite key.
func Clauses(field *schema.Field) []clause.Interface {
	if keys := field.Schema.PrimaryFields; len(keys) != 1 || keys[0] != field {
		return nil
	}
	index := slices.Clone(field.StructField.Index)
	for i, at := range index {
		if at < 0 { // GORM marks an embedded pointer by a negative index
			index[i] = -at - 1
		}
	}
	return []clause.Interface{&keyClause{field: field, index: index, plain: rowview.PlainKeysOf(field)}}
}

// Check adds an error to a create that has a row without a key. It serves creates for
// which GORM does not call the clause, because the statement is unscoped or is not created
// by GORM's callback.
func Check(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	for _, c := range stmt.Schema.CreateClauses {
		if k, ok := c.(*keyClause); ok {
			k.ModifyStatement(stmt)
		}
	}
}

// Guards reports whether c is a clause of this package, which [Clauses] returned.
func Guards(c clause.Interface) bool {
	_, ok := c.(*keyClause)
	return ok
}

// ModifyStatement adds an error to the statement if one of its rows has no key. It accepts
// such a row in two cases, namely if the statement omits the key, because the database then
// assigns the key, and if the caller has turned the check off by [Skip].
func (k *keyClause) ModifyStatement(stmt *gorm.Statement) {
	// If the field has a default, GORM or the database writes the default instead of the
	// key 0, unless the default is 0 too.
	hasDefault := k.field.HasDefaultValue && k.field.DefaultValueInterface != any(int64(0))
	// GORM builds no INSERT from the rows if the statement already has its SQL.
	hasSQL := stmt.SQL.Len() > 0
	if hasSQL || hasDefault || !k.unset(stmt) {
		return
	}
	// These checks come last because they are slow, and rows without keys are rare.
	if Skipped(stmt.Context) || k.omitted(stmt) {
		return
	}
	_ = stmt.AddError(fmt.Errorf("gormflake: model %s, field %s: the row has no key: %s",
		k.field.Schema.Name, k.field.BindName(), k.cause(stmt)))
	// GORM builds the INSERT in spite of the error, and ToSQL would return it.
	stmt.BuildClauses = nil
}

// omitted reports whether the statement omits the key, which the database then assigns.
func (k *keyClause) omitted(stmt *gorm.Statement) bool {
	columns, _ := stmt.SelectAndOmitColumns(true, false) // for a create, not for an update
	selected, ok := columns[k.field.DBName]
	return ok && !selected
}

// unset reports whether the statement creates a row without a key, which may be a struct or
// a map. It returns false for values that GORM itself rejects.
func (k *keyClause) unset(stmt *gorm.Statement) bool {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return slices.ContainsFunc(maps, func(row map[string]any) bool {
			zero, found := rowview.ZeroInMap(k.field, row)
			return zero || !found
		})
	}
	rows, err := rowview.Of(stmt)
	// Read the keys without reflection if the rows are structs in a list and the key is not
	// behind a pointer, because reflection would take ten times as long. If err is not nil,
	// rows.Plain is false.
	if rows.Plain && k.plain != nil {
		return k.plain.Lack(rows.Value) > 0
	}
	return err == nil && rows.Contain(k.unsetIn)
}

// unsetIn reports whether the key of a row is 0, nil, or behind a nil pointer.
func (k *keyClause) unsetIn(row reflect.Value) bool {
	v, err := row.FieldByIndexErr(k.index)
	for err == nil && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return err != nil || !v.IsValid() || v.IsZero()
}

const (
	// PluginName is the key of the plugin in the GORM configuration.
	PluginName = "gormflake"

	tagKey = "snowflake"
)

// cause returns the reason why the row has no key, and the fix.
func (k *keyClause) cause(stmt *gorm.Statement) string {
	_, registered := stmt.Plugins[PluginName]
	_, tagged := k.field.Tag.Lookup(tagKey)
	const (
		noPlugin   = "the plugin is not registered in this *gorm.DB: call gormflake.Open, or db.Use(gormflake.New(gen)), first"
		ifAssigned = `; if the database assigns it, add gorm:"autoIncrement"`
	)
	switch {
	case !registered && !tagged:
		return noPlugin + `, and tag the field snowflake:"pk"` + ifAssigned
	case !registered:
		return noPlugin + ifAssigned
	case !tagged:
		return `the field has no tag: add snowflake:"pk"` + ifAssigned
	default:
		return "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	}
}

type skipKey struct{}

// Skip returns a context under which the plugin sets no keys, and this package does not
// check them. The plugin still rejects a create that would write a tagged primary key as
// 0 or NULL.
func Skip(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipKey{}, true)
}

// Skipped reports whether ctx is from [Skip].
func Skipped(ctx context.Context) bool { return ctx.Value(skipKey{}) != nil }
