package types

import (
	"cmp"
)

// An ID is the primary key of a row. IDs have the order of their numbers, can be
// compared with == and used as map keys, and convert to and from int64.
//
// The zero ID means "not assigned yet". Use a *ID for a column that can be NULL.
type ID int64

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }

// IsZero reports whether the ID is not assigned yet. encoding/json calls it for fields
// with the option omitzero.
func (id ID) IsZero() bool { return id == 0 }

// Compare returns -1 if id is less than other, 0 if they are equal and +1 if id is
// greater. It can be used with [slices.SortFunc] as types.ID.Compare.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }

// magnitude returns the absolute value. It is a uint64, because the absolute value of the
// lowest int64 does not fit into an int64.
func (id ID) magnitude() uint64 {
	if id < 0 {
		return -uint64(id)
	}
	return uint64(id)
}
