package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Stats describes the worker of a lease and counts its events.
type Stats struct {
	Datacenter, Worker int64
	Owner              string    // the holder in the store's record, as host/process/random
	Since              time.Time // when this lease acquired the worker
	Until              time.Time // the end of the window that the store has acknowledged

	// Extensions counts the windows after the first. Failures counts the failed
	// attempts to get a window. Losses counts the workers that another process, or a
	// copy of this process, has taken, or that somebody has released. Regressions counts
	// acknowledged writes that the store has forgotten: alert on any.
	Extensions, Failures, Losses, Regressions uint64

	// FailingSince is when the store, or the search for a free worker, began to fail.
	// Failure is the last error. Both are zero while there is no failure.
	FailingSince time.Time
	Failure      error
}

// A holdings value has the workers and grants of a lease, its outage and its counts. A caller
// can read them without the store's lock, and so need not wait for a store that hangs.
//
// A worker is the lease's right in the store. A grant is the generator's right to issue
// under a worker. After a loss the lease acquires a replacement in the background, and the
// generator gets a grant of it when it next asks.
type holdings struct {
	*config
	cancel context.CancelFunc // stops the lease's background work
	retry  chan struct{}      // receives a value after a failure, to wake renewLoop

	mu          sync.Mutex                       // guards the fields below; never held during a call of the store
	held        *heldWorker                      // the worker of the generator's grant; see servedWorker
	replacement *heldWorker                      // takes the place of a lost held worker when the generator asks
	grants      map[*snowflake.Grant]*heldWorker // grants that are not retired; two while the generator replaces one
	ended       bool                             // the lease has ended, so that it grants and acquires no more workers
	outage      outage
	counts      Stats // only the counters are in use
}

// servedWorker returns the worker of the generator's last grant. Before the generator has a
// grant, it returns the worker of the first grant to come, or nil while that worker is being
// acquired.
func (h *holdings) servedWorker() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// current returns the worker whose window the lease renews. After a loss this is the
// replacement, even before the generator has asked for it.
func (h *holdings) current() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.currentLocked()
}

// currentLocked returns the worker whose window the lease renews; see current. The caller
// holds mu.
func (h *holdings) currentLocked() *heldWorker {
	if h.replacement != nil {
		return h.replacement
	}
	return h.held
}

// readyGrant returns a grant that reaches beyond need, in Unix milliseconds, if the lease has
// such a grant without a call of the store. If the caller has to call the store first, both
// results are nil. inUse is the grant under which the generator issues, or nil if it has no
// grant yet.
//
// readyGrant returns an error if the lease has ended, or if a second generator asks for its
// first grant. During an outage it returns the outage's error, because additional calls would
// only load a store that is in trouble. It then records need, from which noteFailure and
// health see that the generator is fenced.
func (h *holdings) readyGrant(inUse *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch w := h.currentLocked(); {
	case h.ended:
		return nil, errEnded
	case inUse == nil && len(h.grants) > 0: // a second generator
		return nil, fmt.Errorf("lease: %v serves a generator already: acquire a lease for each", h.held)
	case !w.lost && w.acknowledged > max(need, h.now()):
		return h.grantOf(w, inUse)
	case h.outage.attempts > 0:
		h.outage.need = need
		return nil, fencedError(h.now(), inUse, h.outage.reason())
	}
	return nil, nil
}

// grantOf returns inUse, the grant under which the generator issues, if inUse is a grant of
// the worker w. If inUse is nil or of another worker, grantOf creates a grant of w, and w
// becomes the worker of the generator. The caller holds mu.
func (h *holdings) grantOf(w *heldWorker, inUse *snowflake.Grant) (*snowflake.Grant, error) {
	if inUse != nil && w.grant.Load() == inUse {
		return inUse, nil
	}
	grant, err := snowflake.NewGrant(h.layout, w.datacenter, w.worker, time.UnixMilli(w.start), w.until())
	if err != nil {
		return nil, err
	}
	w.grant.Store(grant)
	h.held, h.replacement = w, nil
	h.grants[grant] = w
	return grant, nil
}

// noteRenewal lets the generator issue up to the bound of r, a record of w that the store has
// acknowledged, and counts the extension of the window.
func (h *holdings) noteRenewal(w *heldWorker, r Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.acknowledge(r)
	h.counts.Extensions++
}

// drop marks the worker as lost, revokes its grant so that the generator stops, and adds the
// loss to the counts.
func (h *holdings) drop(w *heldWorker, lost *loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.revoke(h.now())
	h.counts.Losses += lost.losses
	h.counts.Regressions += lost.regressions
}

// setReplacement makes w the worker that the generator gets when it next asks.
func (h *holdings) setReplacement(w *heldWorker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replacement = w
}

