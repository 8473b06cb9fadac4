package cli

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// serials reads the serial numbers of a layout with any separator and, unless
// code says which, any code: that is what stands before the shape.
type serials struct {
	layout snowflake.Layout
	code   string
	shapes []shape // of which no text has two
}

// A shape is what follows the code, with every digit a zero.
type shape struct{ separator, text string }

// separators are those that package serial has.
const separators = "-_."

func newSerials(layout snowflake.Layout, code string) (*serials, error) {
	s := &serials{layout: layout, code: code}
	for _, separator := range append(strings.Split(separators, ""), "") {
		format, err := s.format("A", separator)
		if err != nil {
			return nil, err
		}
		s.shapes = append(s.shapes, shape{separator, strings.Map(zeroDigit, format.Format(1)[1:])})
	}
	return s, nil
}

func (s *serials) shortest() string { return s.shapes[len(s.shapes)-1].text }

func (s *serials) format(code, separator string) (*serial.Format, error) {
	if separator == "" {
		return serial.New(code, s.layout)
	}
	return serial.New(code, s.layout, serial.WithSeparator(separator))
}

func (s *serials) parse(text string) (types.ID, error) {
	shape, found := shapeOf(s, text)
	if !found {
		return 0, fmt.Errorf("%s is no serial number of the layout: want a code of A-Z and 0-9, and behind it digits as in %s", quote(text), s.shortest())
	}
	code := text[:len(text)-len(shape.text)]
	format, err := s.format(code, shape.separator)
	switch {
	case err != nil:
		return 0, err
	case s.code != "" && s.code != code:
		return 0, fmt.Errorf("%s has the code %s, want %s", quote(text), code, s.code)
	}
	return format.Parse(text)
}

// shapeOf does not allocate, for the many words of a text that have none.
func shapeOf[T string | []byte](s *serials, text T) (shape, bool) {
	if len(text) <= len(s.shortest()) {
		return shape{}, false
	}
	for _, shape := range s.shapes {
		if at := len(text) - len(shape.text); at > 0 && matching(shape.text, text[at:]) == len(shape.text) {
			return shape, true
		}
	}
	return shape{}, false
}

// tail is the length of what follows the code of a serial number with
// separators, or 0 if the text does not go on so.
func (s *serials) tail(after []byte) int {
	for _, shape := range s.shapes {
		n := len(shape.text)
		if shape.separator != "" && matching(shape.text, after) == n && (n == len(after) || !isWord[after[n]]) {
			return n
		}
	}
	return 0
}

// matching is how many characters of text are as in the shape.
func matching[T string | []byte](shape string, text T) int {
	n := 0
	for n < min(len(shape), len(text)) && (shape[n] == text[n] || shape[n] == '0' && isDigit(text[n])) {
		n++
	}
	return n
}

func zeroDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}
