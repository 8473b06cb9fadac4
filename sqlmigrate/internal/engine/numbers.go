package engine

import (
	"strconv"
	"time"
)

// Count returns a number and a noun, which gets an s unless the number is 1, such as "1
// table" or "2,000 tables".
func Count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(int64(n)) + " " + noun
}

// Thousands returns n with a comma between groups of three digits, such as "1,234,567".
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 { // no comma after the sign of -100
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Estimate returns how long it takes to process amount rows or bytes at rate, which is the
// number of rows or bytes per second.
func Estimate(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second)).Round(time.Millisecond)
}
