package types

import "encoding/json"

var _ json.Unmarshaler = (*ID)(nil)

// UnmarshalJSON reads a string or a number, either of them in the form that
// [ParseID] takes. Hence a fraction, an exponent or a sign is an error even
// where the number is whole, and so is a digit written as an escape sequence.
// A number is for clients that have 64-bit integers; from JavaScript it arrives
// with digits lost, which nobody can detect.
//
// As with all values that are no pointers in encoding/json, null changes
// nothing. The ID is zero after an error.
func (id *ID) UnmarshalJSON(b []byte) (err error) {
	if string(b) == "null" {
		return nil
	}
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		b = b[1 : n-1]
	}
	*id, err = parseDecimal("ID.UnmarshalJSON", b)
	return err
}
