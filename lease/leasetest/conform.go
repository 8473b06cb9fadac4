// Package leasetest shows whether a [lease.Store] keeps what package lease
// builds on: a suite for its two methods, and a torture with real processes.
// The tests of a store need no more than
//
//	func TestMain(m *testing.M) { leasetest.Main(m, dial) }
//
//	func TestConform(t *testing.T) { leasetest.Conform(t, open) }
//
//	func TestTorture(t *testing.T) { leasetest.Torture(t, address) }
//
// [Memory] is a store for tests of code that uses a store.
package leasetest

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/torture"
)

// An Opener returns a new handle on the store's namespace, with a connection of
// its own where the store has connections. Handles of one namespace share their
// records; handles of two do not. What has to be closed is closed by t.Cleanup.
//
// Namespaces consist of at most 40 letters, digits and hyphens, and Conform
// never uses one again: records may be left behind.
type Opener func(t *testing.T, namespace string) lease.Store

// Conform runs the suite: one subtest for each thing that a store promises, also
// as a [lease.Clock], which has to be right within minutes, a [lease.Connector], a
// [lease.Getter], a [lease.Queue] and a [lease.Checker], if it is one. It opens no more than six handles at a time, and
// needs a store that is up for all of it. It makes some three thousand calls, a
// third of them concurrently.
func Conform(t *testing.T, open Opener) {
	t.Helper()
	conform(t, open, patience, prompt)
}

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
		{"release and take again", (*suite).release},
		{"zero record written", (*suite).zeroWritten},
		{"layout key", (*suite).layoutKey},
		{"bounds", (*suite).bounds},
		{"owners", (*suite).owners},
		{"large keys", (*suite).largeKeys},
		{"1024 workers", (*suite).manyWorkers},
		{"loaded map is a copy", (*suite).loadedCopy},
		{"namespaces apart", (*suite).namespacesApart},
		{"visible through other handles", (*suite).visible},
		{"one winner on an absent record", (*suite).oneFirst},
		{"one winner on a record", (*suite).oneNext},
		{"no update lost", (*suite).noUpdateLost},
		{"reads are never stale", (*suite).neverStale},
		{"context ended before", (*suite).endedBefore},
		{"context ends during a write", (*suite).endsDuringWrite},
		{"clock", (*suite).clock},
		{"connections", (*suite).connections},
		{"some records", (*suite).some},
		{"turns", (*suite).turns},
		{"check", (*suite).check},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&suite{t, open, torture.FreshNamespace("conform"), patience, prompt})
		})
	}
}
