package types

import "strconv"

const outOfRange = "out of range: want at most 9223372036854775807"

// maxQuoted is how many bytes of its input an error repeats, so that a request
// of megabytes does not become a log line of megabytes.
const maxQuoted = 64

// A parseError tells which function refused which input, and why. It is not
// exported since no caller branches on why an ID is bad.
type parseError struct {
	fn  string
	in  string
	msg string
}

func (e *parseError) Error() string {
	return "types: " + e.fn + "(" + quote(e.in) + "): " + e.msg
}

func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... of " + strconv.Itoa(len(s)) + " bytes"
}
