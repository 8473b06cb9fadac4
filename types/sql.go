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

// Scan reads an ID from a row. It accepts an int64, a uint64 up to [math.MaxInt64], and
// decimal text, which numeric and text columns and the text protocol of MySQL return.
// It also accepts that text in quotation marks, which is a string in a JSON column, and
// NULL, which becomes the zero ID. To distinguish NULL from zero, scan into a *ID.
//
// Scan also accepts any other integer, a named type of an integer or string, and a pointer
// to such a value. Drivers do not return these values. But GORM calls Scan when it copies
// a key from one struct to another, for example to a foreign key, and the code that ent
// generates calls Scan with a pointer.
//
// Scan accepts more than [ParseID], because stored data must stay readable. It reads
// negative numbers, and in text a minus sign and leading zeros. Any other value is an
// error, including a float64, whose last digits may already be lost, and null in a JSON
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

// scanKind reads a value of a type that Scan does not list: another integer, a named integer or
// string, or a pointer to a value that Scan accepts. Drivers do not return these, but GORM, its
// serializers and ent's generated code pass them to Scan.
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

// scanText parses the text of a column, or the same text in quotation marks, which is a
// string in a JSON column.
func scanText[T stringOrBytes](s T) (ID, error) {
	if n := len(s); n >= 2 && s[0] == '"' && s[n-1] == '"' {
		return parseStored("ID.Scan", s[1:n-1])
	}
	return parseStored("ID.Scan", s)
}

// parseStored parses the decimal text of any int64, which may have a minus sign and leading
// zeros, because stored data must stay readable. fn is the name of the calling function, for
// errors.
func parseStored[T stringOrBytes](fn string, s T) (ID, error) {
	n, err := strconv.ParseInt(string(s), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, &parseError{fn, string(s), "out of range of int64"}
	}
	if err != nil || s[0] == '+' { // ParseInt accepts a plus sign
		return 0, &parseError{fn, string(s), "want a decimal integer"}
	}
	return ID(n), nil
}

// Value returns an int64, for the zero ID too. To write NULL, use a nil *ID. The error
// is always nil.
//
// pgx calls it for parameters of every type, so an ID alone is a number in a jsonb
// parameter too. In a struct or a map there it is a string.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

var (
	_ schema.GormDataTypeInterface  = ID(0)
	_ schema.CreateClausesInterface = ID(0)
)

// columnKind is the data type of an ID field in GORM's schema, unless the field's tag has a
// type. It is not GORM's own "int", because GORM makes a primary key of that type
// auto-increment.
const columnKind = "bigint"

// GormDataType returns the data type of the field in GORM's schema, "bigint". GORM does not make
// a primary key of this type auto-increment. The type of the column is the result of
// [ID.GormDBDataType].
func (ID) GormDataType() string { return columnKind }

// GormDBDataType returns the type of the column that GORM's migrator creates. It is
// integer in SQLite, where a primary key of exactly this type is the table's row number
// and needs no second index, and BIGINT in all other databases.
//
// It returns "", which leaves the type to GORM, in three cases. In the first case, the
// field's own gorm tag has a type. In the second case, the field is a foreign key, to
// which GORM gives the type of the key that it refers to. In the third case, which does
// not apply to SQLite, the tag autoIncrement lets the database assign the key.
func (ID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if field != nil && (field.TagSettings["TYPE"] != "" || field.DataType != columnKind) {
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
// primary key is this field and is unset. The error names the cause and the fix. Either
// package gormflake's plugin is not registered, the field has no tag, or a hook has set
// the key back to 0. GORM calls CreateClauses once for each model. For a *ID, it also
// keeps GORM from calling Value on a nil pointer.
//
// A row may lack its key if the database assigns it, by the tag autoIncrement or
// default, if the create omits it, and under gormflake.Skip. Without the plugin GORM
// does not check creates that are [gorm.DB.Unscoped].
func (ID) CreateClauses(field *schema.Field) []clause.Interface {
	hideNil(field)
	return guard.Clauses(field)
}

// hideNil makes field.ValueOf, by which GORM reads a field that is a *ID, return nil instead of
// a nil *ID. GORM would call Value on the nil *ID when it collects the columns of a foreign key
// of several columns, and that call would panic. hideNil leaves a field with a serializer
// unchanged, because its ValueOf returns the serializer's value, which is never a nil *ID.
//
// hideNil may change the field, because GORM calls CreateClauses while it parses the schema,
// after it has set ValueOf and before another goroutine can use the schema.
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
