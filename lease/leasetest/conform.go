// Package leasetest tests whether a [lease.Store] fulfils the contract that package
// lease relies on. [Conform] tests its methods. [Torture] runs real processes against a
// store that other processes can reach. A store needs only these tests:
//
//	func TestMain(m *testing.M) { leasetest.Main(m, dial) }
//
//	func TestConform(t *testing.T) { leasetest.Conform(t, open) }
//
//	func TestTorture(t *testing.T) { leasetest.Torture(t, address, leasetest.TortureConfig{}) }
//
// The function open is an [Opener]. Each of its calls returns another handle of the records
// of its namespace. dial is a [Dialer], and address is a text that it can open, such as a URL.
//
// [Memory] is a store in memory for tests of code that uses a store.
package leasetest

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/test/torture"
)

// Conform runs the suite with one subtest for each property of a store. It also tests
// the optional interfaces that the store implements: [lease.Clock], whose time must be
// right within minutes, [lease.Connector], [lease.Getter], [lease.Queue] and
// [lease.Checker]. It does not test [lease.Settler]. The store must be up all the time.
// Conform opens at most six handles at a time. It makes some three thousand calls, a third
// of them concurrently.
func Conform(t *testing.T, open Opener) {
	t.Helper()
	conform(t, open, patience, prompt)
}

// conform runs the suite. patience is how long a call may take, and prompt is how long a call
// may take after its context has ended. The suite's own tests use shorter times than the
// constants of these names, because they test stores that hang.
func conform(t *testing.T, open Opener, patience, prompt time.Duration) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"absent equals zero", (*suite).absentEqualsZero},
		{"absent differs from the rest", (*suite).absentDiffers},
		{"exact compare", (*suite).exactCompare},
		{"overwrite chain", (*suite).overwriteChain},
		{"same again", (*suite).sameAgain},
		{"old record is the new one", (*suite).oldIsNew},
		{"release and take again", (*suite).releaseAndTake},
		{"zero record written", (*suite).zeroWritten},
		{"layout key", (*suite).layoutKey},
		{"bounds", (*suite).bounds},
		{"owners", (*suite).owners},
		{"large keys", (*suite).largeKeys},
		{"1024 workers", (*suite).manyWorkers},
		{"loaded map is a copy", (*suite).loadedCopy},
		{"namespaces apart", (*suite).namespacesApart},
		{"visible through other handles", (*suite).visible},
		{"one winner on an absent record", (*suite).oneWinnerOnAbsent},
		{"one winner on a record", (*suite).oneWinnerOnRecord},
		{"no update lost", (*suite).noUpdateLost},
		{"reads are never stale", (*suite).neverStale},
		{"context ended before", (*suite).endedBefore},
		{"context ends during a write", (*suite).endsDuringWrite},
		{"clock", (*suite).clock},
		{"connections", (*suite).connections},
		{"some records", (*suite).someRecords},
		{"turns", (*suite).turns},
		{"check", (*suite).check},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&suite{t, open, torture.FreshNamespace("conform"), patience, prompt})
		})
	}
}
