package types

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// maxDigits is the length of 9223372036854775807, the largest ID. Every number of 19 digits
// fits into a uint64, so that one comparison at the end finds a number that is too large.
const maxDigits = 19

// stringOrBytes lets a parser read both types without a copy.
type stringOrBytes interface{ string | []byte }

// parseDecimal parses decimal digits without a sign or leading zero, up to the largest ID. fn is
// the name of the calling function, for errors. It allocates only if it fails.
func parseDecimal[T stringOrBytes](fn string, s T) (ID, error) {
	if len(s) == 0 || len(s) > maxDigits || s[0] == '0' && len(s) > 1 {
		return 0, decimalError(fn, string(s))
	}
	var n uint64
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] { // eight digits at once
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

// decimalError returns the error of parseDecimal, which explains why s is not a decimal ID. fn is
// the name of the function that has read s, such as "ParseID".
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
// lowest byte. For example, the eight of "12345678" is 0x0807060504030201. Reading eight
// digits at once saves a third of the time.
type eight uint64

// eightFrom converts the first eight bytes of s to the values of digits. s must have at
// least eight bytes. If a byte is not a digit, nonDigits reports it. The characters '0' to '9'
// are 0x30 to 0x39, so that XOR with '0' leaves their values.
func eightFrom(s []byte) eight {
	return eight(binary.LittleEndian.Uint64(s)) ^ '0'*ones
}

// ones has a 1 in each of its eight bytes. For example, 0x30*ones is 0x3030303030303030.
const ones = 0x0101010101010101

// nonDigits returns 0 if all eight bytes are values of digits, and another number if not.
func (e eight) nonDigits() eight {
	// The highest bit of a byte shows whether the byte is above 9. It is set in a byte above
	// 0x7f, and adding 0x7f-9 sets it in a byte from 10 to 0x7f.
	return (e | (e + (0x7f-9)*ones)) & (0x80 * ones)
}

// value returns the number that the eight digits are, for example 12345678. It first combines
// neighbouring digits to four pairs, 12, 34, 56 and 78, and then the pairs to the number, with
// two multiplications (Johnny Lee, "Fast numeric string to int"; simdjson reads numbers this
// way).
func (e eight) value() uint64 {
	const firstAndThird = 0x000000ff_000000ff // mask of the pairs 12 and 56
	pairs := uint64(e*10 + e>>8)              // bytes 0, 2, 4 and 6 are the pairs

	// The upper half of the first product is 12 times 1,000,000 plus 56 times 100. The upper
	// half of the second product is 34 times 10,000 plus 78.
	number := pairs & firstAndThird * (1_000_000<<32 + 100)
	number += pairs >> 16 & firstAndThird * (10_000<<32 + 1)
	return number >> 32
}

// decimal is a buffer for the text of an ID, which ends at the end of the buffer. The digits
// are in three groups of eight, which can be computed in parallel. Computing one digit after
// the other, as strconv does, takes twice as long, which matters because the JSON of rows
// consists mostly of keys.
type decimal [24]byte

// setID writes the text of id to the end of d and returns the offset at which it starts.
func (d *decimal) setID(id ID) int {
	n := id.magnitude()
	high, middle, low := eightDigits(n/1e16), eightDigits(n/1e8%1e8), eightDigits(n%1e8)
	d.putEight(0, high) // leading zeros too, which firstDigit skips
	d.putEight(8, middle)
	d.putEight(16, low)
	start := firstDigit(high, middle, low)
	if id < 0 {
		start--
		d[start] = '-'
	}
	return start
}

// putEight writes eight digits, one in each byte, as text at the offset at.
func (d *decimal) putEight(at int, digits uint64) {
	binary.LittleEndian.PutUint64(d[at:], digits|0x3030303030303030) // '0' is 0x30, and '9' is 0x39
}

// firstDigit returns the offset in a decimal of the first digit that is not zero. If all digits
// are zero, it returns the offset of the last digit. The digits are in three groups of eight,
// each with its first digit in the lowest byte, so that the number of trailing zero bits shows
// how many leading digits are zero.
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
// each byte, the first digit in the lowest byte. For example, it splits 12345678 into 1234 and
// 5678, these into 12, 34, 56 and 78, and these into the digits. Each step divides all parts at
// once, by multiplying with a reciprocal that is exact for numbers of this size.
func eightDigits(n uint64) uint64 {
	n = n/1e4 | n%1e4<<32                      // 1234 in the lower half, and 5678 in the upper half
	q := n * 10486 >> 20 & 0x0000007f_0000007f // each half divided by 100: 12 and 56
	n = q | (n-100*q)<<16                      // 12, 34, 56 and 78, in 16 bits each
	q = n * 103 >> 10 & 0x000f000f_000f000f    // each divided by 10: 1, 3, 5 and 7
	return q | (n-10*q)<<8
}
