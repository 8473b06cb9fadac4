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
	Owner              string    // the token of this grant, as host/process/random
	Since              time.Time // when this lease acquired the worker
	Until              time.Time // the end of the window that the store has acknowledged

	// Extensions counts the windows after the first. Failures counts the failed
	// attempts to get a window. Losses counts the workers that another process, or a
	// copy of this process, has taken. Regressions counts acknowledged writes that the
	// store has forgotten: alert on any.
	Extensions, Failures, Losses, Regressions uint64

	// FailingSince is when the store, or the search for a free worker, began to fail.
	// Failure is the last error. Both are zero while there is no failure.
	FailingSince time.Time
	Failure      error
}

// Holdings are the workers and grants of a lease, with its outage and its counts. They
// hold everything that is read or changed without the store's lock.
type holdings struct {
	*config
	cancel context.CancelFunc // stops the lease's background work
	retry  chan struct{}      // receives a value after a failure, to wake the background

	mu          sync.Mutex // guards the fields below; never held during a call of the store
	held        *heldWorker
	replacement *heldWorker // takes the place of a lost held worker when the generator asks
	grants      map[*snowflake.Grant]*heldWorker
	ended       bool
	outage      outage
	counts      Stats // only the counters are in use
}

// served returns the worker of the generator's last grant, or of its first grant if it
// has not asked yet. It returns nil while the first worker is being acquired.
func (h *holdings) served() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// current returns the worker whose window the lease renews. This is the replacement if
// the generator has not asked for it yet.
func (h *holdings) current() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.currentLocked()
}

func (h *holdings) currentLocked() *heldWorker {
	if h.replacement != nil {
		return h.replacement
	}
	return h.held
}

// ready returns a grant that reaches beyond need, in Unix milliseconds, for a generator
// that issues under inUse, or under no grant yet if that is nil. It returns an error if
// there can be no such grant, and neither if the caller has to ask the store. During an
// outage it returns the outage's error without asking, because additional attempts would
// only load a store that is in trouble. It then records need for the end of the outage.
func (h *holdings) ready(inUse *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch w := h.currentLocked(); {
	case h.ended:
		return nil, errEnded
	case inUse == nil && len(h.grants) > 0:
		return nil, fmt.Errorf("lease: %v serves a generator already: acquire a lease for each", h.held)
	case !w.lost && w.acknowledged > max(need, h.now()):
		return h.grantOf(w, inUse)
	case h.outage.attempts > 0:
		h.outage.need = need
		return nil, fencedError(h.now(), inUse, h.outage.reason())
	}
	return nil, nil
}

// grantOf returns the worker's grant. If the generator issues under another grant,
// held, or under no grant yet, grantOf makes a new grant.
func (h *holdings) grantOf(w *heldWorker, held *snowflake.Grant) (*snowflake.Grant, error) {
	if held != nil && w.grant.Load() == held {
		return held, nil
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

// extended lets the generator use the bound of a record that the store has
// acknowledged, and counts the extension.
func (h *holdings) extended(w *heldWorker, r Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.acknowledge(r)
	h.counts.Extensions++
}

// drop revokes the worker's grant, so that the generator stops, and counts the loss.
func (h *holdings) drop(w *heldWorker, lost *loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.revoke(h.now())
	h.counts.Losses += lost.losses
	h.counts.Regressions += lost.regressions
}

// offer makes w the worker that the generator gets when it next asks.
func (h *holdings) offer(w *heldWorker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replacement = w
}

// remove removes a retired grant and remembers that no tick from unused on was issued
// under its worker. It returns the worker to release, or nil if there is nothing to
// release: a lost worker of a lease that continues needs no write. If the release
// fails, a later release finds the value of unused. The lease ends with the last grant.
func (h *holdings) remove(grant *snowflake.Grant, unused int64) *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.grants[grant]
	if w != nil {
		w.unused = max(w.unused, unused)
	}
	delete(h.grants, grant)
	h.endIfUnused()
	for _, left := range h.grants {
		h.held = left // if the generator has refused the new grant
	}
	if w != nil && w.lost && !h.ended {
		return nil
	}
	return w
}

// endUnused locks mu and calls endIfUnused.
func (h *holdings) endUnused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endIfUnused()
}

// endIfUnused ends the lease if no grant is held, and reports whether it did. The caller
// holds mu.
func (h *holdings) endIfUnused() bool {
	if len(h.grants) > 0 {
		return false
	}
	h.ended = true
	h.cancel()
	return true
}

// takeReplacement returns, after the lease has ended, a replacement that no generator
// has asked for, or nil. A second call returns nil.
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

// close marks the worker as lost, so that no new grant of it is returned. It returns
// the bound above every tick that was issued under the worker.
func (h *holdings) close(w *heldWorker) (bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.lost = true
	return w.unused
}

// stillLeased returns the error for a worker that could not be released. It locks mu,
// because its caller may not have got the store's lock.
func (h *holdings) stillLeased(w *heldWorker, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Errorf("lease: %v could not be released; its lease expires at %s: %w", w, stamp(w.until()), err)
}

// present returns the current outage, or the zero outage.
func (h *holdings) present() outage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outage
}

// failed notes a failure and wakes the background loop, which then retries sooner. It
// logs the first failure of an outage, and the failure that fences the generator. The
// caller need not hold the store's lock.
func (h *holdings) failed(err error) {
	h.mu.Lock()
	o, w := &h.outage, h.currentLocked()
	first := o.attempts == 0
	if first {
		o.since = time.Now()
	}
	o.attempts++
	o.last, o.lost = err, w.lost
	newly := !o.fenced && (w.lost || max(h.now(), o.need) >= w.acknowledged)
	o.fenced = o.fenced || newly
	h.counts.Failures++
	attrs := append(w.attrs(), "error", err)
	h.mu.Unlock()
	select {
	case h.retry <- struct{}{}:
	default:
	}

	switch {
	case newly:
		h.log.Error("lease: fenced, the window has ended and nothing is issued", attrs...)
	case first:
		h.log.Warn("lease: the window cannot be extended", attrs...)
	}
}

// recovered ends the outage and logs how long it lasted.
func (h *holdings) recovered() {
	h.mu.Lock()
	o, attrs := h.outage, h.currentLocked().attrs()
	h.outage = outage{}
	h.mu.Unlock()
	if o.attempts > 0 {
		h.log.Info("lease: the window is extended again",
			append(attrs, "after", time.Since(o.since), "attempts", o.attempts)...)
	}
}

func (h *holdings) stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, w := h.counts, h.currentLocked()
	s.Datacenter, s.Worker, s.Owner = w.datacenter, w.worker, w.token.holder
	s.Since, s.Until = w.acquired, w.until()
	s.FailingSince, s.Failure = h.outage.since, h.outage.last
	return s
}

func (h *holdings) health() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.currentLocked()
	why := errNothing
	switch {
	case h.ended:
		return errEnded
	case !w.lost && w.acknowledged > max(h.now(), w.used(), h.outage.need):
		return nil
	case h.outage.attempts > 0:
		why = h.outage.reason()
	}
	return fencedError(h.now(), w.grant.Load(), why)
}
