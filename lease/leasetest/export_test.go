package leasetest

import (
	"testing"
	"time"
)

// ConformWithin runs the suite of Conform with these limits: patience for a call that hangs,
// and prompt for a call whose context has ended.
func ConformWithin(t *testing.T, open Opener, patience, prompt time.Duration) {
	t.Helper()
	conform(t, open, patience, prompt)
}
