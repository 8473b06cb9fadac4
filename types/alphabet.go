package types

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// An alphabet is the value of each byte as a digit, and how many digits there
// are. It is not changed once it is made.
type alphabet struct {
	base   uint64
	values [256]byte
}

// notDigit is the value of a byte that is not a digit; no base is that large.
const notDigit = 0xff

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

// parse reads s for the function fn.
func (a *alphabet) parse(fn, s string) (ID, error) {
	if s == "" {
		return 0, &parseError{fn, s, "empty: " + a.want()}
	}
	if a.values[s[0]] == 0 && len(s) > 1 {
		return 0, &parseError{fn, s, "leading " + strconv.QuoteRune(rune(s[0])) + ", which is the digit zero: want the shortest form"}
	}
	return a.value(fn, s)
}

// value reads the digits of s.
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

func (a *alphabet) want() string {
	return "want digits of base " + strconv.FormatUint(a.base, 10) + " only"
}

// unexpected names the character at offset i of s.
func unexpected(s string, i int) string {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return "unexpected " + strconv.QuoteRune(r) + " at offset " + strconv.Itoa(i)
}
