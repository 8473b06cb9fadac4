// Package serial writes Snowflake IDs as business serial numbers, such as the number of a
// payment, and reads them back:
//
//	PAY20220628160740105 11 26 0000   without the blanks:
//	│  │                 │  │  └ sequence
//	│  │                 │  └ worker
//	│  │                 └ datacenter
//	│  └ yyyyMMddHHmmssSSS, the start of the ID's tick in UTC
//	└ code
//
// A serial number is another representation of an ID, and is unique because the ID is
// unique. Parse(Format(id)) is id for every ID of every valid layout. Serial numbers need
// no counter, no table and no lock.
//
// # Order and width
//
// All serial numbers of a [Format] have the same width. As texts they sort in the order
// of their IDs, by time first. The collation of the database does not change this order,
// because serial numbers consist of upper-case letters and digits, and have letters and
// separators at the same places. A day is therefore a range of texts:
//
//	WHERE number >= 'PAY20261120' AND number < 'PAY20261121'
//
// Serial numbers with different codes or of different layouts have no common order.
//
// Datacenter, worker and sequence are padded with zeros to the digits of their largest
// value. The serial number leaves out a field for which the layout has no bits. If a tick
// is longer than a millisecond, the serial number shows its start.
//
// # Time
//
// The time is UTC, so that no hour occurs twice when clocks are set back. Unix time, on
// which IDs are based, has no leap seconds, so no serial number has the second 60.
//
// # What it discloses
//
// A serial number shows its readers when it was made and by which worker. Serial numbers
// have gaps, because IDs have gaps.
package serial

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const (
	// maxCode is the largest number of characters of a code.
	maxCode = 32

	// maxWidth is the width of the longest serial number. It has 32 characters of code, 4
	// separators, 17 characters of time, and 21 of three fields, which share at most 62
	// bits.
	maxWidth = 32 + 4 + 17 + 21
)

// Format formats and parses the serial numbers of one code and one layout. [New] creates
// it. It is immutable and safe for concurrent use.
type Format struct {
	code      string
	separator string
	layout    snowflake.Layout
	last      types.ID // the last ID of the layout

	template  string // a serial number in which all digits after the code are zero
	positions [numParts]position
}

// New returns the format of the serial numbers that begin with code, for IDs of layout.
//
// The code has 1 to 32 of the characters A to Z and 0 to 9. It may begin or end with a
// digit, because all other parts have a fixed width. New rejects lower case, because
// databases disagree on whether it equals upper case. New returns all mistakes in code,
// layout and opts in one error.
func New(code string, layout snowflake.Layout, opts ...Option) (*Format, error) {
	f := &Format{code: code, layout: layout}
	err := errors.Join(checkCode(code), layout.Validate(),
		option.Apply("serial", opts, func(o Option) error { return o.apply(f) }))
	if err != nil {
		return nil, err
	}
	f.last = layout.Max(layout.Expires()) // Max of the layout's end is its last ID
	f.arrange()
	return f, nil
}

// checkCode returns an error if code cannot begin a serial number.
func checkCode(code string) error {
	if code == "" || len(code) > maxCode {
		return fmt.Errorf("serial: code %s has %d characters: want 1 to %d of A-Z and 0-9", quote(code), len(code), maxCode)
	}
	for _, c := range code {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return fmt.Errorf("serial: code %q contains %q: want 1 to %d of A-Z and 0-9", code, c, maxCode)
		}
	}
	return nil
}

// maxQuoted is the number of bytes of a wrong text that an error quotes. It is more than the
// longest serial number has.
const maxQuoted = 80

// quote returns s in quotation marks. If s is longer than maxQuoted, it returns the beginning
// of s and its length.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... of " + strconv.Itoa(len(s)) + " bytes"
}

// arrange sets the position of each number, and the template. A separator stands before the time
// and before each field that the layout has. For example, the code PAY, the separator - and the
// layout of Twitter result in the template PAY-00000000000000000-00-00-0000.
func (f *Format) arrange() {
	var text strings.Builder
	text.WriteString(f.code)
	for i, width := range f.widths() {
		if width > 0 && (i == year || i >= datacenter) { // i is the time's first part, or a field
			text.WriteString(f.separator)
		}
		f.positions[i] = position{at: text.Len(), width: width}
		text.WriteString(strings.Repeat("0", width))
	}
	f.template = text.String()
}

// widths returns the number of digits of each number in the serial number, which is 0 for a field
// that the layout does not have.
func (f *Format) widths() [numParts]int {
	l := f.layout
	return [numParts]int{
		year:        4, // no layout lasts until the year 10000
		month:       2,
		day:         2,
		hour:        2,
		minute:      2,
		second:      2,
		millisecond: 3,
		datacenter:  fieldDigits(l.DatacenterBits),
		worker:      fieldDigits(l.WorkerBits),
		sequence:    fieldDigits(l.SequenceBits),
	}
}

// Width returns the number of characters of every serial number, which its column must
// hold. Each character is one byte.
func (f *Format) Width() int { return len(f.template) }

// Format returns the serial number of an ID of the layout.
//
// Other numbers have no serial number. They are 0, which means that the row has no key
// yet, a negative ID, and an ID above the last ID of the layout. For such a number Format
// returns the code, an exclamation mark and the number, for example PAY!0, so that a log
// shows the number. [Format.Parse] rejects such a text, and no serial number has this form.
// Format cannot detect an ID of another layout, as [snowflake.Layout.Decompose] cannot.
//
// Format only allocates the string that it returns.
func (f *Format) Format(id types.ID) string {
	if id <= 0 || id > f.last {
		return f.code + "!" + id.String()
	}
	var text [maxWidth]byte
	copy(text[:], f.template)
	for i, n := range valuesOf(f.layout.Decompose(id)) {
		f.positions[i].write(text[:], n)
	}
	return string(text[:len(f.template)])
}

// Option configures [New]. If its argument is invalid, New returns an error.
type Option interface{ apply(*Format) error }

// optionFunc is an [Option] that is a function.
type optionFunc func(*Format) error

func (o optionFunc) apply(f *Format) error { return o(f) }

// separators are the characters that WithSeparator allows.
const separators = "-_."

// WithSeparator puts a hyphen, an underscore or a full stop between the code, the time
// and each field, as in PAY-20220628160740105-11-26-0000. The default is no separator. A
// format with a separator cannot parse serial numbers without it, and the reverse.
func WithSeparator(separator string) Option {
	return optionFunc(func(f *Format) error {
		if len(separator) != 1 || !strings.Contains(separators, separator) {
			return fmt.Errorf("serial: separator %q: want one of %q", separator, separators)
		}
		f.separator = separator
		return nil
	})
}
