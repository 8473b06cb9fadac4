package model

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/gormflake/gormflake/types"
)

// Kind describes the Go type of a key. The type is a 64-bit integer or a string,
// optionally wrapped in sql.Null, and optionally behind a pointer.
type Kind struct {
	scalar   reflect.Kind // Int64, Uint64, or String, which is the default case of each switch
	nullable bool         // a struct {value; Valid bool} of database/sql, such as sql.NullInt64
	pointer  bool
}

// KindOf returns the kind of a field of type t, or an error if the type cannot hold every
// ID.
func KindOf(t reflect.Type) (Kind, error) {
	k := Kind{}
	if t.Kind() == reflect.Pointer {
		k.pointer = true
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && t.NumField() == 2 && t.Field(1).Name == "Valid" {
		k.nullable = true
		t = t.Field(0).Type
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		k.scalar = reflect.Int64
	case reflect.Uint, reflect.Uint64:
		k.scalar = reflect.Uint64
	case reflect.String:
		k.scalar = reflect.String
		return k, nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32: // too few bits, see below
	default:
		return Kind{}, fmt.Errorf("type %s cannot hold an ID: use types.ID, int64, uint64 or string", t)
	}
	// An int or uint has 32 bits on some platforms.
	if t.Bits() < 64 {
		return Kind{}, fmt.Errorf("type %s has %d bits, an ID needs 64: use types.ID or int64", t, t.Bits())
	}
	return k, nil
}

// SerialKindOf returns the kind of a field of type t, or an error if the type cannot hold
// a serial number.
func SerialKindOf(t reflect.Type) (Kind, error) {
	k, err := KindOf(t)
	if err != nil || !k.IsString() {
		return Kind{}, fmt.Errorf("type %s cannot hold a serial number: use string", t)
	}
	return k, nil
}

// IsText reports whether a value of type t is a string in JSON. It returns true for strings
// and for types that marshal themselves, such as types.ID.
func IsText(t reflect.Type) bool {
	t = indirect(t)
	return t.Kind() == reflect.String || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
}

// IsID reports whether t is types.ID or a type types.Of[T], the integer types of package
// types.
func IsID(t reflect.Type) bool {
	return t.Kind() == reflect.Int64 && t.PkgPath() == reflect.TypeFor[types.ID]().PkgPath()
}

// IDDigits is the number of decimal digits of the largest ID.
const IDDigits = 19

// unwrap returns the scalar inside the wrappers, or false if a wrapper is nil or NULL.
func (k Kind) unwrap(v reflect.Value) (scalar reflect.Value, ok bool) {
	if k.pointer {
		if v.IsNil() {
			return v, false
		}
		v = v.Elem()
	}
	if k.nullable {
		if !v.Field(1).Bool() {
			return v, false
		}
		v = v.Field(0)
	}
	return v, true
}

// Unset reports whether v is zero, nil, NULL or the empty string.
func (k Kind) Unset(v reflect.Value) bool {
	if k.Optional() {
		var ok bool
		if v, ok = k.unwrap(v); !ok {
			return true
		}
	}
	switch k.scalar {
	case reflect.Int64:
		return v.Int() == 0
	case reflect.Uint64:
		return v.Uint() == 0
	default:
		return v.Len() == 0
	}
}

// get returns the ID in v, or 0 if v is unset or is a string that is not an ID.
func (k Kind) get(v reflect.Value) types.ID {
	v, ok := k.unwrap(v)
	if !ok {
		return 0
	}
	switch k.scalar {
	case reflect.Int64:
		return types.ID(v.Int())
	case reflect.Uint64:
		return types.ID(v.Uint())
	default:
		id, _ := types.ParseID(v.String())
		return id
	}
}

// allocate sets the wrappers to a non-nil value and returns the scalar inside. It gives a
// pointer a new target, because several rows may share the old target.
func (k Kind) allocate(v reflect.Value) reflect.Value {
	if k.pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if k.nullable {
		v.Field(1).SetBool(true)
		v = v.Field(0)
	}
	return v
}

// set stores an ID in v.
func (k Kind) set(v reflect.Value, id types.ID) {
	v = k.allocate(v)
	switch k.scalar {
	case reflect.Int64:
		v.SetInt(id.Int64())
	case reflect.Uint64:
		v.SetUint(uint64(id.Int64()))
	default:
		v.SetString(id.String())
	}
}

// IsString reports whether the field holds an ID as text.
func (k Kind) IsString() bool { return k.scalar == reflect.String }

// Optional reports whether the field can be nil or NULL, and not only zero.
func (k Kind) Optional() bool { return k.pointer || k.nullable }

// ConvertsTo reports whether [Column.Get] and [Column.Set] can copy every value of kind k
// to a field of the other kind. They can copy each integer, except a uint64 to a string,
// because Get would make a large value negative. They cannot copy a string, because it may
// hold text that is not an ID.
func (k Kind) ConvertsTo(other Kind) bool {
	return k.scalar == reflect.Int64 || k.scalar == reflect.Uint64 && other.scalar != reflect.String
}

// indirect returns the type to which t points, or t if it is not a pointer.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
