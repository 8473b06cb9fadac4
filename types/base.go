package types

import (
	"math"
	"strings"
)

const (
	crockfordDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	flickrDigits    = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
	base62Digits    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Base58 returns the ID in base 58, in at most 11 characters without 0, O, I and
// l, which people mix up. The alphabet is Flickr's, digits before lower case
// before upper case, as in github.com/bwmarrin/snowflake. That of a negative ID
// is a minus sign before the text of its absolute value.
func (id ID) Base58() string { return id.format(flickrDigits) }

// ParseBase58 reads the text of [ID.Base58]. Upper and lower case differ. Any
// other text is an error that quotes s: one of a negative ID, above
// [math.MaxInt64], with the digit for zero in front, or empty. The ID is zero if
// the error is not nil.
func ParseBase58(s string) (ID, error) {
	return parseBase("ParseBase58", s, flickrDigits)
}

// Base62 returns the ID in base 62, in at most 11 characters: digits before upper
// case before lower case. That of a negative ID is a minus sign before the text
// of its absolute value.
func (id ID) Base62() string { return id.format(base62Digits) }

// ParseBase62 reads the text of [ID.Base62]. Upper and lower case differ. Any
// other text is an error that quotes s: one of a negative ID, above
// [math.MaxInt64], with a zero in front, or empty. The ID is zero if the error
// is not nil.
func ParseBase62(s string) (ID, error) {
	return parseBase("ParseBase62", s, base62Digits)
}

// magnitude returns the absolute value of the ID, which a uint64 can hold for
// every int64.
func (id ID) magnitude() uint64 {
	if id < 0 {
		return -uint64(id)
	}
	return uint64(id)
}

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

func parseBase(fn, s, digits string) (ID, error) {
	if s == "" {
		return 0, &parseError{fn, s, "empty"}
	}
	if s[0] == digits[0] && len(s) > 1 {
		return 0, &parseError{fn, s, "leading zero; want the shortest form"}
	}
	var n uint64
	base := uint64(len(digits))
	for i := range len(s) {
		digit := strings.IndexByte(digits, s[i])
		if digit < 0 {
			return 0, &parseError{fn, s, unexpected(s, i)}
		}
		if n > (math.MaxInt64-uint64(digit))/base {
			return 0, &parseError{fn, s, outOfRange}
		}
		n = n*base + uint64(digit)
	}
	return ID(n), nil
}
