package lease

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A heldWorker is a worker that the lease has acquired. Its fields are changed by the
// holder of the store's lock alone, and those that others read (unused, acknowledged,
// lost) under the mutex of the holdings too.
type heldWorker struct {
	key                int
	datacenter, worker int64
	start              int64                           // in Unix ms: nobody has issued this tick or a later one before
	unused             int64                           // in Unix ms: nor has this lease, by the grants that were retired
	acquired           time.Time                       // on the wall clock
	acquiredAt         time.Time                       // the same on the monotonic clock
	grant              atomic.Pointer[snowflake.Grant] // nil until a generator has it

	// A bound may be used because the store has acknowledged a write of it.
	// One that was only read may vanish in a crash of the store: it is the base
	// of the next compare-and-swap, and nothing else.
	token        token  // of the last attempt to write
	base         Record // as written or read
	acknowledged int64  // the bound, in Unix ms

	sent []sentWrite // writes since, each of which may have landed, or may land yet

	lost      bool // or released
	forgotten bool // the store shows a bound of ours below the acknowledged one
	checked   bool // the store, since the worker was lost
}

// until is the end of the window.
func (w *heldWorker) until() time.Time { return time.UnixMilli(w.acknowledged) }

// used is the last tick in use, in Unix milliseconds: it is ahead of the wall
// clock after that was set back, or in logical time.
func (w *heldWorker) used() int64 {
	grant := w.grant.Load()
	if grant == nil {
		return 0
	}
	return max(0, grant.Last().UnixMilli())
}

// next is a record that differs from all that were written under the token.
func (w *heldWorker) next(bound int64) Record {
	w.token.writes++
	return Record{bound, w.token.owner()}
}

// A sentWrite is a write of a holder's own, by its token's count.
type sentWrite struct{ writes, bound int64 }

// maxSent is how many writes a worker remembers, those of an outage of nine hours.
// One that lands after so many others is taken for a copy's, which costs the worker.
const maxSent = 1 << 16

// try notes a write that may have landed, or may land yet: also one that was
// refused, because what stands before a store can send a write twice and pass on
// the second answer.
func (w *heldWorker) try(r Record) {
	w.sent = append(w.sent[max(0, len(w.sent)+1-maxSent):], sentWrite{w.token.writes, r.Bound})
}

// acknowledge lets the generator use the bound of a write that the store has
// acknowledged. No earlier write can land after it.
func (w *heldWorker) acknowledge(r Record) {
	w.sent, w.base, w.acknowledged = nil, r, r.Bound
	if grant := w.grant.Load(); grant != nil {
		grant.Extend(w.until())
	}
}

// owns reports whether the record was written under the token, by this process
// or a clone of it, and is not released.
func (w *heldWorker) owns(r Record) bool { return r.heldBy() == w.token.holder }

// writtenByClone reports whether a record with our token was written by none of
// our writes: by a copy of this process, or by what it did after a snapshot to
// which it has been set back. An older record is one that the store has gone back
// to, and a person who changes a bound leaves the owner.
func (w *heldWorker) writtenByClone(r Record) bool {
	t, _ := parseToken(r.Owner)
	base, _ := parseToken(w.base.Owner)
	return t.writes > base.writes && !slices.Contains(w.sent, sentWrite{t.writes, r.Bound})
}

// storeForgot reports whether the record shows that the store has forgotten what it
// acknowledged: a bound below ours, or a taker that replaced one. The taker's
// own bound shows nothing, for it lies above in any case.
func (w *heldWorker) storeForgot(r Record) bool {
	if t, ok := parseToken(r.Owner); ok && t.holder != w.token.holder {
		return t.replaced < w.acknowledged
	}
	return r.Bound < w.acknowledged
}

// revoke stops the generator: once it has returned, no call that begins gets an
// ID of this worker.
func (w *heldWorker) revoke(now int64) {
	w.lost = true
	w.acknowledged = min(w.acknowledged, now) // for Stats, which reports the end of the window
	if grant := w.grant.Load(); grant != nil {
		grant.Revoke()
	}
}

func (w *heldWorker) String() string {
	return fmt.Sprintf("datacenter %d worker %d", w.datacenter, w.worker)
}

func (w *heldWorker) attrs() []any {
	return []any{"datacenter", w.datacenter, "worker", w.worker, "owner", w.token.holder, "until", stamp(w.until())}
}
