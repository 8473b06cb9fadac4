package serial_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // for a zone with daylight saving, also on machines without time zones

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestMain runs the tests in a zone that sets its clocks back, which must not change any
// result.
func TestMain(m *testing.M) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	time.Local = zone
	os.Exit(m.Run())
}

// newFormat returns the format of serial.New, and fails the test on an error.
func newFormat(t testing.TB, code string, layout snowflake.Layout, opts ...serial.Option) *serial.Format {
	t.Helper()
	f, err := serial.New(code, layout, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// date parses a time of the form 2026-11-20T12:00:00Z.
func date(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// lastID returns the last ID of a layout.
func lastID(l snowflake.Layout) types.ID { return l.Max(l.Expires()) }

// compose returns the ID of a time, with zero in all other fields.
func compose(t testing.TB, l snowflake.Layout, at time.Time) types.ID {
	t.Helper()
	id, err := l.Compose(snowflake.Parts{Time: at})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// sampleLayout returns a random valid layout. Fields and ticks of all widths occur,
// including width 0.
func sampleLayout(r *rand.Rand) snowflake.Layout {
	for {
		l := snowflake.Layout{
			Tick:           time.Duration(1+r.IntN(1000)) * time.Millisecond,
			DatacenterBits: uint8(max(0, r.IntN(15)-3)),
			WorkerBits:     uint8(max(0, r.IntN(19)-3)),
			SequenceBits:   uint8(max(0, r.IntN(28)-3)),
			TotalBits:      uint8(r.IntN(64)),
		}
		if r.IntN(2) == 0 {
			l.Tick = time.Millisecond
		}
		l.Epoch = time.UnixMilli(r.Int64N(1_700_000_000_000) / l.Tick.Milliseconds() * l.Tick.Milliseconds())
		if l.Validate() == nil {
			return l
		}
	}
}

// sampleCode returns a random code of any length.
func sampleCode(r *rand.Rand) string {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	code := make([]byte, 1+r.IntN(32))
	for i := range code {
		code[i] = characters[r.IntN(len(characters))]
	}
	return string(code)
}

// sampleOptions returns a separator, or no option once in four times.
func sampleOptions(r *rand.Rand) []serial.Option {
	if i := r.IntN(4); i < 3 {
		return []serial.Option{serial.WithSeparator("-_."[i : i+1])}
	}
	return nil
}
