package copyrows

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// column is a column of the table.
type column struct {
	*model.Column
	setsInitial bool // a zero value is replaced by the model's default, or by a time stamp
	isInteger   bool // read by the fast path of [column.value], which gives an int64
	mayWriteSQL bool // may write its own SQL, for example by a method GormValue
}

// columnsOf returns the columns that GORM would write, in GORM's order. Columns whose default
// only the database knows come last, and only if the rows have values for them. If only some
// rows have such a value, columnsOf returns an error.
func columnsOf(stmt *gorm.Statement, list rowview.Rows) ([]*column, error) {
	var columns, withDefault []*column
	// selected has the columns of Select (true) and Omit (false), and fields that may not be
	// created (false). restricted is set if the statement has a Select other than "*".
	selected, restricted := stmt.SelectAndOmitColumns(true, false) // for a create, not for an update
	for _, name := range stmt.Schema.DBNames {
		f := stmt.Schema.FieldsByDBName[name]
		// byDatabase is set if only the database knows the default, such as now().
		byDatabase := f.HasDefaultValue && f.DefaultValueInterface == nil
		stamp := f.AutoCreateTime > 0 || f.AutoUpdateTime > 0
		// GORM also writes a time stamp that Select does not name.
		if write, named := selected[name]; named && !write || !named && restricted && (byDatabase || !stamp) {
			continue
		}
		c := newColumn(f)
		if !byDatabase {
			columns = append(columns, c)
			continue
		}
		hasValues, err := c.hasValues(list)
		if err != nil {
			return nil, err
		}
		if hasValues {
			withDefault = append(withDefault, c)
		}
	}
	return append(columns, withDefault...), nil
}

// newColumn returns the column of a field, and decides how [column.value] reads the field.
// The fast path for integers would leave out a default, a time stamp and a serializer, so a
// field with one of these does not take it.
func newColumn(f *schema.Field) *column {
	initial := f.DefaultValueInterface != nil || f.AutoCreateTime > 0 || f.AutoUpdateTime > 0
	return &column{
		Column:      model.NewColumn(f),
		setsInitial: initial,
		isInteger:   !initial && f.Serializer == nil && isInteger(f.FieldType),
		mayWriteSQL: f.Serializer == nil && writesSQL(f.FieldType),
	}
}

// writesSQL reports whether GORM may ask a value of type t for SQL. A field of an interface
// type may hold such a value.
func writesSQL(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || t.Implements(reflect.TypeFor[gorm.Valuer]()) ||
		t.Implements(reflect.TypeFor[clause.Expression]())
}

// isInteger reports whether t is int, int64 or a type of IDs, or a pointer to one of these.
// Columns of these types take the fast path of [column.value], which gives an int64. Other
// integers, such as int32, take the general path.
func isInteger(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return model.IsID(t) || t == reflect.TypeFor[int64]() || t == reflect.TypeFor[int]()
}

// hasValues reports whether the rows have values for a column with a default of the database.
// It returns an error if only some rows have a value, because COPY uses the default for all
// rows or for none.
func (c *column) hasValues(list rowview.Rows) (bool, error) {
	with, without := -1, -1 // indexes of the last row with a value and of the last row without
	for i := range list.N {
		if v, ok := c.Find(list.At(i)); ok && !v.IsZero() {
			with = i
		} else {
			without = i
		}
	}
	if with >= 0 && without >= 0 {
		return false, fmt.Errorf("field %s: row %d has a value, and for row %d the database would have to choose one, which COPY does for all rows or none: set the field in all of them or in none, or copy them in two parts",
			c.Field.BindName(), with, without)
	}
	return with >= 0, nil
}
