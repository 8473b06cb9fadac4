package types

import (
	"encoding/binary"
	"math"
)

// maxDigits is the length of 9223372036854775807. Any number of so many digits
// fits a uint64, hence one comparison at the end finds every overflow.
const maxDigits = 19

type text interface{ string | []byte }

// parseDecimal reads s for the function fn. It does not allocate unless it
// fails.
func parseDecimal[T text](fn string, s T) (ID, error) {
	if len(s) == 0 || len(s) > maxDigits || s[0] == '0' && len(s) > 1 {
		return 0, decimalError(fn, string(s))
	}
	var n uint64
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] {
		digits := eightOf([]byte(rest[:8]))
		if digits.wrong() != 0 {
			return 0, decimalError(fn, string(s))
		}
		n = n*1e8 + digits.value()
	}
	for i := range len(rest) {
		digit := rest[i] - '0'
		if digit > 9 {
			return 0, decimalError(fn, string(s))
		}
		n = n*10 + uint64(digit)
	}
	if n > math.MaxInt64 {
		return 0, decimalError(fn, string(s))
	}
	return ID(n), nil
}

// decimalError finds out what is wrong with s.
func decimalError(fn, s string) error {
	if s == "" {
		return &parseError{fn, s, "empty; want decimal digits"}
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return &parseError{fn, s, unexpected(s, i) + "; want decimal digits only"}
		}
	}
	if s[0] == '0' {
		return &parseError{fn, s, "leading zero; want the shortest form"}
	}
	return &parseError{fn, s, outOfRange}
}

// An eight is eight digits, the first one in the lowest byte. Reading so many at
// once saves a third of the time.
type eight uint64

// eightOf takes the first eight bytes of s, which it must have.
func eightOf(s []byte) eight {
	return eight(binary.LittleEndian.Uint64(s)) ^ '0'*ones
}

const ones = 0x0101010101010101

// wrong returns 0 if all eight are digits.
func (e eight) wrong() eight {
	// A byte above 9 gets its highest bit from the sum, or has it already.
	return (e | (e + (0x7f-9)*ones)) & (0x80 * ones)
}

// value adds neighbouring digits up to pairs, and then the four pairs to the
// number, two with each multiplication (Johnny Lee, "Fast numeric string to int";
// simdjson reads numbers this way).
func (e eight) value() uint64 {
	const firstAndThird = 0x000000ff_000000ff
	pairs := uint64(e*10 + e>>8)
	number := pairs & firstAndThird * (1_000_000<<32 + 100)
	number += pairs >> 16 & firstAndThird * (10_000<<32 + 1)
	return number >> 32
}
