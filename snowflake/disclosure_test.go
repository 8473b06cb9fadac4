package snowflake_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// What docs/disclosure.md says: anybody computes where the sequence of a tick has
// started, and so how many IDs its worker had issued in it before this one.
func TestSequenceStartIsPublic(t *testing.T) {
	t.Parallel()
	layout := snowflake.TwitterLayout()
	layout.Epoch = layout.Epoch.Add(time.Hour) // workers of its own
	gen, err := snowflake.New(snowflake.Static(3, 5), snowflake.WithLayout(layout))
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(t.Context())
	var at time.Time
	issued := int64(0)
	for range 200 {
		id, err := gen.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if when := layout.Time(id); !when.Equal(at) {
			at, issued = when, 0
		}
		if got := place(id.Int64()); got != issued {
			t.Fatalf("%v is ID %d of its tick, and seems to be %d", id, issued, got)
		}
		issued++
		if issued == 3 {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// place is what an outsider computes of an ID: how many were issued before it in
// its tick.
func place(id int64) int64 {
	const sequence, start = 1<<12 - 1, 1<<11 - 1
	x := uint64(id &^ sequence)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return id&sequence - int64(x&start)
}
