// Package serial writes Snowflake IDs as business serial numbers, such as the
// number of a payment, and reads them back:
//
//	PAY20220628160740105 11 26 0000   without the blanks:
//	│  │                 │  │  └ sequence
//	│  │                 │  └ worker
//	│  │                 └ datacenter
//	│  └ yyyyMMddHHmmssSSS, the start of the ID's tick in UTC
//	└ code
//
// A serial number is a view of an ID, and nothing but the ID makes it unique:
// Parse(Format(id)) is id for every ID of every valid layout. No counter, no
// table and no lock stand behind it, so none of them can fall behind.
//
// # Order and width
//
// All serial numbers of one [Format] have one width, and as texts they sort as
// their IDs do, by time first. The collation of the database does not matter:
// they consist of upper-case letters and digits, and letters and separators stand
// at the same places in all of them. A day is a range of texts:
//
//	WHERE number >= 'PAY20261120' AND number < 'PAY20261121'
//
// Serial numbers with different codes or of different layouts have no order
// between them.
//
// Datacenter, worker and sequence have the digits of their largest value, with
// zeros in front; a field for which the layout has no bits is left out. What is
// shown of a tick longer than a millisecond is its start.
//
// # Time
//
// The time is UTC, so that no hour of a day when clocks are set back comes
// twice. Unix time, on which IDs are built, has no leap seconds: no serial number
// has a second 60.
//
// # What it discloses
//
// A serial number shows its readers when it was made and by which worker. It
// has gaps, as IDs have them.
package serial

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const (
	maxCode = 32

	// maxWidth holds every serial number: 32 of code, 4 separators, 17 of time,
	// and 21 of three fields, which share at most 62 bits.
	maxWidth = 32 + 4 + 17 + 21
)

// A Format writes and reads the serial numbers of one code and one layout. Make
// it with [New]. It does not change and may be used concurrently.
type Format struct {
	code      string
	separator string
	layout    snowflake.Layout
	last      types.ID // of the layout

	template string // a serial number with every digit of an ID zero
	parts    [numParts]part
}

// New returns the format of the serial numbers that begin with code, for IDs of
// layout.
//
// The code is 1 to 32 of the characters A to Z and 0 to 9; it may begin or end
// with a digit, as all else has a fixed width. Lower case is refused, because
// databases disagree on whether it equals upper case. All mistakes in code,
// layout and opts are returned in one error.
func New(code string, layout snowflake.Layout, opts ...Option) (*Format, error) {
	f := &Format{code: code, layout: layout}
	err := errors.Join(checkCode(code), layout.Validate(),
		option.Apply("serial", opts, func(o Option) error { return o.apply(f) }))
	if err != nil {
		return nil, err
	}
	f.last = layout.Max(layout.Expires())
	f.arrange()
	return f, nil
}

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

// arrange lays the parts out one after the other.
func (f *Format) arrange() {
	var text strings.Builder
	text.WriteString(f.code)
	for i, width := range f.widths() {
		if width > 0 && (i == year || i >= datacenter) {
			text.WriteString(f.separator)
		}
		f.parts[i] = part{at: text.Len(), width: width}
		text.WriteString(strings.Repeat("0", width))
	}
	f.template = text.String()
}

// Width is the number of characters, which are bytes, of every serial number:
// what its column must hold.
func (f *Format) Width() int { return len(f.template) }

// Format returns the serial number of an ID of the layout.
//
// Anything else has none: 0, which means that the row has no key yet, a
// negative ID, and one above the last of the layout. To be seen in a log for
// what they are, they give the code, an exclamation mark and the number, for
// example PAY!0, which [Format.Parse] refuses and no serial number looks like.
// An ID of another layout cannot be told from one of this layout, as with
// [snowflake.Layout.Decompose].
//
// Format allocates the string it returns and nothing else.
func (f *Format) Format(id types.ID) string {
	if id <= 0 || id > f.last {
		return f.code + "!" + id.String()
	}
	var text [maxWidth]byte
	copy(text[:], f.template)
	for i, n := range valuesOf(f.layout.Decompose(id)) {
		f.parts[i].write(text[:], n)
	}
	return string(text[:len(f.template)])
}

// Option changes what [New] makes. An option with a bad argument makes New fail.
type Option interface{ apply(*Format) error }

type optionFunc func(*Format) error

func (o optionFunc) apply(f *Format) error { return o(f) }

const separators = "-_."

// WithSeparator puts a hyphen, an underscore or a full stop between the code,
// the time and each of the fields, as in PAY-20220628160740105-11-26-0000. The
// default is nothing. Formats with and without it do not read each other's
// serial numbers.
func WithSeparator(separator string) Option {
	return optionFunc(func(f *Format) error {
		if len(separator) != 1 || !strings.Contains(separators, separator) {
			return fmt.Errorf("serial: separator %q: want one of %q", separator, separators)
		}
		f.separator = separator
		return nil
	})
}
