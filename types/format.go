package types

import (
	"encoding/binary"
	"math/bits"
)

// decimal holds the digits of an ID in three groups of eight, which are worked
// out side by side. Digit after digit, as strconv does it, takes twice as long,
// and JSON of rows is mostly keys.
type decimal [24]byte

// set writes the text of id to the end of d and returns where it starts.
func (d *decimal) set(id ID) int {
	n := id.magnitude()
	high, middle, low := eightDigits(n/1e16), eightDigits(n/1e8%1e8), eightDigits(n%1e8)
	d.put(0, high)
	d.put(8, middle)
	d.put(16, low)
	start := firstDigit(high, middle, low)
	if id < 0 {
		start--
		d[start] = '-'
	}
	return start
}

func (d *decimal) put(at int, digits uint64) {
	binary.LittleEndian.PutUint64(d[at:], digits|0x3030303030303030) // '0' is 0x30
}

// firstDigit returns the offset of the first digit that is not zero, or of
// the last digit.
func firstDigit(high, middle, low uint64) int {
	switch {
	case high != 0:
		return bits.TrailingZeros64(high) / 8
	case middle != 0:
		return 8 + bits.TrailingZeros64(middle)/8
	}
	return 16 + min(bits.TrailingZeros64(low)/8, 7)
}

// eightDigits returns the decimal digits of n, which is less than 1e8: one in
// each byte, the first in the lowest. Each step splits all lanes in halves; the
// factors are reciprocals that are exact for the lane's range.
func eightDigits(n uint64) uint64 {
	n = n/1e4 | n%1e4<<32
	q := n * 10486 >> 20 & 0x0000007f_0000007f // n/100 for n < 1e4
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0x000f000f_000f000f // n/10 for n < 100
	return q | (n-10*q)<<8
}
