package types

import (
	"math"
	"strconv"
	"strings"
)

const (
	base58Digits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var (
	base58 = newAlphabet(base58Digits)
	base62 = newAlphabet(base62Digits)
)

// Base58 returns the ID in base 58, in at most 11 characters without 0, O, I and l,
// which people mix up. The alphabet is Flickr's, with digits before lower case before
// upper case, as in github.com/bwmarrin/snowflake. A negative ID is written as a minus
// sign and its absolute value.
func (id ID) Base58() string { return id.format(base58Digits) }

// ParseBase58 reads the text of [ID.Base58]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading 1, which is the digit zero, and
// the empty string are errors, as is any other text; the error quotes s. The ID is
// zero if the error is not nil.
func ParseBase58(s string) (ID, error) { return base58.parse("ParseBase58", s) }

// Base62 returns the ID in base 62, in at most 11 characters: digits before upper
// case before lower case. A negative ID is written as a minus sign and its absolute
// value.
func (id ID) Base62() string { return id.format(base62Digits) }

// ParseBase62 reads the text of [ID.Base62]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading zero and the empty string are
// errors, as is any other text; the error quotes s. The ID is zero if the error is
// not nil.
func ParseBase62(s string) (ID, error) { return base62.parse("ParseBase62", s) }

// format returns the ID in the base that has these digits. It is short enough for the
// compiler to inline it into its callers, where the base is a constant and a division
// becomes a multiplication.
func (id ID) format(digits string) string {
	var buf [12]byte // 11 digits in base 58 and above, and a sign
	i := len(buf)
	base := uint64(len(digits))
	for n := id.magnitude(); ; n /= base {
		i--
		buf[i] = digits[n%base]
		if n < base {
			break
		}
	}
	if id < 0 {
		i--
		buf[i] = '-'
	}
	return string(buf[i:])
}

// base32Len is the number of characters for 63 bits at 5 bits each. Two of the 65 bits
// are unused, so the first character is at most 7.
const base32Len = 13

const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var base32 = newBase32()

// newBase32 returns the alphabet of Crockford's base 32, in which lower case, and the
// letters that people mix up with digits, have values too.
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

// Base32 returns the ID in Crockford's base 32, always 13 characters, so that texts
// sort as their IDs do. Use it to print an ID or to read it aloud, because it does not
// depend on upper and lower case and has no I, L, O and U. A negative ID is written as
// a minus sign and its absolute value.
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

// ParseBase32 reads the text of [ID.Base32], in upper or lower case. It also reads i
// and l as 1 and o as 0, as people may write them down. A number above [math.MaxInt64],
// a length other than 13, a sign, a hyphen and a check symbol are errors, as is any
// other text; the error quotes s. The ID is zero if the error is not nil.
//
// Only in this form does an ID have several texts, so compare the IDs.
func ParseBase32(s string) (ID, error) {
	const fn = "ParseBase32"
	if len(s) != base32Len {
		return 0, &parseError{fn, s, "length " + strconv.Itoa(len(s)) + ": want 13 characters"}
	}
	return base32.value(fn, s)
}

// An alphabet maps each byte to its value as a digit of a base. It does not change
// after it is made.
type alphabet struct {
	base   uint64
	values [256]byte
}

// notDigit is the value of a byte that is not a digit. It is larger than every base.
const notDigit = 0xff

// newAlphabet returns the alphabet of these digits, in the order of their values.
func newAlphabet(digits string) *alphabet {
	a := &alphabet{base: uint64(len(digits))}
	for i := range a.values {
		a.values[i] = notDigit
	}
	for i := range len(digits) {
		a.values[digits[i]] = byte(i)
	}
	return a
}

// parse parses the shortest form of a number. fn is the calling function, for errors.
func (a *alphabet) parse(fn, s string) (ID, error) {
	if s == "" {
		return 0, &parseError{fn, s, "empty: " + a.want()}
	}
	if a.values[s[0]] == 0 && len(s) > 1 {
		return 0, &parseError{fn, s, "leading " + strconv.QuoteRune(rune(s[0])) + ", which is the digit zero: want the shortest form"}
	}
	return a.value(fn, s)
}

// value parses a number, with or without leading zeros. fn is the calling function, for
// errors.
func (a *alphabet) value(fn, s string) (ID, error) {
	var n uint64
	limit := math.MaxInt64 / a.base
	for i := range len(s) {
		digit := a.values[s[i]]
		if digit == notDigit {
			return 0, &parseError{fn, s, unexpected(s, i) + ": " + a.want()}
		}
		if n > limit {
			return 0, &parseError{fn, s, outOfRange}
		}
		n = n*a.base + uint64(digit)
	}
	if n > math.MaxInt64 {
		return 0, &parseError{fn, s, outOfRange}
	}
	return ID(n), nil
}

// want returns the part of an error that names the digits.
func (a *alphabet) want() string {
	return "want digits of base " + strconv.FormatUint(a.base, 10) + " only"
}
