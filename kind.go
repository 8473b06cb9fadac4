package gormflake

import (
	"fmt"
	"reflect"

	"github.com/gormflake/gormflake/types"
)

// kind is the Go form of a key: a 64-bit integer or a string, possibly inside
// sql.Null, possibly behind a pointer.
type kind struct {
	scalar  reflect.Kind // Int64, Uint64 or String
	null    bool         // a struct {value; Valid bool} of database/sql
	pointer bool
}

func kindOf(t reflect.Type) (kind, error) {
	k := kind{}
	if t.Kind() == reflect.Pointer {
		k.pointer = true
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && t.NumField() == 2 && t.Field(1).Name == "Valid" {
		k.null = true
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
		return kind{}, fmt.Errorf("type %s cannot hold an ID: use types.ID, int64, uint64 or string", t)
	}
	if t.Bits() < 64 {
		return kind{}, fmt.Errorf("type %s has %d bits, an ID needs 64: use types.ID or int64", t, t.Bits())
	}
	return k, nil
}

// serialKindOf is kindOf for a field that holds a serial number.
func serialKindOf(t reflect.Type) (kind, error) {
	k, err := kindOf(t)
	if err != nil || !k.isString() {
		return kind{}, fmt.Errorf("type %s cannot hold a serial number: use string", t)
	}
	return k, nil
}

// scalarOf takes the wrappers off; ok is false where one of them is empty.
func (k kind) scalarOf(v reflect.Value) (scalar reflect.Value, ok bool) {
	if k.pointer {
		if v.IsNil() {
			return v, false
		}
		v = v.Elem()
	}
	if k.null {
		if !v.Field(1).Bool() {
			return v, false
		}
		v = v.Field(0)
	}
	return v, true
}

func (k kind) unset(v reflect.Value) bool {
	if k.pointer || k.null {
		var ok bool
		if v, ok = k.scalarOf(v); !ok {
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

func (k kind) get(v reflect.Value) types.ID {
	v, ok := k.scalarOf(v)
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

// target puts the wrappers on, and gives a pointer a new target: the old one may
// be shared by several rows.
func (k kind) target(v reflect.Value) reflect.Value {
	if k.pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if k.null {
		v.Field(1).SetBool(true)
		v = v.Field(0)
	}
	return v
}

func (k kind) set(v reflect.Value, id types.ID) {
	v = k.target(v)
	switch k.scalar {
	case reflect.Int64:
		v.SetInt(id.Int64())
	case reflect.Uint64:
		v.SetUint(uint64(id.Int64()))
	default:
		v.SetString(id.String())
	}
}

func (k kind) isString() bool { return k.scalar == reflect.String }
