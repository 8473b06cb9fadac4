package serial_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
)

// Parse rejects every text that Format does not write, with the reason.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	twitter := newFormat(t, "PAY", snowflake.TwitterLayout())
	separated := newFormat(t, "PAY", snowflake.TwitterLayout(), serial.WithSeparator("-"))
	js := newFormat(t, "PAY", snowflake.JSSafeLayout())
	wide := newFormat(t, "PAY", snowflake.Layout{Epoch: date("1970-01-01T00:00:00Z"), Tick: 1 << 20 * 1e6, SequenceBits: 62})
	for _, tt := range []struct {
		name   string
		format *serial.Format
		text   string
		want   string // the error after the text
	}{
		{"empty", twitter, "", "length 0: want 28 as in PAY0000000000000000000000000"},
		{"short", twitter, "PAY202206281607401051126000", "length 27: want 28 as in PAY0000000000000000000000000"},
		{"blank behind", twitter, "PAY2022062816074010511260000 ", "length 29: want 28 as in PAY0000000000000000000000000"},
		{"no serial number", twitter, "PAY!0", "length 5: want 28 as in PAY0000000000000000000000000"},
		{"other code", twitter, "PAX2022062816074010511260000", `code "PAX": want "PAY"`},
		{"lower case", twitter, "pay2022062816074010511260000", `code "pay": want "PAY"`},
		{"letter", twitter, "PAY20220628160740105112600O0", `"O" at offset 26: want a digit`},
		{"sign", twitter, "PAY+022062816074010511260000", `"+" at offset 3: want a digit`},
		{"below the digits", twitter, "PAY2022062816074010511260/00", `"/" at offset 25: want a digit`},
		{"above the digits", twitter, "PAY2022062816074010511260:00", `":" at offset 25: want a digit`},
		{"not ASCII", twitter, "PAY202206281607401051126٠00", `"\xd9" at offset 24: want a digit`},
		{"no separators", separated, "PAY2022062816074010511260000", "length 28: want 32 as in PAY-00000000000000000-00-00-0000"},
		{"other separator", separated, "PAY-20220628160740105-11_26-0000", `"_" at offset 24: want '-'`},
		{"digit for separator", separated, "PAY-20220628160740105011-26-0000", `"0" at offset 21: want '-'`},
		{"month 0", twitter, "PAY2022002816074010511260000", "month 0 out of range [1, 12]"},
		{"month 13", twitter, "PAY2022132816074010511260000", "month 13 out of range [1, 12]"},
		{"day 0", twitter, "PAY2022060016074010511260000", "day 0 out of range [1, 30]"},
		{"31 June", twitter, "PAY2022063116074010511260000", "day 31 out of range [1, 30]"},
		{"30 February", twitter, "PAY2022023016074010511260000", "day 30 out of range [1, 28]"},
		{"29 February", twitter, "PAY2023022916074010511260000", "day 29 out of range [1, 28]"},
		{"30 February of a leap year", twitter, "PAY2024023016074010511260000", "day 30 out of range [1, 29]"},
		{"hour 24", twitter, "PAY2022062824000000011260000", "hour 24 out of range [0, 23]"},
		{"minute 60", twitter, "PAY2022062816600000011260000", "minute 60 out of range [0, 59]"},
		{"second 60", twitter, "PAY2016123123596000011260000", "second 60 out of range [0, 59]"},
		{"datacenter", twitter, "PAY2022062816074010532260000", "snowflake: datacenter 32 out of range [0, 31]"},
		{"worker", twitter, "PAY2022062816074010511320000", "snowflake: worker 32 out of range [0, 31]"},
		{"sequence", twitter, "PAY2022062816074010511264096", "snowflake: sequence 4096 out of range [0, 4095]"},
		{
			"before the epoch", twitter, "PAY2010110401425465600000000",
			"snowflake: time 2010-11-04 01:42:54.656 +0000 UTC out of range [2010-11-04 01:42:54.657 +0000 UTC, 2080-07-10 17:30:30.209 +0000 UTC)",
		},
		{
			"after the end", twitter, "PAY2080071017303020900000000",
			"snowflake: time 2080-07-10 17:30:30.209 +0000 UTC out of range [2010-11-04 01:42:54.657 +0000 UTC, 2080-07-10 17:30:30.209 +0000 UTC)",
		},
		{"year 0", twitter, "PAY0000010100000000000000000", "snowflake: time 0000-01-01 00:00:00 +0000 UTC out of range [2010"},
		{"ID 0", twitter, "PAY2010110401425465700000000", "it is ID 0, which no row has: want a later one"},
		{"in a tick", js, "PAY2026112012345678901001", "time 2026-11-20T12:34:56.789Z is not the start of a tick of 10ms: want 2026-11-20T12:34:56.78Z"},
		{"19 digits that overflow", wide, "PAY197001010000000009999999999999999999", "snowflake: sequence -8446744073709551617 out of range [0, 4611686018427387903]"},
		{"very long", twitter, strings.Repeat("x", 1000), "length 1000: want 28 as in PAY0000000000000000000000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, err := tt.format.Parse(tt.text)
			if id != 0 || err == nil || !strings.HasPrefix(err.Error(), "serial: Parse(\"") || !strings.Contains(err.Error(), "): "+tt.want) {
				t.Errorf("Parse(%q) = %d, %v\nwant %s", tt.text, id, err, tt.want)
			}
			if err != nil && len(err.Error()) > 350 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

// FuzzParse checks that Format writes every text that Parse accepts.
func FuzzParse(f *testing.F) {
	var formats []*serial.Format
	for _, g := range golden {
		formats = append(formats, newFormat(f, g.code, g.layout, g.opts...))
		f.Add(g.text)
		f.Add(g.text[:len(g.text)-1])
	}
	f.Add("PAY20220230160740105112600000")
	f.Add("PAY!0")
	f.Fuzz(func(t *testing.T, in string) {
		for i, format := range formats {
			id, err := format.Parse(in)
			switch {
			case err != nil && (id != 0 || !strings.HasPrefix(err.Error(), "serial: Parse(\"")):
				t.Errorf("%s reads %q as %d, %v", golden[i].name, in, id, err)
			case err == nil && (id <= 0 || format.Format(id) != in):
				t.Errorf("%s reads %q as %d, and writes %q", golden[i].name, in, id, format.Format(id))
			}
		}
	})
}
