package types

import (
	"encoding/json"
	"math"
)

var _ json.Unmarshaler = (*ID)(nil)

// UnmarshalJSON reads a string or a number, in the form that [ParseID] reads. Therefore
// a fraction, an exponent or a sign is an error even if the number is whole, and so is
// a digit written as an escape sequence. Numbers are for clients that have 64-bit
// integers. From JavaScript a number arrives with digits lost, which UnmarshalJSON
// cannot detect.
//
// As encoding/json requires, null does not change the ID. The ID is zero after an
// error.
func (id *ID) UnmarshalJSON(b []byte) error {
	// Nearly every ID is a string of 16 to 19 digits between two quotation marks. Parse such a
	// string here, without a call: eight digits at once, another eight, and the rest one by one.
	// unmarshalSlow parses every other value, and returns the errors, also of such a string.
	if n := len(b); n >= 16+2 && n <= maxDigits+2 && b[0] == '"' && b[n-1] == '"' && b[1] != '0' {
		digits := b[1 : n-1]
		first, second := eightFrom(digits), eightFrom(digits[8:])
		if first.nonDigits()|second.nonDigits() == 0 {
			number := first.value()*1e8 + second.value()
			for _, c := range digits[16:] {
				digit := uint64(c) - '0'
				if digit > 9 {
					return id.unmarshalSlow(b)
				}
				number = number*10 + digit
			}
			if number <= math.MaxInt64 {
				*id = ID(number)
				return nil
			}
		}
	}
	return id.unmarshalSlow(b)
}

// unmarshalSlow reads every JSON value that UnmarshalJSON accepts, and returns its errors.
func (id *ID) unmarshalSlow(b []byte) (err error) {
	if string(b) == "null" {
		return nil
	}
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		b = b[1 : n-1]
	}
	*id, err = parseDecimal("ID.UnmarshalJSON", b)
	return err
}
