package serial

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// The parts of a serial number that are numbers, in their order. They index arrays.
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

// fieldDigits returns the number of digits of the largest value of a field.
func fieldDigits(bits uint8) int {
	if bits == 0 {
		return 0
	}
	return len(strconv.FormatInt(1<<bits-1, 10))
}

// valuesOf returns the numbers of a serial number for the parts of an ID.
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

// parts returns the parts of the ID whose serial number has these values. It returns an
// error for a date or a time of day that does not exist, because [time.Date] would convert
// it to another date or time.
func (v *values) parts() (snowflake.Parts, error) {
	days := time.Date(int(v[year]), time.Month(v[month]+1), 0, 0, 0, 0, 0, time.UTC).Day() // day 0 is the last day of the month before
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
