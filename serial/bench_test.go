package serial_test

import (
	"testing"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const sample types.ID = 1541815603606036480

// TestAllocations checks that Format only allocates the text, and that Parse does not
// allocate.
func TestAllocations(t *testing.T) { //nolint:paralleltest // others' allocations would count
	f := newFormat(t, "PAY", snowflake.TwitterLayout())
	text := f.Format(sample)
	if n := testing.AllocsPerRun(100, func() { f.Format(sample) }); n != 1 {
		t.Errorf("Format: %v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { f.Parse(text) }); n != 0 { //nolint:errcheck // not what is tested
		t.Errorf("Parse: %v allocations, want 0", n)
	}
}

func BenchmarkFormat(b *testing.B) {
	f := newFormat(b, "PAY", snowflake.TwitterLayout())
	b.ReportAllocs()
	for b.Loop() {
		f.Format(sample)
	}
}

func BenchmarkParse(b *testing.B) {
	f := newFormat(b, "PAY", snowflake.TwitterLayout())
	text := f.Format(sample)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
