package types

import "strings"

// base32Len is the width that 63 bits need at 5 bits for each character. Two
// bits of the 65 are over, so the first character is at most 7.
const base32Len = 13

// Base32 returns the ID in Crockford's base 32, always 13 characters, so that
// texts sort as their IDs do. It is the form to print or to read aloud: it does
// not depend on upper and lower case and has no I, L, O and U. That of a negative
// ID is a minus sign before the text of its absolute value.
func (id ID) Base32() string {
	var buf [1 + base32Len]byte
	n := id.magnitude()
	for i := base32Len; i > 0; i-- {
		buf[i] = crockfordDigits[n&31]
		n >>= 5
	}
	if id < 0 {
		buf[0] = '-'
		return string(buf[:])
	}
	return string(buf[1:])
}

// ParseBase32 reads the text of [ID.Base32], in upper and lower case and with i
// and l for 1 and o for 0, as people write it down. Any other text is an error
// that quotes s: one of a negative ID, above [math.MaxInt64], of other than 13
// characters, or with hyphens or a check symbol. The ID is zero if the error is
// not nil. Texts of people are not comparable before they went through
// ParseBase32.
func ParseBase32(s string) (ID, error) {
	const fn = "ParseBase32"
	var n uint64
	for i := range len(s) {
		digit := crockfordDigit(s[i])
		if digit < 0 {
			return 0, &parseError{fn, s, unexpected(s, i)}
		}
		n = n<<5 | uint64(digit)
	}
	if len(s) != base32Len {
		return 0, &parseError{fn, s, "want 13 characters"}
	}
	if s[0] > '7' && crockfordDigit(s[0]) > 7 {
		return 0, &parseError{fn, s, outOfRange}
	}
	return ID(n), nil
}

// crockfordDigit returns the value of c, or -1 if it has none.
func crockfordDigit(c byte) int {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch c {
	case 'I', 'L':
		c = '1'
	case 'O':
		c = '0'
	}
	return strings.IndexByte(crockfordDigits, c)
}
