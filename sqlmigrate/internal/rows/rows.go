// Package rows reads the rows of a query into Go values.
package rows

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
)

// A Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Read returns the rows of a query. It scans each row into a T. T is, for example, int64
// or, if the query has several columns, a struct whose fields get the columns in their
// order, see [Fields]. After an error Read returns no rows.
func Read[T any](ctx context.Context, from Querier, query string, args ...any) ([]T, error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		var row T
		if err := rows.Scan(Fields(&row)...); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	return found, nil
}

// Fields returns the arguments with which [sql.Rows.Scan] scans a row into the value to
// which row points. For a struct, these are pointers to its fields in their order,
// including the fields of nested structs. A field with the tag row:"-" is left out. A
// slice, and a field with the tag row:"json", is decoded from JSON text.
func Fields(row any) []any { return fields(reflect.ValueOf(row).Elem()) }

// fields returns the arguments of Scan for the value v, as [Fields] does. A value that
// implements [sql.Scanner] is a single argument, even if it is a struct.
func fields(v reflect.Value) []any {
	into := v.Addr().Interface()
	if _, scans := into.(sql.Scanner); scans {
		return []any{into}
	}
	switch v.Kind() {
	case reflect.Slice:
		return []any{fromJSON{into}}
	case reflect.Struct:
		var found []any
		for i := range v.NumField() {
			switch v.Type().Field(i).Tag.Get("row") {
			case "-": // no column of the query belongs to this field
			case "json":
				found = append(found, fromJSON{v.Field(i).Addr().Interface()})
			default:
				found = append(found, fields(v.Field(i))...)
			}
		}
		return found
	default:
		return []any{into}
	}
}

// A fromJSON is the destination of a column whose JSON text it decodes. NULL leaves the
// value unchanged.
type fromJSON struct{ into any }

// Scan implements [sql.Scanner].
func (j fromJSON) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal([]byte(text.String), j.into)
}

// Texts returns the names of the columns of a query, and its rows with all values as text
// or NULL. It is for queries whose columns are not known when the code is written.
func Texts(ctx context.Context, from Querier, query string) (names []string, texts [][]sql.NullString, err error) {
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	names, err = rows.Columns()
	for err == nil && rows.Next() {
		row, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range into {
			into[i] = &row[i]
		}
		err = rows.Scan(into...)
		texts = append(texts, row)
	}
	return names, texts, errors.Join(err, rows.Err(), rows.Close())
}
