package types

import (
	"strconv"
	"unicode/utf8"
)

// outOfRange is the reason in the error for a number above the largest ID.
const outOfRange = "out of range: want at most 9223372036854775807"

// maxQuoted is how many bytes of a rejected input an error quotes, so that an input of
// megabytes does not become a log line of megabytes.
const maxQuoted = 64

// A parseError is the error of a function that rejected its input. It is not exported,
// because callers do not need to distinguish the reasons.
type parseError struct {
	fn  string // the name of the function, such as "ParseID"
	in  string // its input
	msg string // the reason
}

// Error returns the function, the input and the reason, for example types: ParseID("007"):
// leading zero: want the shortest form.
func (e *parseError) Error() string {
	return "types: " + e.fn + "(" + quote(e.in) + "): " + e.msg
}

// quote returns s in quotation marks. If s is longer than maxQuoted, it returns the beginning
// of s and its length.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... of " + strconv.Itoa(len(s)) + " bytes"
}

// unexpected describes the character at offset i of s for an error, for example "unexpected 'x'
// at offset 3".
func unexpected(s string, i int) string {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return "unexpected " + strconv.QuoteRune(r) + " at offset " + strconv.Itoa(i)
}
