package guard

import (
	"iter"
	"reflect"
	"unsafe"

	"gorm.io/gorm/schema"
)

// PlainKeys are integers of 64 bits in the rows themselves, with no pointer to
// follow: those of nearly all models.
type PlainKeys struct {
	size, offset uintptr // of a row, and of the key in it
}

// PlainKeysOf returns nil if the field is of another kind.
func PlainKeysOf(f *schema.Field) *PlainKeys {
	if t := f.FieldType; !reflect.Zero(t).CanInt() && !reflect.Zero(t).CanUint() || t.Bits() != 64 {
		return nil
	}
	row := f.Schema.ModelType
	p := &PlainKeys{size: row.Size()}
	for _, i := range f.StructField.Index {
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

// Lack returns how many of the keys are 0.
func (p *PlainKeys) Lack(rows reflect.Value) (n int) {
	for key := range p.In(rows) {
		if *key == 0 {
			n++
		}
	}
	return n
}
