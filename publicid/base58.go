package publicid

import (
	"crypto/aes"
	"encoding/binary"
	"math/bits"
)

const (
	// alphabet has the digits of base 58 in the order of their values.
	alphabet = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"

	// digits is the length of a block in base 58. A block has 128 bits, and 58²² is more than
	// 2¹²⁸.
	digits = 22

	// chunk is 58¹⁰, the highest power of 58 that fits into a word. The remainder of a division
	// by it has the last 10 digits.
	chunk       = 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58
	chunkDigits = 10
)

// values has for each byte its value as a digit, or notDigit if the byte is not a digit.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = notDigit
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// notDigit is larger than the value of every digit.
const notDigit = 255

// appendBase58 appends the block in base 58 to text. The block is a number of 128 bits, whose
// first byte is the highest. appendBase58 always appends 22 digits, with leading zeros, which are
// the digit 1. It computes the digits from the last to the first, in groups of 10, 10 and 2,
// because one division of the number yields 10 digits.
func appendBase58(text []byte, block *[aes.BlockSize]byte) []byte {
	high, low := binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
	end := len(text) + digits
	text = append(text, make([]byte, digits)...)
	for at := end; at > end-digits; at -= chunkDigits {
		// Divide the number, which is high and low, by chunk. The remainder is the next group.
		var group uint64
		high, group = high/chunk, high%chunk
		low, group = bits.Div64(group, low, chunk)
		for i := at - 1; i >= max(at-chunkDigits, end-digits); i-- {
			text[i] = alphabet[group%58]
			group /= 58
		}
	}
	return text
}

// parseBase58 returns the number that appendBase58 wrote, as its high and its low 64 bits. ok is
// false if the text has a character that is not a digit, or if the number has more than 128 bits.
// text must have at least 22 bytes.
func parseBase58(text string) (high, low uint64, ok bool) {
	for i := range digits {
		v := values[text[i]]
		if v == notDigit {
			return 0, 0, false
		}
		// Multiply the number by 58, and add the digit. What overflows low goes to high.
		overflow, highTimes58 := bits.Mul64(high, 58)
		fromLow, lowTimes58 := bits.Mul64(low, 58)
		var carry uint64
		low, carry = bits.Add64(lowTimes58, uint64(v), 0)
		high, carry = bits.Add64(highTimes58, fromLow, carry)
		if overflow+carry != 0 { // the number has more than 128 bits
			return 0, 0, false
		}
	}
	return high, low, true
}
