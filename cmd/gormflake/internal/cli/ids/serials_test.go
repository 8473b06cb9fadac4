package ids_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// parse finds the code of a serial number, with each separator and with a code of digits.
// The text of golden must not change, because serial numbers are stored and printed.
func TestParseSerial(t *testing.T) {
	t.Parallel()
	const golden = "PAY2022062816074010511260000"
	got := clitest.Printed(t, clitest.AtNoon(nil, "parse", golden))
	if !strings.HasPrefix(got, "id          1541815603606036480\nread as     serial\ntime        2022-06-28T16:07:40.105Z\n") ||
		!strings.HasSuffix(got, "\nserial      "+golden+"\n") {
		t.Errorf("got\n%s", got)
	}
	for _, text := range []string{
		"PAY-20220628160740105-11-26-0000", "PAY_20220628160740105_11_26_0000", "PAY.20220628160740105.11.26.0000",
		"7" + golden[3:], "2022" + golden[3:], "7.20220628160740105.11.26.0000", strings.Repeat("Z", 32) + golden[3:],
	} {
		const row = "1541815603606036480  2022-06-28T16:07:40.105Z          11      26         0  serial\n"
		if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--table", text)); !strings.HasSuffix(got, row) || len(clitest.Lines(got)) != 2 {
			t.Errorf("%s gives\n%s", text, got)
		}
		log := "paid: " + text + ", x-" + text + "-1 " + text + ".\n"
		const note = "(2022-06-28T16:07:40.105Z datacenter 11 worker 26 sequence 0)"
		if got, want := clitest.Printed(t, clitest.AtNoon(strings.NewReader(log), "parse")), strings.ReplaceAll(log, text, text+note); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A text that is nearly a serial number is an error as an argument, and is not annotated
// in a log.
func TestParseSerialMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"PAY2022132816074010511260000", "month 13 out of range [1, 12]"},
		{"PAY2022062816074010532260000", "datacenter 32 out of range [0, 31]"},
		{"PAY-20220628160740105-11-26-4096", "sequence 4096 out of range [0, 4095]"},
		{"PAY-20220628160740105_11_26_0000", "is not an ID: want decimal"},
		{"pay2022062816074010511260000", `code "pay" contains 'p'`},
		{"P-Y2022062816074010511260000", `code "P-Y" contains '-'`},
		{strings.Repeat("A", 33) + "2022062816074010511260000", "33 characters"},
		{"PAY202206281607401051126000", "is not an ID: want decimal"},
		{"20220628160740105112600000", "out of range"},
		{"INV2022062816074010511260000 --code PAY", "has the code INV: want PAY"},
		{"2022062816074010511260000 --as serial", "is not a serial number of the layout: want a code of A-Z and 0-9, and behind it digits as in 0000000000000000000000000"},
	} {
		args := append([]string{"parse"}, strings.Fields(test.args)...)
		clitest.WantUsage(t, clitest.AtNoon(strings.NewReader(""), args...), test.want)
		if text := args[1] + "\n"; len(args) == 2 && !strings.ContainsAny(text, "-_") { // in a log these characters separate words
			if got := clitest.Printed(t, clitest.AtNoon(strings.NewReader(text), "parse")); got != text {
				t.Errorf("in a log: got %q, want %q", got, text)
			}
		}
	}
}

// parse finds the code of a serial number, both in an argument and in text that arrives in
// pieces.
func FuzzParseSerial(f *testing.F) {
	f.Add("PAY", uint8(0), uint8(0), int64(1<<40))
	f.Add("2026", uint8(1), uint8(1), int64(5))
	f.Add("A", uint8(2), uint8(2), int64(1<<50))
	f.Add("Z9", uint8(3), uint8(3), int64(1))
	f.Fuzz(func(t *testing.T, code string, kind, separator uint8, number int64) {
		layout, flags := serialLayout(kind)
		options := [][]serial.Option{nil, {serial.WithSeparator("-")}, {serial.WithSeparator("_")}, {serial.WithSeparator(".")}}
		format, err := serial.New(code, layout, options[separator%4]...)
		if err != nil {
			t.Skip()
		}
		first, last := layout.Min(layout.Epoch.Add(48*time.Hour)), layout.Max(clitest.Noon)
		id := first + types.ID(max(number, ^number))%(last-first) // max(n, ^n) is never negative
		text := format.Format(id)
		var got struct{ Input, Form, ID, Serial string }
		if err := json.Unmarshal([]byte(clitest.Printed(t, clitest.AtNoon(nil, append(flags, "parse", "--json", text)...))), &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != id.String() || got.Form != "serial" || got.Serial != text {
			t.Errorf("%s of %v: got %+v", text, id, got)
		}
		// The text arrives in pieces of 1 to 64 bytes.
		in := cutReader{bytes.NewReader([]byte("<" + text + ">")), 1 + int(kind)/4}
		if got := clitest.Printed(t, clitest.AtNoon(in, append(flags, "parse")...)); !strings.HasPrefix(got, "<"+text+"("+layout.Time(id).Format("2006-01-02T15:04:05.000Z")) {
			t.Errorf("<%s> gives %s", text, got)
		}
	})
}

// serialLayout returns a layout, and the flags that select it.
func serialLayout(kind uint8) (snowflake.Layout, []string) {
	switch kind % 4 {
	case 0:
		return snowflake.TwitterLayout(), nil
	case 1:
		return snowflake.JSSafeLayout(), []string{"--layout", "js-safe"}
	case 2:
		return snowflake.DiscordLayout(), []string{"--layout", "discord"}
	}
	l := snowflake.TwitterLayout()
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, 10, 6
	return l, []string{fmt.Sprint("--datacenter-bits=", l.DatacenterBits), fmt.Sprint("--worker-bits=", l.WorkerBits), fmt.Sprint("--sequence-bits=", l.SequenceBits)}
}
