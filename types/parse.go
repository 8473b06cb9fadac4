package types

import "math"

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
