package leasetest

import (
	"testing"
	"time"
)

// ConformWithin runs the suite of Conform with other limits than the constants. patience
// limits the calls that the suite makes itself, but not the calls by a handle. prompt limits
// how long a call may take after its context has ended.
func ConformWithin(t *testing.T, open Opener, patience, prompt time.Duration) {
	t.Helper()
	conform(t, open, patience, prompt)
}
