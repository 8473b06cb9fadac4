package types

import (
	"strconv"
	"strings"
)

// base32Len is the width that 63 bits need at 5 bits for each character. Two
// bits of the 65 are over, so the first character is at most 7.
const base32Len = 13

const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var base32 = newBase32()

func newBase32() *alphabet {
	a := newAlphabet(base32Digits)
	for value, c := range strings.ToLower(base32Digits) {
		a.values[c] = byte(value)
	}
	for _, c := range "iIlL" {
		a.values[c] = 1
	}
	a.values['o'], a.values['O'] = 0, 0
	return a
}

// Base32 returns the ID in Crockford's base 32, always 13 characters, so that
// texts sort as their IDs do. It is the form to print or to read aloud: it does
// not depend on upper and lower case and has no I, L, O and U. A negative ID
// is written as a minus sign and its absolute value.
func (id ID) Base32() string {
	var buf [1 + base32Len]byte
	n := id.magnitude()
	for i := base32Len; i > 0; i-- {
		buf[i] = base32Digits[n&31]
		n >>= 5
	}
	if id < 0 {
		buf[0] = '-'
		return string(buf[:])
	}
	return string(buf[1:])
}

// ParseBase32 reads the text of [ID.Base32], in upper or lower case and with i
// and l for 1 and o for 0, as people write it down. A number above [math.MaxInt64],
// a length other than 13, a sign, a hyphen and a check symbol are errors, as is any
// other text; the error quotes s. The ID is zero if the error is not nil.
//
// This is the one form in which an ID has several texts; compare the IDs.
func ParseBase32(s string) (ID, error) {
	const fn = "ParseBase32"
	if len(s) != base32Len {
		return 0, &parseError{fn, s, "length " + strconv.Itoa(len(s)) + ": want 13 characters"}
	}
	return base32.value(fn, s)
}
