package serial_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Layouts at the limits. noFields has no fields except the time, endless lasts as long as a
// layout can, and wideTick has a tick that is longer than the milliseconds in a serial
// number.
var (
	noFields = snowflake.Layout{Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Second, TotalBits: 33}
	endless  = snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond}
	wideTick = snowflake.Layout{Epoch: date("2020-01-01T00:00:00Z"), Tick: 10 * time.Millisecond, WorkerBits: 8, SequenceBits: 8}
)

// Golden vectors. Do not edit them, because such serial numbers are stored in databases
// and printed on paper.
var golden = []struct {
	name   string
	code   string
	layout snowflake.Layout
	opts   []serial.Option
	id     types.ID
	text   string
}{
	{"twitter", "PAY", snowflake.TwitterLayout(), nil, 1541815603606036480, "PAY2022062816074010511260000"},
	{"twitter's first", "PAY", snowflake.TwitterLayout(), nil, 1, "PAY2010110401425465700000001"},
	{"twitter's last", "PAY", snowflake.TwitterLayout(), nil, 1<<63 - 1, "PAY2080071017303020831314095"},
	{"discord", "D", snowflake.DiscordLayout(), nil, 175928847299117063, "D2016043011182579601000007"},
	{"javascript's last", "R2", snowflake.JSSafeLayout(), nil, 1<<53 - 1, "R22194031803285887063255"},
	{"separated", "PAY", snowflake.TwitterLayout(), []serial.Option{serial.WithSeparator("-")}, 1541815603606036480, "PAY-20220628160740105-11-26-0000"},
	{"separated, no datacenter", "9", snowflake.JSSafeLayout(), []serial.Option{serial.WithSeparator(".")}, 1<<53 - 1, "9.21940318032858870.63.255"},
	{"nothing but time", "T", noFields, nil, 60, "T20200101000100000"},
	{"nothing but time, separated", "T", noFields, []serial.Option{serial.WithSeparator("_")}, 60, "T_20200101000100000"},
	{"a long tick", "A", wideTick, nil, 1, "A20200101000000000000001"},
	{"nothing but milliseconds, the last", "A", endless, nil, math.MaxInt64/1000000 - 1, "A22620411234716853"},
}

// TestGolden checks that stored and printed serial numbers stay readable.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFormat(t, tt.code, tt.layout, tt.opts...)
			if got := f.Format(tt.id); got != tt.text {
				t.Errorf("Format(%d) = %q, want %q", tt.id, got, tt.text)
			}
			if got, err := f.Parse(tt.text); got != tt.id || err != nil {
				t.Errorf("Parse(%q) = %d, %v, want %d", tt.text, got, err, tt.id)
			}
			if got := f.Width(); got != len(tt.text) {
				t.Errorf("Width() = %d, want %d", got, len(tt.text))
			}
		})
	}
}

// roundTrip returns the serial number of the ID, and checks that Parse returns the ID.
func roundTrip(t *testing.T, f *serial.Format, code string, id types.ID) string {
	t.Helper()
	text := f.Format(id)
	if len(text) != f.Width() || !strings.HasPrefix(text, code) {
		t.Fatalf("Format(%d) = %q, want %d characters after %s", id, text, f.Width(), code)
	}
	if got, err := f.Parse(text); got != id || err != nil {
		t.Fatalf("Parse(Format(%d)) = %d, %v; text %q", id, got, err, text)
	}
	return text
}

// TestSampled checks, for random layouts, codes and IDs, that Parse returns the ID of a
// serial number again, and that serial numbers sort like their IDs.
func TestSampled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l, code := sampleLayout(r), sampleCode(r)
		f := newFormat(t, code, l, sampleOptions(r)...)
		last := lastID(l)
		ids := []types.ID{1, last, max(1, last-1), max(1, l.Min(l.Time(last)))}
		for range 40 {
			id := types.ID(r.Int64N(int64(last))) + 1
			ids = append(ids, id, min(last, id+1), max(1, id>>r.IntN(60)))
		}
		for i, id := range ids {
			text := roundTrip(t, f, code, id)
			other := ids[r.IntN(i+1)]
			if got := strings.Compare(text, f.Format(other)); got != id.Compare(other) {
				t.Fatalf("%v: %q and %q of %d and %d compare as %d", l, text, f.Format(other), id, other, got)
			}
		}
	}
}

