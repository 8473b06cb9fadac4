package fill

import (
	"database/sql/driver"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// entry is a row of the statement. It is a struct, or a map together with a scratch
// struct that contains the map's keys, so that both forms can be handled alike.
type entry struct {
	row    reflect.Value  // the struct of the caller, or the scratch struct
	values map[string]any // the map of the caller, nil for a struct
}

// entriesOf returns the rows that the statement sent. The scratch struct of a map contains
// only the given columns. If [prepare] saved the caller's list, entriesOf uses the saved
// list, because GORM may replace the caller's list by the rows that RETURNING * returns,
// which may be fewer.
func entriesOf(stmt *gorm.Statement, columns []*model.Column) (entries []entry) {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		for _, values := range maps {
			row := reflect.New(stmt.Schema.ModelType).Elem()
			copyTo(row, values, columns)
			entries = append(entries, entry{row: row, values: values})
		}
		return entries
	}
	rows, _ := rowview.Of(stmt) // BeforeInsert has rejected rows for which this fails
	if sent := readNote(stmt).sentRows; sent.N > 0 {
		rows = sent
	}
	for i := range rows.N {
		entries = append(entries, entry{row: rows.At(i)})
	}
	return entries
}

// copyToMap writes the columns of the scratch struct into the map, and removes the columns
// that are unset. It does nothing if the entry is a struct.
func (e entry) copyToMap(columns []*model.Column) {
	if e.values == nil {
		return
	}
	for _, c := range columns {
		name := nameIn(e.values, c.Field)
		if c.Unset(e.row) {
			delete(e.values, name)
			continue
		}
		e.values[name] = c.Value(e.row)
	}
}

// value returns the value that the statement inserted into a column. It returns nil for NULL,
// and for a default that the database has chosen, which is unknown.
func (e entry) value(stmt *gorm.Statement, f *schema.Field) any {
	if e.values != nil {
		return valueOrNil(e.values[nameIn(e.values, f)])
	}
	value, zero := f.ValueOf(stmt.Context, e.row)
	if zero && f.HasDefaultValue { // the database has chosen the default
		return nil
	}
	return valueOrNil(value)
}

// valueOrNil returns the value, or nil if the database stores NULL for it, for example for a nil
// pointer or for sql.NullString{}.
func valueOrNil(value any) any {
	if stored, err := driver.DefaultParameterConverter.ConvertValue(value); err == nil && stored == nil {
		return nil
	}
	return value
}

// errCopy is the error for a struct that is passed by value, if its row has another key. The
// plugin cannot set that key in a copy.
var errCopy = fmt.Errorf("the row has another key than this copy of a struct, which cannot be set: pass a pointer: %w", gorm.ErrInvalidValue)
