package claims_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
)

// UUIDs of version 7 sort by the order in which a process creates them, even within a
// millisecond.
func TestUUIDv7RisesInOneProcess(t *testing.T) {
	t.Parallel()
	ids := take(t, 10_000, uuid.NewV7)
	for i := range ids[1:] {
		if bytes.Compare(ids[i][:], ids[i+1][:]) >= 0 {
			t.Fatalf("%v after %v", ids[i+1], ids[i])
		}
	}
}

// ULIDs sort by the order in which a process creates them, even within a millisecond.
func TestULIDRisesWithinAMillisecond(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) { // in the same millisecond
		ids := take(t, 10_000, func() (ulid.ULID, error) { return ulid.Make(), nil })
		for i := range ids[1:] {
			if ids[i].Compare(ids[i+1]) >= 0 {
				t.Fatalf("%v after %v", ids[i+1], ids[i])
			}
		}
	})
}

// TestUUIDAndULIDSurviveAClockSetBack checks that UUIDs and ULIDs do not repeat if a process
// restarts after its clock was set back, because they contain 62 and 80 random bits.
func TestUUIDAndULIDSurviveAClockSetBack(t *testing.T) {
	t.Parallel()
	var uuids [2][]uuid.UUID
	var ulids [2][]ulid.ULID
	for i := range uuids {
		inRestartedProcess(t, func(t *testing.T) {
			uuids[i] = take(t, 1000, uuid.NewV7)
			ulids[i] = take(t, 1000, func() (ulid.ULID, error) { return ulid.Make(), nil })
		})
	}
	if a, b := repeats(uuids[0], uuids[1]), repeats(ulids[0], ulids[1]); a != 0 || b != 0 {
		t.Errorf("%d UUIDs and %d ULIDs repeat", a, b)
	}
}

// UUIDs and ULIDs are strings in JSON, of 36 and 26 characters. Both are 16 bytes in a
// column.
func TestUUIDAndULIDAreStringsInJSON(t *testing.T) {
	t.Parallel()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	if got := throughJavaScript(t, id); got != id.String() || len(id.String()) != 36 || len(id) != 16 {
		t.Errorf("%v, want %v of 36 characters and 16 bytes", got, id)
	}
	u := ulid.Make()
	if got := throughJavaScript(t, u); got != u.String() || len(u.String()) != 26 || len(u) != 16 {
		t.Errorf("%v, want %v of 26 characters and 16 bytes", got, u)
	}
}
