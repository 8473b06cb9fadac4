package serial_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestMillions checks that serial numbers of a real generator rise, and so are unique.
// GORMFLAKE_TEST_MILLIONS sets how many millions, up to ten.
func TestMillions(t *testing.T) {
	t.Parallel()
	millions := 1
	if text := os.Getenv("GORMFLAKE_TEST_MILLIONS"); text != "" && !race.Enabled {
		var err error
		if millions, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		millions = min(millions, 10)
	}
	layout := snowflake.Layout{
		Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, DatacenterBits: 1, WorkerBits: 3, SequenceBits: 18,
	}
	gen, err := snowflake.New(snowflake.Static(1, 5), snowflake.WithLayout(layout))
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(t.Context())
	f := newFormat(t, "PAY", layout)
	last := ""
	ids := make([]types.ID, 10_000)
	for range millions * 1_000_000 / len(ids) {
		if err := gen.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			text := f.Format(id)
			if text <= last {
				t.Fatalf("%q after %q", text, last)
			}
			if back, err := f.Parse(text); back != id || err != nil {
				t.Fatalf("Parse(%q) = %d, %v, want %d", text, back, err, id)
			}
			last = text
		}
	}
}
