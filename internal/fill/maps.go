package fill

import (
	"cmp"
	"database/sql/driver"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// copyTo sets the columns of the struct row to the values of the map, and returns the number
// of columns that the map does not set. For a value that is not an ID, such as an SQL
// expression, it sets -1, which counts as set and from which no serial number is made.
func copyTo(row reflect.Value, values map[string]any, columns []*model.Column) (missing int) {
	for _, c := range columns {
		value := values[nameIn(values, c.Field)]
		if isUnset(value) {
			missing++
			continue
		}
		c.Set(row, cmp.Or(idIn(c.Kind, value), -1))
	}
	return missing
}

// copyFrom writes the columns that the struct sets and the map does not set into the map.
// It returns the number of columns that the map did not set.
func copyFrom(row reflect.Value, values map[string]any, columns []*model.Column) (missing int) {
	for _, c := range columns {
		name := nameIn(values, c.Field)
		if !isUnset(values[name]) {
			continue
		}
		missing++
		if !c.Unset(row) { // a column that the statement omits is unset
			values[name] = c.Value(row)
		}
	}
	return missing
}

// nameIn returns the name under which the map holds the column. GORM accepts the name of
// the column or the field, and any name that its naming strategy maps to the column.
// nameIn prefers an existing name, because a second name would add a second value to the
// INSERT. If the map has several names for the column, nameIn returns the same name in
// every call.
func nameIn(row map[string]any, f *schema.Field) string {
	if _, ok := row[f.DBName]; ok {
		return f.DBName
	}
	first := ""
	for name := range row {
		if (first == "" || name < first) && f.Schema.LookUpField(name) == f {
			first = name
		}
	}
	return cmp.Or(first, f.DBName)
}

// isUnset reports whether the database would get NULL, 0 or "" for a map's value.
func isUnset(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil { // a type that only GORM converts, such as an SQL expression
		return reflect.ValueOf(value).IsZero()
	}
	if text, ok := v.([]byte); ok {
		return len(text) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// idIn returns the ID in a map's value of any type, or 0 if the value is not an ID. k is the
// kind of the column. For a string column idIn accepts only the canonical text of an ID,
// such as 17, because 017 is another key to the database.
func idIn(k model.Kind, value any) types.ID {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return 0
	}
	var id types.ID
	if err := id.Scan(v); err != nil || k.IsString() && model.TextOf(v) != id.String() {
		return 0
	}
	return id
}