// TestLeapSeconds checks that the serial numbers before and after a leap second are a
// millisecond apart, because Unix time has no leap seconds.
func TestLeapSeconds(t *testing.T) {
	t.Parallel()
	l := snowflake.TwitterLayout()
	f := newFormat(t, "PAY", l)
	for _, tt := range []struct{ before, after string }{
		{"2012-06-30T23:59:59.999Z", "2012-07-01T00:00:00Z"},
		{"2015-06-30T23:59:59.999Z", "2015-07-01T00:00:00Z"},
		{"2016-12-31T23:59:59.999Z", "2017-01-01T00:00:00Z"},
	} {
		t.Run(tt.before[:10], func(t *testing.T) {
			t.Parallel()
			before, after := compose(t, l, date(tt.before)), compose(t, l, date(tt.after))
			if l.Max(date(tt.before))+1 != after {
				t.Error("there are IDs between them")
			}
			first, second := roundTrip(t, f, "PAY", before), roundTrip(t, f, "PAY", after)
			if first >= second || !strings.HasPrefix(second[11:], "000000000") || !strings.HasPrefix(first[11:], "235959999") {
				t.Errorf("texts = %q, %q", first, second)
			}
			leap := first[:15] + "60" + first[17:]
			if id, err := f.Parse(leap); id != 0 || err == nil || !strings.Contains(err.Error(), "second 60 out of range [0, 59]") {
				t.Errorf("Parse(%q) = %d, %v", leap, id, err)
			}
		})
	}
}

// TestDaylightSaving checks that each quarter of an hour of a year has a text of its own, in
// order and in UTC, although clocks are set twice in this year. This must not depend on the
// time zones of the epoch and of the process.
func TestDaylightSaving(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			l := snowflake.TwitterLayout()
			l.Epoch = l.Epoch.In(zone)
			f := newFormat(t, "PAY", l)
			changes := 0
			last, _ := "", 0
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, zone)
			for _, offset := at.Zone(); at.Year() < 2027; at = at.Add(15 * time.Minute) {
				if _, now := at.Zone(); now != offset {
					changes++
					offset = now
				}
				text := roundTrip(t, f, "PAY", compose(t, l, at))
				if want := "PAY" + at.UTC().Format("20060102150405") + "000"; text <= last || !strings.HasPrefix(text, want) {
					t.Fatalf("text %q after %q, want %s…", text, last, want)
				}
				last = text
			}
			if changes != 2 {
				t.Errorf("the clocks were set %d times", changes)
			}
		})
	}
}

// TestPrefixIsBound checks that a range of texts contains exactly the serial numbers of a
// day. For 20 November 2026 these are the texts from PAY20261120 up to, and without,
// PAY20261121.
func TestPrefixIsBound(t *testing.T) {
	t.Parallel()
	l := snowflake.TwitterLayout()
	f := newFormat(t, "PAY", l)
	from, to := date("2026-11-20T00:00:00Z"), date("2026-11-21T00:00:00Z")
	for id, want := range map[types.ID]bool{
		l.Min(from) - 1: false, l.Min(from): true, l.Max(to.Add(-time.Millisecond)): true, l.Min(to): false,
	} {
		text := f.Format(id)
		if got := text >= "PAY20261120" && text < "PAY20261121"; got != want {
			t.Errorf("%q is in the day = %t, want %t", text, got, want)
		}
	}
}

