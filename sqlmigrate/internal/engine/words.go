package engine

import (
	"slices"
	"strconv"
	"time"
)

// AppendNew appends to a list what it does not contain.
func AppendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Count is a number of things: what, with an s if there is not just one.
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(int64(n)) + " " + what
}

// Thousands is n with commas.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Estimate is how long so many rows or bytes take at a rate for a second.
func Estimate(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second)).Round(time.Millisecond)
}
