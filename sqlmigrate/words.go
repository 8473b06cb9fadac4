package sqlmigrate

import "strconv"

func count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(int64(n)) + " " + what
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
