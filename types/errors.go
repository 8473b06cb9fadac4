package types

import (
	"strconv"
	"unicode/utf8"
)

// outOfRange is the reason in the error for a number above the largest ID.
const outOfRange = "out of range: want at most 9223372036854775807"

// maxQuoted is how many bytes of its input an error quotes, so that an input of
// megabytes does not become a log line of megabytes.
const maxQuoted = 64

// A parseError says which function rejected which input, and why. It is not exported,
// because callers do not need to distinguish the reasons.
type parseError struct {
	fn  string // the function
	in  string // its input
	msg string // the reason
}

func (e *parseError) Error() string {
	return "types: " + e.fn + "(" + quote(e.in) + "): " + e.msg
}

// quote returns s in quotation marks. If s is long, it returns its beginning and its
// length.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... of " + strconv.Itoa(len(s)) + " bytes"
}

// unexpected describes the character at offset i of s, for errors.
func unexpected(s string, i int) string {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return "unexpected " + strconv.QuoteRune(r) + " at offset " + strconv.Itoa(i)
}