// removeGrant removes a grant that the generator has retired, and returns the grant's worker,
// which is to be released. The lease ends with the last grant. No tick from unusedFrom on, in
// Unix milliseconds, was issued under the grant. The worker remembers unusedFrom. If the caller
// does not get the store's lock in time, Lease.Release can then still release the worker.
//
// removeGrant returns nil if the grant is unknown, or if the worker is lost and the lease
// continues, because a lost worker needs no release. If the lease ends, it returns a lost
// worker too, because its bound may have to be restored; see Lease.releaseWorker.
func (h *holdings) removeGrant(grant *snowflake.Grant, unusedFrom int64) *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.grants[grant]
	if w != nil {
		w.unusedFrom = max(w.unusedFrom, unusedFrom)
	}
	delete(h.grants, grant)
	h.endIfUnusedLocked()
	for _, remaining := range h.grants {
		h.held = remaining // if the generator has rejected a new grant, it still issues under the old grant
	}
	if w != nil && w.lost && !h.ended {
		return nil
	}
	return w
}

// endIfUnused ends the lease if no grant is held, and reports whether it did.
func (h *holdings) endIfUnused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endIfUnusedLocked()
}

// endIfUnusedLocked ends the lease if no grant is held, and reports whether it did. The
// caller holds mu.
func (h *holdings) endIfUnusedLocked() bool {
	if len(h.grants) > 0 {
		return false
	}
	h.ended = true
	h.cancel()
	return true
}

// takeReplacement returns the replacement, which no generator has asked for, once the lease
// has ended, so that the caller releases it. It returns nil if there is no replacement, or if
// an earlier call has returned it. Before the lease has ended it also returns nil, because the
// generator may still ask for the replacement.
func (h *holdings) takeReplacement() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		return nil
	}
	w := h.replacement
	h.replacement = nil
	return w
}

// closeWorker prepares the release of the worker. It marks the worker as lost, so that the
// lease makes no new grant of it and writes no further window. It returns the bound for the
// release, which is above every tick that was issued under the worker.
func (h *holdings) closeWorker(w *heldWorker) (bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.lost = true
	return w.unusedFrom
}

// stillLeasedError returns the error for a worker that could not be released because of err.
// It locks mu to read the worker, because its caller may not have got the store's lock.
func (h *holdings) stillLeasedError(w *heldWorker, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Errorf("lease: %v could not be released; its lease expires at %s: %w", w, stamp(w.until()), err)
}

// currentOutage returns the current outage, or the zero outage.
func (h *holdings) currentOutage() outage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outage
}

// noteFailure notes a failed attempt to get a window, and wakes renewLoop, which then tries
// again sooner than after a third of the window. noteFailure logs the first failure of an
// outage, and the failure that fences the generator, which is the first failure after the
// window has ended or the worker was lost. The caller need not hold the store's lock.
func (h *holdings) noteFailure(err error) {
	h.mu.Lock()
	o, w := &h.outage, h.currentLocked()
	first := o.attempts == 0
	if first {
		o.since = time.Now()
	}
	o.attempts++
	o.lastErr, o.lost = err, w.lost
	nowFenced := !o.fenced && (w.lost || max(h.now(), o.need) >= w.acknowledged) // the first failure without a window
	o.fenced = o.fenced || nowFenced
	h.counts.Failures++
	attrs := append(w.attrs(), "error", err)
	h.mu.Unlock()
	select {
	case h.retry <- struct{}{}:
	default: // renewLoop has not yet received an earlier value, which is enough to wake it
	}

	switch {
	case nowFenced:
		h.log.Error("lease: fenced, the window has ended and nothing is issued", attrs...)
	case first:
		h.log.Warn("lease: the window cannot be extended", attrs...)
	}
}

// noteSuccess ends the outage, if there is one, and logs how long it lasted.
func (h *holdings) noteSuccess() {
	h.mu.Lock()
	o, attrs := h.outage, h.currentLocked().attrs()
	h.outage = outage{}
	h.mu.Unlock()
	if o.attempts > 0 {
		h.log.Info("lease: the window is extended again",
			append(attrs, "after", time.Since(o.since), "attempts", o.attempts)...)
	}
}

// stats returns the worker, the counts and the outage of the lease, for Lease.Stats.
func (h *holdings) stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, w := h.counts, h.currentLocked()
	s.Datacenter, s.Worker, s.Owner = w.datacenter, w.worker, w.token.holder
	s.Since, s.Until = w.acquired, w.until()
	s.FailingSince, s.Failure = h.outage.since, h.outage.lastErr
	return s
}

// health returns nil while the lease has a window, and otherwise the error that the generator
// returns, for Lease.Health. The lease has a window if the bound is above three times: the
// clock, the last tick in use, and the tick that the generator has asked for in vain. The
// second and the third may be ahead of the clock, for example after the clock was set back.
func (h *holdings) health() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.currentLocked()
	why := errWindowPassed
	switch {
	case h.ended:
		return errEnded
	case !w.lost && w.acknowledged > max(h.now(), w.lastTick(), h.outage.need):
		return nil
	case h.outage.attempts > 0:
		why = h.outage.reason()
	}
	return fencedError(h.now(), w.grant.Load(), why)
}
