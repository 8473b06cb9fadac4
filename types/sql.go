package types

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/guard"
)

var (
	_ sql.Scanner   = (*ID)(nil)
	_ driver.Valuer = ID(0)
)

// Scan reads an ID from a row: from an int64, from a uint64 up to
// [math.MaxInt64], from decimal text, as numeric and text columns and the text
// protocol of MySQL give it, from that text in quotation marks, which is a string
// in a JSON column, and from NULL, which is the zero ID; scan into a *ID to tell
// them apart. GORM also passes it the keys of structs, which may be any integer or
// string, or a named type of one, and ent a pointer to one.
//
// Scan is wider than [ParseID], for what is stored must stay readable: it takes
// negative numbers, and in text a minus sign and leading zeros. All else is an
// error, also a float64, whose last digits may be lost already, and null in a JSON
// column. The ID is zero after an error.
func (id *ID) Scan(src any) (err error) {
	*id = 0
	switch v := src.(type) {
	case nil:
	case int64:
		*id = ID(v)
	case uint64:
		if v > math.MaxInt64 {
			return fmt.Errorf("types: ID.Scan(%d): %s", v, outOfRange)
		}
		*id = ID(v)
	case string:
		*id, err = scanText(v)
	case []byte:
		*id, err = scanText(v)
	default:
		return id.scanKind(reflect.ValueOf(src))
	}
	return err
}

// scanKind reads other integers, named types and pointers, which drivers do not give,
// but GORM, its serializers and ent's generated code do.
func (id *ID) scanKind(v reflect.Value) error {
	switch {
	case v.CanInt():
		return id.Scan(v.Int())
	case v.CanUint():
		return id.Scan(v.Uint())
	case v.Kind() == reflect.String:
		return id.Scan(v.String())
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return id.Scan(v.Elem().Interface())
	default:
		return fmt.Errorf("types: ID.Scan: cannot read %s: want an integer or its decimal text", v.Type())
	}
}

func scanText[T text](s T) (ID, error) {
	if n := len(s); n >= 2 && s[0] == '"' && s[n-1] == '"' {
		return parseStored("ID.Scan", s[1:n-1])
	}
	return parseStored("ID.Scan", s)
}

// parseStored reads the text of any int64 for the function fn.
func parseStored[T text](fn string, s T) (ID, error) {
	n, err := strconv.ParseInt(string(s), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, &parseError{fn, string(s), "out of range of int64"}
	}
	if err != nil || s[0] == '+' {
		return 0, &parseError{fn, string(s), "want a decimal integer"}
	}
	return ID(n), nil
}

// Value gives the driver an int64, for the zero ID too: NULL is a nil *ID. The
// error is always nil.
//
// pgx asks it for parameters of every type, so an ID alone is a number in a jsonb
// parameter too. In a struct or a map it is a string there.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

var (
	_ schema.GormDataTypeInterface  = ID(0)
	_ schema.CreateClausesInterface = ID(0)
)

// ownType is the type of a field with no type in a tag. It is not GORM's own
// "int", since GORM makes a primary key of that kind auto-increment.
const ownType = "bigint"

// GormDataType is the kind of column that GORM plans with, "bigint".
func (ID) GormDataType() string { return ownType }

// GormDBDataType is the type of the column that GORM's migrator creates: integer
// in SQLite, where only a primary key declared so is the table's row number and
// needs no second index, and BIGINT in all other databases.
//
// It leaves the type to GORM where that knows better: a type in the field's own
// gorm tag, the type of the key that a foreign key refers to, and a key with the
// tag autoIncrement, which the database assigns.
func (ID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if field != nil && (field.TagSettings["TYPE"] != "" || field.DataType != ownType) {
		return ""
	}
	if db.Name() == "sqlite" {
		return "integer"
	}
	if field != nil && field.AutoIncrement {
		return ""
	}
	return "BIGINT"
}

// CreateClauses makes GORM return an error instead of inserting a row whose only
// primary key is this field and is unset. The error names the cause and the fix:
// package gormflake's plugin is not registered, the field has no tag, or a hook has
// set the key back to 0. GORM calls CreateClauses once for each model. For a *ID, it
// also keeps GORM from calling Value on a nil pointer.
//
// A row may lack its key if the database assigns it, by the tag autoIncrement or
// default, if the create omits it, and under gormflake.Skip. Without the plugin
// GORM does not check creates that are [gorm.DB.Unscoped].
func (ID) CreateClauses(field *schema.Field) []clause.Interface {
	hideNil(field)
	return guard.Clauses(field)
}

// hideNil makes GORM see no value, rather than a nil pointer, in a field that is a
// pointer to an ID. It calls Value on the pointer when it puts the columns of a foreign
// key of several columns together, and Value needs an ID. GORM has set the field's
// functions already, and shares the schema with no other goroutine yet.
func hideNil(field *schema.Field) {
	valueOf := field.ValueOf
	if field.FieldType.Kind() != reflect.Pointer || field.Serializer != nil || valueOf == nil {
		return
	}
	field.ValueOf = func(ctx context.Context, row reflect.Value) (any, bool) {
		value, zero := valueOf(ctx, row)
		if zero {
			return nil, true
		}
		return value, false
	}
}