// TestFormatOfOthers checks numbers that are not IDs of the layout. Format returns the code,
// an exclamation mark and the number, such as PAY!0, and Parse rejects this text.
func TestFormatOfOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		layout snowflake.Layout
		id     types.ID
		want   string
	}{
		{snowflake.TwitterLayout(), 0, "PAY!0"},
		{snowflake.TwitterLayout(), -1, "PAY!-1"},
		{snowflake.TwitterLayout(), math.MinInt64, "PAY!-9223372036854775808"},
		{snowflake.JSSafeLayout(), 1 << 53, "PAY!9007199254740992"},
		{snowflake.JSSafeLayout(), math.MaxInt64, "PAY!9223372036854775807"},
		{endless, 0, "PAY!0"},
	} {
		f := newFormat(t, "PAY", tt.layout)
		got := f.Format(tt.id)
		if got != tt.want {
			t.Errorf("Format(%d) = %q, want %q", tt.id, got, tt.want)
		}
		if id, err := f.Parse(got); id != 0 || err == nil {
			t.Errorf("Parse(%q) = %d, %v", got, id, err)
		}
	}
}

// TestFormatOfOthersIsNeverASerial checks numbers that are not IDs of the layout. The text
// that Format returns for such a number, as PAY!0, must not be a serial number, even if it
// has the same length.
func TestFormatOfOthersIsNeverASerial(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		l := sampleLayout(r)
		f := newFormat(t, sampleCode(r), l)
		for range 20 {
			id := -types.ID(r.Int64())
			if last := lastID(l); r.IntN(2) == 0 && last < math.MaxInt64 {
				id = last + 1 + types.ID(r.Int64N(int64(math.MaxInt64-last)))
			}
			if text := f.Format(id); !strings.HasSuffix(text, "!"+id.String()) {
				t.Fatalf("%v: Format(%d) = %q", l, id, text)
			} else if back, err := f.Parse(text); err == nil {
				t.Fatalf("%v: Parse(%q) = %d", l, text, back)
			}
		}
	}
}

// New returns all mistakes in one error.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	twitter := snowflake.TwitterLayout()
	invalid := twitter
	invalid.Tick = 0
	for _, tt := range []struct {
		name   string
		code   string
		layout snowflake.Layout
		opts   []serial.Option
		want   string
	}{
		{"no code", "", twitter, nil, `serial: code "" has 0 characters: want 1 to 32 of A-Z and 0-9`},
		{"long", strings.Repeat("A", 33), twitter, nil, `serial: code "` + strings.Repeat("A", 33) + `" has 33 characters: want 1 to 32 of A-Z and 0-9`},
		{"lower case", "PAy", twitter, nil, `serial: code "PAy" contains 'y': want 1 to 32 of A-Z and 0-9`},
		{"blank", "P A", twitter, nil, `serial: code "P A" contains ' ': want 1 to 32 of A-Z and 0-9`},
		{"mark of others", "PAY!", twitter, nil, `serial: code "PAY!" contains '!': want 1 to 32 of A-Z and 0-9`},
		{"not ASCII", "PÄ", twitter, nil, `serial: code "PÄ" contains 'Ä': want 1 to 32 of A-Z and 0-9`},
		{"not UTF-8", "\xff", twitter, nil, `serial: code "\xff" contains '�': want 1 to 32 of A-Z and 0-9`},
		{"layout", "PAY", invalid, nil, `snowflake: layout's tick 0s: want whole milliseconds, at least 1ms`},
		{"no separator", "PAY", twitter, []serial.Option{serial.WithSeparator("")}, `serial: separator "": want one of "-_."`},
		{"two separators", "PAY", twitter, []serial.Option{serial.WithSeparator("-_")}, `serial: separator "-_": want one of "-_."`},
		{"digit", "PAY", twitter, []serial.Option{serial.WithSeparator("0")}, `serial: separator "0": want one of "-_."`},
		{
			"all at once", "", invalid,
			[]serial.Option{nil, serial.WithSeparator(":")},
			`serial: code "" has 0 characters: want 1 to 32 of A-Z and 0-9
snowflake: layout's tick 0s: want whole milliseconds, at least 1ms
serial: option 1 is nil
serial: separator ":": want one of "-_."`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := serial.New(tt.code, tt.layout, tt.opts...)
			if f != nil || err == nil || err.Error() != tt.want {
				t.Errorf("New = %v, %v\nwant %s", f, err, tt.want)
			}
		})
	}
}
