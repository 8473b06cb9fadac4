// Package serials reads serial numbers of package serial whose code and separator are
// unknown. The serial number PAY-20220628160740105-11-26-0000 has the code PAY, the
// separator -, a time, a datacenter, a worker and a sequence. The layout of the IDs is known,
// and decides how many digits each part has. The commands parse and doctor use the package.
package serials

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A Reader reads the serial numbers of a layout with any separator. It accepts any code,
// unless New got one.
type Reader struct {
	layout snowflake.Layout
	code   string  // the only code that Parse accepts, or empty for any code
	shapes []shape // for each separator; a text ends with at most one of them
}

// A shape is the part of a serial number after the code, with every digit replaced by 0, for
// example -00000000000000000-00-00-0000. All serial numbers of a layout with the same
// separator have the same shape.
type shape struct{ separator, text string }

// New returns a reader for serial numbers with the code, or with any code if it is empty.
func New(layout snowflake.Layout, code string) (*Reader, error) {
	r := &Reader{layout: layout, code: code}
	for _, separator := range []string{"-", "_", ".", ""} { // the separators of package serial
		format, err := r.format("A", separator)
		if err != nil {
			return nil, err
		}
		// Format(1) returns the code A and behind it a text of this shape.
		r.shapes = append(r.shapes, shape{separator, strings.Map(zeroDigit, format.Format(1)[1:])})
	}
	return r, nil
}

// shortest returns the text of the shape without separators, which New adds last.
func (r *Reader) shortest() string { return r.shapes[len(r.shapes)-1].text }

// format returns the format of package serial for the code and the separator.
func (r *Reader) format(code, separator string) (*serial.Format, error) {
	if separator == "" {
		return serial.New(code, r.layout)
	}
	return serial.New(code, r.layout, serial.WithSeparator(separator))
}

// Parse returns the ID of a serial number. It finds the code and the separator by the shape
// with which the text ends.
func (r *Reader) Parse(text string) (types.ID, error) {
	shape, found := shapeOf(r, text)
	if !found {
		return 0, fmt.Errorf("%s is not a serial number of the layout: want a code of A-Z and 0-9, and behind it digits as in %s", terminal.Quote(text), r.shortest())
	}
	code := text[:len(text)-len(shape.text)]
	format, err := r.format(code, shape.separator)
	switch {
	case err != nil:
		return 0, err
	case r.code != "" && r.code != code:
		return 0, fmt.Errorf("%s has the code %s: want %s", terminal.Quote(text), code, r.code)
	}
	return format.Parse(text)
}

// Ends reports whether text ends with the parts of a serial number of the layout, and has at
// least one character before them for the code. Only Parse checks the code and the values.
// Ends does not allocate memory, because callers ask it for every word of a log.
func Ends[T string | []byte](r *Reader, text T) bool {
	_, found := shapeOf(r, text)
	return found
}

// shapeOf returns the shape with which text ends. It returns false if there is none, or if
// no character is left before it for the code.
func shapeOf[T string | []byte](r *Reader, text T) (shape, bool) {
	if len(text) <= len(r.shortest()) { // as most words are
		return shape{}, false
	}
	for _, shape := range r.shapes {
		if at := len(text) - len(shape.text); at > 0 && matchLength(shape.text, text[at:]) == len(shape.text) {
			return shape, true
		}
	}
	return shape{}, false
}

// Tail returns the length of the part of a serial number behind its code. The argument is the
// text behind a possible code. For "PAY-20220628160740105-11-26-0000 paid", a caller passes
// the text behind PAY, and gets the length up to the blank. Tail returns 0 if the argument
// does not begin with such a part. It does not recognize serial numbers without separators,
// whose code and digits are a single word.
func (r *Reader) Tail(after []byte) int {
	for _, shape := range r.shapes {
		n := len(shape.text)
		// A letter or digit behind the last part would belong to it.
		if shape.separator != "" && matchLength(shape.text, after) == n && (n == len(after) || !IsWord[after[n]]) {
			return n
		}
	}
	return 0
}

// matchLength returns the number of characters at the beginning of text that match the
// shape, in which 0 stands for any digit.
func matchLength[T string | []byte](shape string, text T) int {
	n := 0
	for n < min(len(shape), len(text)) && (shape[n] == text[n] || shape[n] == '0' && IsDigit(text[n])) {
		n++
	}
	return n
}

// zeroDigit returns 0 for a digit, and any other character unchanged.
func zeroDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

// IsWord holds for each byte whether it is an ASCII letter or digit. A word of a text is a
// run of such bytes.
var IsWord = func() (is [256]bool) {
	for b := range is {
		// b|0x20 is the lower-case letter if b is a letter.
		is[b] = b|0x20 >= 'a' && b|0x20 <= 'z' || IsDigit(byte(b))
	}
	return is
}()
