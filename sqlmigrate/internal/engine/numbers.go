package engine

import (
	"strconv"
	"time"
)

// Count returns a number and the noun what, with an s unless the number is 1, such as "1
// table" or "2,000 tables".
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(int64(n)) + " " + what
}

// Thousands returns n with a comma between groups of three digits.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Estimate returns how long it takes to process amount, of which rate are processed in a
// second.
func Estimate(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second)).Round(time.Millisecond)
}
