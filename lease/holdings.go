package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

var (
	errEnded   = errors.New("lease: the worker has been released: acquire another lease")
	errNothing = errors.New("the renewed window has already expired")
)

// Holdings are what a lease holds and how it fares: all that is read or changed
// without the store's lock.
type holdings struct {
	*config
	cancel context.CancelFunc // ends what the lease does in the background
	retry  chan struct{}      // a failure was noted

	mu          sync.Mutex // guards what follows, and is never held during a call of the store
	held        *heldWorker
	replacement *heldWorker // takes the place of held, which is lost, once the generator asks
	grants      map[*snowflake.Grant]*heldWorker
	ended       bool
	outage      outage
	counts      Stats // what it counts
}

// served is the worker that a generator has asked for last, or may ask for; nil
// while the first one is being acquired.
func (h *holdings) served() *heldWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// current is the worker that is renewed: the replacement where the generator has
// not asked for it yet.
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

// ready returns the grant that reaches beyond need, an error, or neither if the
// store has to be asked. The error is the outage's: more attempts than those in
// the background would only load a store that is in trouble.
func (h *holdings) ready(held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch w := h.currentLocked(); {
	case h.ended:
		return nil, errEnded
	case held == nil && len(h.grants) > 0:
		return nil, fmt.Errorf("lease: %v serves a generator already: acquire a lease for each", h.held)
	case !w.lost && w.acknowledged > max(need, h.now()):
		return h.grantOf(w, held)
	case h.outage.attempts > 0:
		h.outage.need = need
		return nil, fencedError(h.now(), held, h.outage.reason())
	}
	return nil, nil
}

// grantOf returns the worker's grant, or a new one for the generator that issues
// under held.
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

// extended lets the generator use the bound of a record that the store has acknowledged,
// and counts it.
func (h *holdings) extended(w *heldWorker, r Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.acknowledge(r)
	h.counts.Extensions++
}

// drop stops the generator under a worker, and counts the loss.
func (h *holdings) drop(w *heldWorker, lost *loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.revoke(h.now())
	h.counts.Losses += lost.losses
	h.counts.Regressions += lost.regressions
}

// offer has the generator continue under another worker once it asks.
func (h *holdings) offer(w *heldWorker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replacement = w
}

// remove takes the grant off the list, and returns what it was made for if
// there is anything to release: a generator that continues under another worker
// does not wait for the store. Who releases the worker, if this call gives up,
// finds the tick from which on nothing was issued. The lease ends with the last grant.
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
		h.held = left // where the generator has refused the other
	}
	if w != nil && w.lost && !h.ended {
		return nil
	}
	return w
}

// endUnused ends the lease unless it serves a generator, and reports whether it has
// ended.
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

// takeReplacement returns the worker that no generator has asked for, once the lease
// has ended, or nil.
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

// close lets no grant of the worker be used again, and returns the bound
// above all that was issued under it.
func (h *holdings) close(w *heldWorker) (bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.lost = true
	return w.unused
}

// stillLeased is the error of a worker that could not be released. The caller may
// have given up waiting for the store's lock.
func (h *holdings) stillLeased(w *heldWorker, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Errorf("lease: %v could not be released; its lease expires at %s: %w", w, stamp(w.until()), err)
}

// present is the outage, if there is one.
func (h *holdings) present() outage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outage
}

// failed notes a failure, logs the first one and the one that fences, and wakes the
// background, which then pauses for a shorter time. The caller may not have the
// store's lock.
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

// recovered ends the outage.
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

// Pauses between attempts while the store fails or no worker is free.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// An outage is a time in which no window could be had: the store failed, or no
// worker was free.
type outage struct {
	attempts int // zero: there is none
	since    time.Time
	last     error
	need     int64 // the tick that the generator was refused last, in Unix milliseconds
	lost     bool  // the worker too
	fenced   bool  // and nothing is issued, which has been logged
}

// pause is the time until the next attempt: a third of the window, or a short while after a
// failure.
func (o outage) pause(c *config) time.Duration {
	if o.attempts == 0 {
		return c.window / 3
	}
	pause := min(lastRetry, firstRetry<<min(o.attempts-1, 10))
	return pause/2 + time.Duration(c.random(int64(pause/2)))
}

// reason is why a generator is refused during the outage.
func (o outage) reason() error {
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.last)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return err
}

// fencedError is the error of a call that has nothing to issue under.
func fencedError(now int64, held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // it was revoked
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(now-end.UnixMilli())), stamp(end), why)
}
