// Package claims_test checks the claims of docs/compared.md about other libraries.
package claims_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// inRestartedProcess runs a process with a clock that begins at a fixed moment of 2026. Two such
// processes therefore act like one process that restarts after its clock was set back.
func inRestartedProcess(t *testing.T, process func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		process(t)
	})
}

// take returns n IDs.
func take[ID any](t *testing.T, n int, next func() (ID, error)) []ID {
	t.Helper()
	ids := make([]ID, n)
	for i := range ids {
		var err error
		if ids[i], err = next(); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// repeats returns the number of IDs of b that are in a.
func repeats[ID comparable](a, b []ID) int {
	seen := make(map[ID]bool, len(a))
	for _, id := range a {
		seen[id] = true
	}
	n := 0
	for _, id := range b {
		if seen[id] {
			n++
		}
	}
	return n
}

// throughJavaScript returns the value that a client reads if it treats JSON's numbers as
// doubles, as JavaScript does.
func throughJavaScript(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
