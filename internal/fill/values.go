package fill

import (
	"database/sql/driver"
	"reflect"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// isUnset reports whether the database would get NULL or a zero value.
func isUnset(value any) bool {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return reflect.ValueOf(value).IsZero()
	}
	if text, ok := v.([]byte); ok {
		return len(text) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// idIn returns the ID in a map's value of any form, 0 if there is none. A string
// column accepts only the canonical text of an ID: to the database, 017 and 17
// are two keys.
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
