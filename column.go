package gormflake

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/types"
)

// column is one tagged field of a model. A row is the model's struct value; to
// set it must be addressable.
type column struct {
	field   *schema.Field
	gen     string         // name of the generator, "" for the default one
	primary bool           // snowflake:"pk"
	serial  *serial.Format // snowflake:"serial=…", nil for a key
	code    string         // of the serial numbers
	last    types.ID       // the largest ID that has a serial number

	path   []int // indexes of fields; that of an embedded pointer is -index-1
	kind   kind
	source Generator
}

// unset reports whether the row still lacks this key: it is zero, nil, NULL or
// the empty string.
func (c *column) unset(row reflect.Value) bool {
	v, ok := c.find(row)
	return !ok || c.kind.unset(v)
}

// plain reports whether the key is an integer in the row itself, with no pointer
// to follow.
func (c *column) plain() bool {
	behind := slices.ContainsFunc(c.path, func(i int) bool { return i < 0 })
	return !behind && c.kind == kind{scalar: reflect.Int64}
}

// get returns the key of the row, 0 if it is unset or a string that is no ID.
func (c *column) get(row reflect.Value) types.ID {
	v, ok := c.find(row)
	if !ok {
		return 0
	}
	return c.kind.get(v)
}

// set stores id.
func (c *column) set(row reflect.Value, id types.ID) { c.kind.set(c.reach(row), id) }

// reach returns the field, allocating embedded pointers on the way as GORM does.
func (c *column) reach(row reflect.Value) reflect.Value {
	for _, i := range c.path {
		if i >= 0 {
			row = row.Field(i)
			continue
		}
		row = row.Field(-i - 1)
		if row.IsNil() {
			row.Set(reflect.New(row.Type().Elem()))
		}
		row = row.Elem()
	}
	return row
}

// take fills the key of a row that lacks it from ids. It returns those that are
// left; ok is false where there was none to take.
func (c *column) take(row reflect.Value, ids []types.ID) (left []types.ID, ok bool) {
	v, reached := c.find(row)
	switch {
	case reached && !c.kind.unset(v):
		return ids, true
	case len(ids) == 0:
		return nil, false
	case reached:
		c.kind.set(v, ids[0])
	default:
		c.set(row, ids[0])
	}
	return ids[1:], true
}

// find reaches the field without allocating; ok is false behind a nil pointer.
func (c *column) find(row reflect.Value) (v reflect.Value, ok bool) {
	for _, i := range c.path {
		if i >= 0 {
			row = row.Field(i)
			continue
		}
		row = row.Field(-i - 1)
		if row.IsNil() {
			return row, false
		}
		row = row.Elem()
	}
	return row, true
}

// quotedGen names a generator in a message, unless it is the default one.
func quotedGen(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}
