package model

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/gormflake/gormflake/types"
)

// Kind is the Go form of a key: a 64-bit integer or a string, possibly inside
// sql.Null, possibly behind a pointer.
type Kind struct {
	scalar   reflect.Kind // Int64, Uint64 or String: a switch has the last as its default
	nullable bool         // a struct {value; Valid bool} of database/sql
	pointer  bool
}

// KindOf returns the kind of a field of type t, or an error if it cannot hold
// every ID.
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
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32:
	default:
		return Kind{}, fmt.Errorf("type %s cannot hold an ID: use types.ID, int64, uint64 or string", t)
	}
	if t.Bits() < 64 {
		return Kind{}, fmt.Errorf("type %s has %d bits, an ID needs 64: use types.ID or int64", t, t.Bits())
	}
	return k, nil
}

// IsText reports whether a value of type t is a string in JSON: it writes its text
// itself, as an ID does.
func IsText(t reflect.Type) bool {
	t = indirect(t)
	return t.Kind() == reflect.String || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
}

// IsID reports whether t is an ID of package types.
func IsID(t reflect.Type) bool {
	return t.Kind() == reflect.Int64 && t.PkgPath() == reflect.TypeFor[types.ID]().PkgPath()
}

// SerialKindOf is [KindOf] for a field of a serial number.
func SerialKindOf(t reflect.Type) (Kind, error) {
	k, err := KindOf(t)
	if err != nil || !k.IsString() {
		return Kind{}, fmt.Errorf("type %s cannot hold a serial number: use string", t)
	}
	return k, nil
}

// unwrap removes the wrappers; ok is false if one of them is empty.
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

// allocate fills the wrappers and returns the scalar inside. A pointer gets a new
// target, because several rows may share the old one.
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

// Optional reports whether the field has a value for "unset" other than zero.
func (k Kind) Optional() bool { return k.pointer || k.nullable }

// ConvertsTo reports whether [Column.Get] and [Column.Set] carry every value of
// kind k to a field of the other kind. Strings may hold more than IDs.
func (k Kind) ConvertsTo(other Kind) bool {
	return k.scalar == reflect.Int64 || k.scalar == reflect.Uint64 && other.scalar != reflect.String
}
