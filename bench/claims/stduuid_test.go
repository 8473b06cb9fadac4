//go:build go1.27

package claims_test

import (
	"database/sql/driver"
	"testing"
	"uuid"
)

// stdUUID returns a new UUID, in the form of a function for take.
func stdUUID() (uuid.UUID, error) { return uuid.NewV7(), nil }

// UUIDs of version 7 sort by the order in which a process creates them.
func TestStandardUUIDv7Rises(t *testing.T) {
	t.Parallel()
	ids := take(t, 10_000, stdUUID)
	for i := range ids[1:] {
		if ids[i].Compare(ids[i+1]) >= 0 {
			t.Fatalf("%v after %v", ids[i+1], ids[i])
		}
	}
}

// TestStandardUUIDv7FallsAfterAStepBack checks that UUIDs are lower after the clock steps
// back by a second or more. The test simulates the step by the clock of inRestartedProcess,
// which shows a day in the past.
func TestStandardUUIDv7FallsAfterAStepBack(t *testing.T) {
	t.Parallel()
	before := uuid.NewV7()
	inRestartedProcess(t, func(t *testing.T) {
		if after := uuid.NewV7(); after.Compare(before) >= 0 {
			t.Errorf("%v after %v; want a lower one", after, before)
		}
	})
}

// UUIDs of the standard library are strings of 36 characters in JSON.
func TestStandardUUIDIsAStringInJSON(t *testing.T) {
	t.Parallel()
	id := uuid.NewV7()
	if got := throughJavaScript(t, id); got != id.String() || len(id.String()) != 36 {
		t.Errorf("%v, want %v of 36 characters", got, id)
	}
}

// database/sql passes a UUID of the standard library as text, because it has no
// driver.Valuer.
func TestStandardUUIDIsAParameterAsText(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	if value, err := driver.DefaultParameterConverter.ConvertValue(id); err != nil || value != id.String() {
		t.Errorf("database/sql passes %v, %v; want the text", value, err)
	}
}
