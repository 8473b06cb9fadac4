package guard

import (
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gorm.io/gorm/schema"
)

// Maps returns the maps of a create from maps, in the forms that GORM knows.
func Maps(dest any) ([]map[string]any, bool) {
	switch dest := dest.(type) {
	case map[string]any:
		return []map[string]any{dest}, true
	case *map[string]any:
		return []map[string]any{*dest}, true
	case []map[string]any:
		return dest, true
	case *[]map[string]any:
		return *dest, true
	}
	return nil, false
}

// ZeroInMap reports whether the map has the field, under any name that GORM accepts,
// and whether it is NULL or 0. If it names the field twice, the database may take
// either.
func ZeroInMap(f *schema.Field, row map[string]any) (zero, found bool) {
	for name, value := range row {
		if name != f.DBName && f.Schema.LookUpField(name) != f {
			continue
		}
		zero = zero || isZero(value)
		found = true
	}
	return zero, found
}

// isZero reports whether the column would be NULL or 0. What GORM or the driver
// converts in a way of its own, such as an SQL expression, is not 0.
func isZero(value any) bool {
	if v := reflect.ValueOf(value); v.CanInt() && v.Int() != 0 {
		return false // without the allocations below
	}
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return isZeroText(v)
	case []byte:
		return isZeroText(string(v))
	case float64:
		return rounds(v)
	default:
		return v == nil || reflect.ValueOf(v).IsZero()
	}
}

// isZeroText is generous, because databases are: SQLite and MySQL read 0.0 as 0.
func isZeroText(text string) bool {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	return text == "" || err == nil && rounds(f)
}

// rounds reports whether the key may become 0: MariaDB rounds a half to it, and
// PostgreSQL's driver cuts the fraction off.
func rounds(f float64) bool { return math.Abs(f) < 1 }
