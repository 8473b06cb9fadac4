// Package rowview looks at the rows of a create: at the structs of a statement in
// whichever form GORM takes them ([Rows]), at their keys without reflection where they
// are plain integers ([PlainKeys]), and at rows that are maps ([Maps]).
package rowview

import (
	"database/sql/driver"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// Rows are the structs that a statement creates.
type Rows struct {
	Value reflect.Value
	Many  bool // Value is a list
	N     int
	Plain bool // a list of structs, not of pointers, that can be set
}

// Of rejects structs whose layout differs from the model's, because GORM
// reads and writes fields by their positions. It leaves what is neither a struct
// nor a list to GORM, which rejects it.
func Of(stmt *gorm.Statement) (Rows, error) {
	r := Rows{Value: stmt.ReflectValue, N: 1}
	t := r.Value.Type()
	switch t.Kind() {
	case reflect.Struct:
	case reflect.Slice, reflect.Array:
		r.Many, r.N = true, r.Value.Len()
		t = t.Elem()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		} else {
			r.Plain = r.Value.Kind() == reflect.Slice || r.Value.CanAddr()
		}
	default:
		return Rows{}, nil
	}
	if want := stmt.Schema.ModelType; !t.ConvertibleTo(want) {
		return Rows{}, fmt.Errorf("got %s: want %s, or a slice of it or of pointers to it: %w", r.Value.Type(), want, gorm.ErrInvalidData)
	}
	return r, nil
}

// At returns row i. It is invalid for a nil element, which GORM rejects.
func (r Rows) At(i int) reflect.Value {
	if !r.Many {
		return r.Value
	}
	return reflect.Indirect(r.Value.Index(i))
}

// Index returns the first row for which is returns true, -1 if there is none.
func (r Rows) Index(is func(row reflect.Value) bool) int {
	for i := range r.N {
		if row := r.At(i); row.IsValid() && is(row) {
			return i
		}
	}
	return -1
}

// Contain reports whether there is a row for which is returns true.
func (r Rows) Contain(is func(row reflect.Value) bool) bool { return r.Index(is) >= 0 }

// Target returns the struct or the list behind value, and the type of its rows. It
// rejects what cannot be given keys.
func Target(value any) (v reflect.Value, row reflect.Type, err error) {
	v = reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer {
		return v, nil, fmt.Errorf("got a nil %T: want a pointer to a struct or slice", value)
	}
	if v.IsValid() {
		row = v.Type()
		for row.Kind() == reflect.Pointer || row.Kind() == reflect.Slice || row.Kind() == reflect.Array {
			row = row.Elem()
		}
	}
	switch {
	case row == nil || row.Kind() != reflect.Struct:
		return v, nil, fmt.Errorf("got %T: want a pointer to a struct or slice", value)
	case v.Kind() != reflect.Slice && !v.CanAddr():
		return v, nil, fmt.Errorf("got %T, a copy that cannot be set: want a pointer to it", value)
	}
	return v, row, nil
}

// PlainKeys are integers of 64 bits in the rows themselves, with no pointer to
// follow: those of nearly all models.
type PlainKeys struct {
	size, offset uintptr // of a row, and of the key in it
}

// PlainKeysOf returns nil if the field is of another kind.
func PlainKeysOf(f *schema.Field) *PlainKeys {
	if t := f.FieldType; !reflect.Zero(t).CanInt() && !reflect.Zero(t).CanUint() || t.Bits() != 64 {
		return nil
	}
	row := f.Schema.ModelType
	p := &PlainKeys{size: row.Size()}
	for _, i := range f.StructField.Index {
		if i < 0 {
			return nil
		}
		p.offset += row.Field(i).Offset
		row = row.Field(i).Type
	}
	return p
}

// In returns the keys of an addressable list of rows, also those of another integer
// type. Reflection would take ten times as long, in each of the passes over the rows.
func (p *PlainKeys) In(rows reflect.Value) iter.Seq[*int64] {
	return func(yield func(*int64) bool) {
		if rows.Len() == 0 {
			return
		}
		first := rows.Index(0).Addr().UnsafePointer()
		for i := range uintptr(rows.Len()) {
			if !yield((*int64)(unsafe.Add(first, i*p.size+p.offset))) {
				return
			}
		}
	}
}

// Lack returns how many of the keys are 0.
func (p *PlainKeys) Lack(rows reflect.Value) (n int) {
	for key := range p.In(rows) {
		if *key == 0 {
			n++
		}
	}
	return n
}

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
