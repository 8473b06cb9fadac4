package claims_test

import (
	"testing"
	"time"

	godruoyi "github.com/godruoyi/go-snowflake"
)

// The library keeps its whole state in variables of its package, so these tests do not
// run in parallel.

// A process that does not set its machine issues IDs of machine 0. Two such processes can
// therefore issue the same IDs.
func TestGodruoyiMachineIsZeroUnlessSet(t *testing.T) { //nolint:paralleltest // see above
	id, err := godruoyi.NextID()
	if err != nil {
		t.Fatal(err)
	}
	if machine := godruoyi.ParseID(id).MachineID; machine != 0 {
		t.Errorf("machine %d, want 0, as in every other process", machine)
	}
}

// TestGodruoyiWaitsForAStepBack checks that the library waits until a clock that was set back
// has caught up. AtomicResolver returns the next sequence number of a millisecond. For an
// earlier millisecond than before, it must return MaxSequence, which makes NextID try again.
func TestGodruoyiWaitsForAStepBack(t *testing.T) { //nolint:paralleltest // see above
	now := time.Now().UnixMilli()
	if _, err := godruoyi.AtomicResolver(now); err != nil {
		t.Fatal(err)
	}
	if sequence, err := godruoyi.AtomicResolver(now - 1); err != nil || sequence != godruoyi.MaxSequence {
		t.Errorf("%d, %v, want the number that makes NextID try again", sequence, err)
	}
}

// A machine number that does not fit into ten bits makes the program panic.
func TestGodruoyiMachineBeyondTheRangePanics(t *testing.T) { //nolint:paralleltest // see above
	if !panics(func() { godruoyi.SetMachineID(1024) }) {
		t.Error("no panic")
	}
}

// The library's IDs are numbers in JSON, of which JavaScript rounds some.
func TestGodruoyiNumbersLoseDigitsInJavaScript(t *testing.T) { //nolint:paralleltest // see above
	lost := 0
	for _, id := range take(t, 1000, godruoyi.NextID) {
		if read, ok := throughJavaScript(t, id).(float64); !ok || uint64(read) != id {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no ID has lost digits")
	}
}
