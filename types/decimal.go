package types

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// maxDigits is the length of 9223372036854775807, the largest ID. Every number of 19 digits
// fits into a uint64, so that one comparison at the end finds a number that is too large.
const maxDigits = 19

type stringOrBytes interface{ string | []byte }

// parseDecimal parses decimal digits. fn is the calling function, for errors. It
// allocates only if it fails.
func parseDecimal[T stringOrBytes](fn string, s T) (ID, error) {
	if len(s) == 0 || len(s) > maxDigits || s[0] == '0' && len(s) > 1 {
		return 0, decimalError(fn, string(s))
	}
	var n uint64
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] {
		digits := eightFrom([]byte(rest[:8]))
		if digits.nonDigits() != 0 {
			return 0, decimalError(fn, string(s))
		}
		n = n*1e8 + digits.value()
	}
	for i := range len(rest) {
		digit := rest[i] - '0' // a byte below '0' becomes a large number
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

// decimalError returns the error that explains why s is not a decimal ID.
func decimalError(fn, s string) error {
	if s == "" {
		return &parseError{fn, s, "empty: want decimal digits"}
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return &parseError{fn, s, unexpected(s, i) + ": want decimal digits only"}
		}
	}
	if s[0] == '0' {
		return &parseError{fn, s, "leading zero: want the shortest form"}
	}
	return &parseError{fn, s, outOfRange}
}

// An eight holds the values of eight digits, one in each byte, the first digit in the
// lowest byte. Reading eight digits at once saves a third of the time.
type eight uint64

// eightFrom converts the first eight bytes of s to the values of digits. s must have at
// least eight bytes. If one of them is not a digit, nonDigits reports it.
func eightFrom(s []byte) eight {
	return eight(binary.LittleEndian.Uint64(s)) ^ '0'*ones
}

// ones has a 1 in each byte. A byte times ones is that byte in each byte.
const ones = 0x0101010101010101

// nonDigits returns 0 if all eight bytes are digits, and another number if not.
func (e eight) nonDigits() eight {
	// Adding 0x7f-9 to each byte sets the highest bit of a byte above 9. The bit of a byte
	// above 0x7f is set already.
	return (e | (e + (0x7f-9)*ones)) & (0x80 * ones)
}

// value returns the number that the eight digits are. It first combines neighbouring digits
// to four numbers of two digits, and then these to the result, with two multiplications
// (Johnny Lee, "Fast numeric string to int"; simdjson reads numbers this way).
func (e eight) value() uint64 {
	const firstAndThird = 0x000000ff_000000ff
	pairs := uint64(e*10 + e>>8) // every other byte is a number of two digits

	// The upper half of this product is the first pair times 1,000,000 plus the third times
	// 100, and of the next product the second times 10,000 plus the fourth.
	number := pairs & firstAndThird * (1_000_000<<32 + 100)
	number += pairs >> 16 & firstAndThird * (10_000<<32 + 1)
	return number >> 32
}

// decimal holds the digits of an ID in three groups of eight, which can be computed in
// parallel. Computing one digit after the other, as strconv does, takes twice as long,
// which matters because the JSON of rows consists mostly of keys.
type decimal [24]byte

// setID writes the text of id to the end of d and returns the offset at which it starts.
func (d *decimal) setID(id ID) int {
	n := id.magnitude()
	high, middle, low := eightDigits(n/1e16), eightDigits(n/1e8%1e8), eightDigits(n%1e8)
	d.putEight(0, high)
	d.putEight(8, middle)
	d.putEight(16, low)
	start := firstDigit(high, middle, low)
	if id < 0 {
		start--
		d[start] = '-'
	}
	return start
}

// putEight writes eight digits at an offset as text, by adding the character 0 to each.
func (d *decimal) putEight(at int, digits uint64) {
	binary.LittleEndian.PutUint64(d[at:], digits|0x3030303030303030) // '0' is 0x30
}

// firstDigit returns the offset of the first digit that is not zero. If all digits are
// zero, it returns the offset of the last digit. The digits are in three groups of eight,
// as eightDigits returns them.
func firstDigit(high, middle, low uint64) int {
	switch {
	case high != 0:
		return bits.TrailingZeros64(high) / 8
	case middle != 0:
		return 8 + bits.TrailingZeros64(middle)/8
	}
	return 16 + min(bits.TrailingZeros64(low)/8, 7)
}

// eightDigits returns the decimal digits of n, which is less than 1e8, as one digit in
// each byte, the first in the lowest. It splits n into two numbers of four digits, these
// into four of two digits, and these into eight digits, each time all at once. It divides
// by multiplying with a reciprocal that is exact for numbers of this size.
func eightDigits(n uint64) uint64 {
	n = n/1e4 | n%1e4<<32
	q := n * 10486 >> 20 & 0x0000007f_0000007f // n/100 for n < 1e4
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0x000f000f_000f000f // n/10 for n < 100
	return q | (n-10*q)<<8
}
