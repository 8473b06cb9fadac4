package serial

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// The numbers of which a serial number consists after its code, in their order. These constants
// index arrays, such as values.
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

// position is the place of one number in the text of a serial number, from the byte at on, with
// width digits.
type position struct{ at, width int }

// values are the numbers of one serial number. For example, values[year] is 2022.
type values [numParts]int64

// fieldDigits returns the number of digits of the largest value of a field with so many bits. For
// example, it returns 4 for 12 bits, whose largest value is 4095.
func fieldDigits(bits uint8) int {
	if bits == 0 {
		return 0
	}
	return len(strconv.FormatInt(1<<bits-1, 10))
}

// valuesOf returns the numbers of the serial number of an ID that has the parts p.
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

// toParts returns the parts of the ID whose serial number has these values. It returns an
// error for a date or a time of day that does not exist, such as 30 February, because
// [time.Date] would convert it to another date or time.
func (v *values) toParts() (snowflake.Parts, error) {
	// The days of the month. Day 0 of the next month is the last day of the month.
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

// write writes the digits of n at the position, with leading zeros.
func (p position) write(text []byte, n int64) {
	for i := p.at + p.width; i > p.at; n /= 10 {
		i--
		text[i] = byte('0' + n%10)
	}
}

// read returns the number at the position. The text has only digits there, as checkShape has
// verified. The longest number has 19 digits, and can be too large for an int64. The result is
// then negative, and Layout.Compose rejects it.
func (p position) read(text string) int64 {
	var n int64
	for _, c := range []byte(text[p.at : p.at+p.width]) {
		n = n*10 + int64(c-'0')
	}
	return n
}
