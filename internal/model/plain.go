package model

import (
	"iter"
	"reflect"
	"unsafe"

	"github.com/gormflake/gormflake/types"
)

// PlainKeys are integers of 64 bits in the rows themselves, with no pointer to
// follow: those of nearly all models.
type PlainKeys struct {
	size, offset uintptr // of a row, and of the key in it
}

// plainKeys returns nil if the column is of another kind.
func plainKeys(c *Column) *PlainKeys {
	if c.Kind.Optional() || c.Kind.IsString() {
		return nil
	}
	row := c.Field.Schema.ModelType
	p := &PlainKeys{size: row.Size()}
	for _, i := range c.path {
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
func (p *PlainKeys) In(rows reflect.Value) iter.Seq[*types.ID] {
	return func(yield func(*types.ID) bool) {
		if rows.Len() == 0 {
			return
		}
		first := rows.Index(0).Addr().UnsafePointer()
		for i := range uintptr(rows.Len()) {
			if !yield((*types.ID)(unsafe.Add(first, i*p.size+p.offset))) {
				return
			}
		}
	}
}
