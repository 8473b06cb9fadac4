package leasetest

import (
	"testing"
	"time"
)

// ConformWithin is Conform with other limits for calls that hang, and for calls whose
// context has ended.
func ConformWithin(t *testing.T, open Opener, patience, prompt time.Duration) {
	t.Helper()
	conform(t, open, patience, prompt)
}
