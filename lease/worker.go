package lease

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A heldWorker is a worker that the lease has acquired. Its window, in which the generator
// may issue, is from start to acknowledged. Only the goroutine that holds the lease's storeLock
// changes its fields. The fields that other goroutines read (unusedFrom, acknowledged, lost)
// are changed under the mutex of the holdings too.
type heldWorker struct {
	key                int // of the worker's record in the store
	datacenter, worker int64
	start              int64                           // in Unix ms: the first tick that no earlier holder can have issued
	unusedFrom         int64                           // in Unix ms: the tick after the last tick that retired grants of this lease may have issued; start if there are none
	acquired           time.Time                       // when the claim read the clock for its last attempt, by claim.readClock
	acquiredAt         time.Time                       // a moment after acquired, on the monotonic clock; see believedNow
	grant              atomic.Pointer[snowflake.Grant] // nil until a generator has asked for it

	// The generator may use a bound once the store has acknowledged the write of the bound.
	// The base is the record that the next compare-and-swap expects in the store. A record
	// that was only read can become the base, but the generator must not use its bound,
	// because the record may vanish in a crash of the store.
	token        token  // of the last attempt to write
	base         Record // as last acknowledged or read
	acknowledged int64  // the acknowledged bound, in Unix ms; the end of the window

	sent []sentWrite // writes after base that the store has not acknowledged; each may have landed or may still land

	lost      bool // no further window may be written, because the worker is lost or released
	forgotten bool // the store shows an older record of ours; restoreBound is to raise its bound to the acknowledged bound
	checked   bool // the store was checked after the worker was lost; see checkStore
}

// until returns the end of the window that the store has acknowledged.
func (w *heldWorker) until() time.Time { return time.UnixMilli(w.acknowledged) }

// lastTick returns the last tick that the generator has issued or reserved, in Unix
// milliseconds. It returns 0 before the first ID, and after the generator has retired the
// grant. The last tick may be ahead of the wall clock, because the clock was set back, or
// because the generator does not follow the clock (see [snowflake.WithLogicalTime]).
func (w *heldWorker) lastTick() int64 {
	grant := w.grant.Load()
	if grant == nil {
		return 0
	}
	return max(0, grant.Last().UnixMilli()) // the zero time of Last is in the year 1, below 0
}

// newRecord returns the next record to write, with the given bound and the worker's token as
// its owner. It first counts the write in the token, so that the record differs from all
// records that were written under the token before.
func (w *heldWorker) newRecord(bound int64) Record {
	w.token.writes++
	return Record{bound, w.token.owner()}
}

// A sentWrite identifies a write of this holder by the count in the token, which is 1 for the
// first write of the claim, and by the bound.
type sentWrite struct{ writes, bound int64 }

// maxSent is how many writes without an acknowledgement a worker remembers. During an outage
// there are at most four writes a second, so that this is enough for four hours. If a write
// that the worker no longer remembers lands, writtenByClone takes it for a write of a copy of
// this process, and the worker is lost.
const maxSent = 1 << 16

// addSent remembers a write that the store has not acknowledged, but that may have landed
// or may still land. This includes refused writes, because a proxy before the store can send
// a write twice and return the second answer. That answer is a refusal although the first
// write landed. If there are maxSent writes already, addSent forgets the oldest.
func (w *heldWorker) addSent(r Record) {
	w.sent = append(w.sent[max(0, len(w.sent)+1-maxSent):], sentWrite{w.token.writes, r.Bound})
}

// acknowledge notes that the store has acknowledged the write of r. It lets the generator
// issue up to the bound of r, and makes r the record that the next compare-and-swap expects.
// It forgets the earlier writes without an acknowledgement, because each of them expects an
// older record than r in the store, and so can no longer land.
func (w *heldWorker) acknowledge(r Record) {
	w.sent, w.base, w.acknowledged = nil, r, r.Bound
	if grant := w.grant.Load(); grant != nil {
		grant.Extend(w.until())
	}
}

// owns reports whether the record has the holder of our token (host/process/random) and is not
// released. The holder has a random part, so only this process, or a copy of it in a cloned
// machine, writes it. The other parts of the token, such as the count of writes, may differ.
func (w *heldWorker) owns(r Record) bool { return r.heldBy() == w.token.holder }

// writtenByClone reports whether a copy of this process, for example in a cloned virtual
// machine, wrote the record r, which carries our token. The owner of a record contains a
// count of writes. The record is from a copy if its count is above the count of our base,
// and we have not sent a write with that count and bound. For example, a copy wrote a record
// with count 8 if the count of our base is 7 and we have sent no write since. A machine that
// was set back to a snapshot sees its own later writes in this way, too.
//
// Two kinds of records have no larger count, so they are not taken for the write of a copy.
// An older record means that the store was set back. A record whose bound a person has edited
// keeps its owner, and with it the count.
func (w *heldWorker) writtenByClone(r Record) bool {
	t, _ := parseToken(r.Owner)
	base, _ := parseToken(w.base.Owner)
	return t.writes > base.writes && !slices.Contains(w.sent, sentWrite{t.writes, r.Bound})
}

// storeForgot reports whether the record r, which the store shows now, proves that the store
// has forgotten a write that it acknowledged to us. A token contains the bound that its claim
// replaced. If another holder has replaced a bound below our acknowledged bound, the store had
// forgotten our write by then. The other holder's own bound proves nothing, because it may
// have risen since. Any other record, for example an older record of ours or no record, proves
// that the store has forgotten if its own bound is below our acknowledged bound.
func (w *heldWorker) storeForgot(r Record) bool {
	if t, ok := parseToken(r.Owner); ok && t.holder != w.token.holder {
		return t.replaced < w.acknowledged
	}
	return r.Bound < w.acknowledged
}

// revoke marks the worker as lost and stops the generator. A call of the generator that begins
// after revoke has returned gets no ID of this worker. now is in Unix milliseconds.
func (w *heldWorker) revoke(now int64) {
	w.lost = true
	w.acknowledged = min(w.acknowledged, now) // because Stats reports it as the end of the window
	if grant := w.grant.Load(); grant != nil {
		grant.Revoke()
	}
}

// String returns the name of the worker for errors and logs.
func (w *heldWorker) String() string {
	return fmt.Sprintf("datacenter %d worker %d", w.datacenter, w.worker)
}

// attrs returns the worker, its holder and the end of its window, as attributes for the log.
func (w *heldWorker) attrs() []any {
	return []any{"datacenter", w.datacenter, "worker", w.worker, "owner", w.token.holder, "until", stamp(w.until())}
}
