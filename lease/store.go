package lease

import (
	"context"
	"errors"
)

var errNoStore = errors.New("lease: store is nil: want one that sqllease, redislease, etcdlease or zklease has made, or your own")

// layoutKey is the key of the record whose Owner describes the layout.
const layoutKey = -1

// A Store keeps one [Record] per worker, for all processes that share it. Its
// methods may be called concurrently, from any number of processes, and must
// return soon after ctx has ended.
//
// A store must not forget: a write that it has acknowledged survives crashes
// and failovers of whatever it is kept in. Where that cannot be had, see
// [WithSettle]. One that fails over must not answer from a replica that lags.
// Package leasetest has a suite that shows whether a store does all this.
//
// Keys are datacenter<<WorkerBits | worker of the layout; key -1 describes the
// layout itself. What a store is named or prefixed with, its namespace, is its
// own affair: stores of one namespace share their workers.
type Store interface {
	// Load returns all records that were ever written, as they are now: it
	// sees every write that was acknowledged, to anybody, before the call.
	Load(ctx context.Context) (map[int]Record, error)

	// CompareAndSwap replaces the record by next if it equals old, in one
	// atomic step; a record that is absent equals the zero Record. True says
	// that next has been written, durably. False says that the record differed
	// and that this call has not written and never will. After an error the
	// write may have happened, or may yet happen: Load tells, by the token in
	// Owner.
	CompareAndSwap(ctx context.Context, worker int, old, next Record) (bool, error)
}
