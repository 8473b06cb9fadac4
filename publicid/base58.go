package publicid

import (
	"crypto/aes"
	"encoding/binary"
	"math/bits"
)

const (
	alphabet = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"

	digits = 22 // 58²² is between 2¹²⁸ and 2¹²⁹, so this holds 128 bits

	// chunk is the highest power of 58 that fits into a word. Dividing by it splits off 10
	// digits at once.
	chunk       = 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58
	chunkDigits = 10
)

// values maps a character to the value of its digit, and other bytes to notDigit.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = notDigit
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

const notDigit = 255

// appendBase58 appends the block in base 58, as a number whose first byte is the highest.
// It always appends 22 digits, with leading zeros, which are the digit 1. It computes them
// from the last to the first, in groups of 10, of which the first group has only 2.
func appendBase58(text []byte, block *[aes.BlockSize]byte) []byte {
	high, low := binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
	end := len(text) + digits
	text = append(text, make([]byte, digits)...)
	for at := end; at > end-digits; at -= chunkDigits {
		// Divide the number by chunk. The remainder is the next group of digits.
		var rest uint64
		high, rest = high/chunk, high%chunk
		low, rest = bits.Div64(rest, low, chunk)
		for i := at - 1; i >= max(at-chunkDigits, end-digits); i-- {
			text[i] = alphabet[rest%58]
			rest /= 58
		}
	}
	return text
}

// parseBase58 returns the number that appendBase58 wrote, in two words. It returns false
// for characters that are not digits, and for numbers above 128 bits. text must have at
// least 22 bytes. For each digit, both words are multiplied by 58, with a carry from low
// to high, and the digit is added.
func parseBase58(text string) (high, low uint64, ok bool) {
	for i := range digits {
		v := values[text[i]]
		if v == notDigit {
			return 0, 0, false
		}
		overflow, h := bits.Mul64(high, 58)
		carry, l := bits.Mul64(low, 58)
		var more uint64
		low, more = bits.Add64(l, uint64(v), 0)
		high, more = bits.Add64(h, carry, more)
		if overflow+more != 0 {
			return 0, 0, false
		}
	}
	return high, low, true
}
