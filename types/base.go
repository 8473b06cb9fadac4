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
func (id ID) Base58() string { return id.formatBase(base58Digits) }

// ParseBase58 reads the text of [ID.Base58]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading 1, which is the digit zero, and
// the empty string are errors, as is any other text; the error quotes s. The ID is
// zero if the error is not nil.
func ParseBase58(s string) (ID, error) { return base58.parseShortest("ParseBase58", s) }

// Base62 returns the ID in base 62, in at most 11 characters: digits before upper
// case before lower case. A negative ID is written as a minus sign and its absolute
// value.
func (id ID) Base62() string { return id.formatBase(base62Digits) }

// ParseBase62 reads the text of [ID.Base62]. Upper and lower case differ. A minus
// sign, a number above [math.MaxInt64], a leading zero and the empty string are
// errors, as is any other text; the error quotes s. The ID is zero if the error is
// not nil.
func ParseBase62(s string) (ID, error) { return base62.parseShortest("ParseBase62", s) }

// formatBase returns the ID in base len(digits), in which digits[n] is the digit of value n.
// It is short enough for the compiler to inline it into its callers, where the base is a
// constant and a division becomes a multiplication.
func (id ID) formatBase(digits string) string {
	var buf [12]byte // a sign and 11 digits, which suffice in base 58 and above; filled from the end
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

// base32Len is the number of characters of an ID in base 32. Each of the 13 characters has 5
// bits, which makes 65 bits. An ID has 63 bits, so the first character of an ID is at most 7.
const base32Len = 13

const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var base32 = newBase32()

// newBase32 returns the alphabet by which ParseBase32 reads Crockford's base 32. Lower case has
// the same values as upper case. The letters that people mix up with digits have values too: I
// and L are 1, and O is 0.
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
	for i := base32Len; i > 0; i-- { // from the last character to the first, 5 bits each
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
	return base32.parseDigits(fn, s)
}

// An alphabet is the digits of a base, for parsing. It does not change after it is made.
type alphabet struct {
	base   uint64
	values [256]byte // the value of each byte as a digit, or notDigit
}

// notDigit is the value of a byte that is not a digit. It is larger than every base.
const notDigit = 0xff

// newAlphabet returns the alphabet of base len(digits), in which digits[n] is the digit of
// value n.
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

// parseShortest parses a number without leading zeros, so that two different texts are never
// the same ID. fn is the name of the calling function, for errors.
func (a *alphabet) parseShortest(fn, s string) (ID, error) {
	if s == "" {
		return 0, &parseError{fn, s, "empty: " + a.want()}
	}
	if a.values[s[0]] == 0 && len(s) > 1 {
		return 0, &parseError{fn, s, "leading " + strconv.QuoteRune(rune(s[0])) + ", which is the digit zero: want the shortest form"}
	}
	return a.parseDigits(fn, s)
}

// parseDigits parses a number, with or without leading zeros. It rejects bytes that are not
// digits, and numbers above [math.MaxInt64]. fn is the name of the calling function, for
// errors.
func (a *alphabet) parseDigits(fn, s string) (ID, error) {
	var n uint64
	limit := math.MaxInt64 / a.base // a larger n times the base is out of range
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

// want returns the end of an error, for example "want digits of base 58 only".
func (a *alphabet) want() string {
	return "want digits of base " + strconv.FormatUint(a.base, 10) + " only"
}
