// Package rowview reads the rows of a create. [Rows] are the structs of a statement in
// every form that GORM accepts, [PlainKeys] reads integer keys without reflection, and
// [Maps] returns rows that are maps.
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
	Value reflect.Value // a struct, or a list of structs or of pointers to structs
	Many  bool          // Value is a slice or array
	N     int           // number of rows
	Plain bool          // Value is a list of structs, not of pointers, and can be set; see PlainKeys
}

// Of returns the rows of the statement. It returns an error for structs whose layout
// differs from the model's, because GORM reads and writes fields by their positions. For
// a value that is neither a struct nor a list it returns no rows and no error, because
// GORM rejects it.
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
	default: // such as a map
		return Rows{}, nil
	}
	if want := stmt.Schema.ModelType; !t.ConvertibleTo(want) {
		return Rows{}, fmt.Errorf("got %s: want %s, or a slice of it or of pointers to it: %w", r.Value.Type(), want, gorm.ErrInvalidData)
	}
	return r, nil
}

// At returns row i. It returns an invalid Value for a nil element, which GORM rejects.
func (r Rows) At(i int) reflect.Value {
	if !r.Many {
		return r.Value
	}
	return reflect.Indirect(r.Value.Index(i))
}

// Index returns the index of the first row for which matches returns true, or -1. It skips
// nil elements.
func (r Rows) Index(matches func(row reflect.Value) bool) int {
	for i := range r.N {
		if row := r.At(i); row.IsValid() && matches(row) {
			return i
		}
	}
	return -1
}

// Contain reports whether matches returns true for at least one row.
func (r Rows) Contain(matches func(row reflect.Value) bool) bool { return r.Index(matches) >= 0 }

// Target returns the struct or the list behind value, which is the argument of a function
// that sets keys in rows. It also returns the type of the rows, for example Order for a
// *[]*Order. It returns an error if value contains no structs, or is a copy that cannot be
// set.
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
	// The elements of a slice can be set without a pointer to the slice.
	case v.Kind() != reflect.Slice && !v.CanAddr():
		return v, nil, fmt.Errorf("got %T, a copy that cannot be set: want a pointer to it", value)
	}
	return v, row, nil
}

// PlainKeys reads 64-bit integer keys that are in the rows themselves, not behind a
// pointer. The keys of nearly all models are of this kind.
type PlainKeys struct {
	size, offset uintptr // size of a row, and offset of the key in it
}

// PlainKeysOf returns a reader of the keys in the field f. It returns nil if the field is
// not a 64-bit integer, or is behind a pointer. The offset of the key in a row is the sum of
// the offsets of the embedded structs and of the field.
func PlainKeysOf(f *schema.Field) *PlainKeys {
	if t := f.FieldType; !reflect.Zero(t).CanInt() && !reflect.Zero(t).CanUint() || t.Bits() != 64 {
		return nil
	}
	row := f.Schema.ModelType
	p := &PlainKeys{size: row.Size()}
	for _, i := range f.StructField.Index {
		if i < 0 { // GORM marks an embedded pointer by a negative index
			return nil
		}
		p.offset += row.Field(i).Offset
		row = row.Field(i).Type
	}
	return p
}

// In returns an iterator over pointers to the keys of the rows. rows is a slice or an
// addressable array of structs. The pointers also serve uint64 keys and named types, which
// have the same 64 bits. In computes the address of each key, because reflection would take
// ten times as long in each pass over the rows.
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

// Lack returns the number of keys that are 0.
func (p *PlainKeys) Lack(rows reflect.Value) (n int) {
	for key := range p.In(rows) {
		if *key == 0 {
			n++
		}
	}
	return n
}

// Maps returns the maps of a create in one of the forms that GORM accepts, or false if
// dest is of another type.
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

// ZeroInMap reports whether the map has NULL or 0 for the field, and whether the map
// contains the field at all. GORM accepts several names of a field, such as ID and id. If
// the map has the field under two names, zero is set if either value is NULL or 0, because
// the database may take either.
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

// isZero reports whether the column would become NULL or 0, or may become 0 because a
// database rounds or converts the value, such as 0.3 or "0.0". It returns false for values
// that GORM or the driver converts itself, such as an SQL expression.
func isZero(value any) bool {
	if v := reflect.ValueOf(value); v.CanInt() && v.Int() != 0 {
		return false // the common case, without the allocations below
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
		return roundsToZero(v)
	default:
		return v == nil || reflect.ValueOf(v).IsZero()
	}
}

// isZeroText reports whether a database may read text as 0. SQLite and MySQL, for
// example, read 0.0 as 0. It also returns true for empty text, because that is an unset
// key in a text column, and because MySQL without its strict mode reads it as 0.
func isZeroText(text string) bool {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	return text == "" || err == nil && roundsToZero(f)
}

// roundsToZero reports whether a database may convert f to the key 0. MariaDB rounds 0.5
// to 0, and PostgreSQL's driver truncates fractions.
func roundsToZero(f float64) bool { return math.Abs(f) < 1 }
