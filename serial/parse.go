package serial

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Parse returns the ID of a serial number that [Format.Format] wrote. Each ID has exactly
// one text. For any other text Parse returns 0 and an error that quotes the text and
// gives the reason. The reasons are another code, length or separator, a date or time of
// day that does not exist (30 February, hour 24, second 60), a time that is outside the
// layout or not the start of a tick, a field that is too large for the layout, and ID 0.
func (f *Format) Parse(s string) (types.ID, error) {
	id, err := f.parse(s)
	if err != nil {
		return 0, fmt.Errorf("serial: Parse(%s): %w", quote(s), err)
	}
	return id, nil
}

func (f *Format) parse(s string) (types.ID, error) {
	if err := f.checkShape(s); err != nil {
		return 0, err
	}
	var v values
	for i := range v {
		v[i] = f.parts[i].read(s)
	}
	p, err := v.parts()
	if err != nil {
		return 0, err
	}
	id, err := f.layout.Compose(p)
	if err != nil {
		return 0, err
	}
	if start := f.layout.Time(id); !start.Equal(p.Time) {
		return 0, fmt.Errorf("time %s is not the start of a tick of %v: want %s",
			p.Time.Format(time.RFC3339Nano), f.layout.Tick, start.Format(time.RFC3339Nano))
	}
	if id == 0 {
		return 0, errors.New("it is ID 0, which no row has: want a later one")
	}
	return id, nil
}

// checkShape compares s with the template, character by character.
func (f *Format) checkShape(s string) error {
	if len(s) != len(f.template) {
		return fmt.Errorf("length %d: want %d as in %s", len(s), len(f.template), f.template)
	}
	if code := s[:len(f.code)]; code != f.code {
		return fmt.Errorf("code %q: want %q", code, f.code)
	}
	for i := len(f.code); i < len(s); i++ {
		want := f.template[i]
		switch {
		case want != '0' && s[i] != want:
			return fmt.Errorf("%q at offset %d: want %q", s[i:i+1], i, want)
		case want == '0' && (s[i] < '0' || s[i] > '9'):
			return fmt.Errorf("%q at offset %d: want a digit", s[i:i+1], i)
		}
	}
	return nil
}

// maxQuoted is the number of bytes of its input that an error quotes.
const maxQuoted = 80

func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... of " + strconv.Itoa(len(s)) + " bytes"
}

// The parts of a serial number, in their order.
const (
	year = iota
	month
	day
	hour
	minute
	second
	millisecond
	datacenter
	worker
	sequence
	numParts
)

// part is the position of a number in the text.
type part struct{ at, width int }

// values are the numbers of a serial number, by part.
type values [numParts]int64

// widths returns the number of digits of each part.
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

// fieldDigits returns the number of digits of the largest value of a field.
func fieldDigits(bits uint8) int {
	if bits == 0 {
		return 0
	}
	return len(strconv.FormatInt(1<<bits-1, 10))
}

func valuesOf(p snowflake.Parts) values {
	y, m, d := p.Time.Date()
	hh, mm, ss := p.Time.Clock()
	return values{
		year: int64(y), month: int64(m), day: int64(d),
		hour: int64(hh), minute: int64(mm), second: int64(ss),
		millisecond: int64(p.Time.Nanosecond()) / int64(time.Millisecond),
		datacenter:  p.Datacenter, worker: p.Worker, sequence: p.Sequence,
	}
}

// parts is the inverse of valuesOf. It returns an error for a date or a time of day that
// does not exist, because [time.Date] would convert it to another date or time.
func (v *values) parts() (snowflake.Parts, error) {
	days := time.Date(int(v[year]), time.Month(v[month]+1), 0, 0, 0, 0, 0, time.UTC).Day()
	for _, check := range []struct {
		name     string
		n        int64
		min, max int
	}{
		{"month", v[month], 1, 12},
		{"day", v[day], 1, days},
		{"hour", v[hour], 0, 23},
		{"minute", v[minute], 0, 59},
		{"second", v[second], 0, 59},
	} {
		if check.n < int64(check.min) || check.n > int64(check.max) {
			return snowflake.Parts{}, fmt.Errorf("%s %d out of range [%d, %d]", check.name, check.n, check.min, check.max)
		}
	}
	return snowflake.Parts{
		Time: time.Date(int(v[year]), time.Month(v[month]), int(v[day]),
			int(v[hour]), int(v[minute]), int(v[second]), int(v[millisecond])*int(time.Millisecond), time.UTC),
		Datacenter: v[datacenter], Worker: v[worker], Sequence: v[sequence],
	}, nil
}

// write writes the digits of n at the position of the part.
func (p part) write(text []byte, n int64) {
	for i := p.at + p.width; i > p.at; n /= 10 {
		i--
		text[i] = byte('0' + n%10)
	}
}

// read returns the number at the position of the part, which contains only digits. The
// longest part has 19 digits. If they overflow, the number is negative, which the layout
// rejects.
func (p part) read(text string) int64 {
	var n int64
	for _, c := range []byte(text[p.at : p.at+p.width]) {
		n = n*10 + int64(c-'0')
	}
	return n
}
