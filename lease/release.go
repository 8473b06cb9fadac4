package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// maxReleases is how often releasing a worker is tried.
const maxReleases = 3

// Retire serves the generator: nothing more will be issued under the grant. The
// worker is released, so that another process can acquire it at once. The lease
// ends with the last grant in use.
func (l *Lease) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	w := l.removeGrant(held, last.Add(l.layout.Tick).UnixMilli())
	if w == nil {
		return nil
	}
	if err := l.lock(ctx); err != nil {
		return l.notReleased(w, err)
	}
	defer l.unlock()
	return errors.Join(
		l.release(ctx, w),
		l.releaseReplacement(ctx))
}

// removeGrant takes the grant off the list, and returns what it was made for if
// there is anything to release: a generator that continues under another worker
// does not wait for storeMu. Who releases the worker, if this call gives up,
// finds the tick from which on nothing was issued.
func (l *Lease) removeGrant(grant *snowflake.Grant, unused int64) *heldWorker {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.grants[grant]
	if w != nil {
		w.unused = max(w.unused, unused)
	}
	delete(l.grants, grant)
	if len(l.grants) == 0 {
		l.end()
	}
	for _, left := range l.grants {
		l.held = left // where the generator has refused the other
	}
	if w != nil && w.lost && !l.ended {
		return nil
	}
	return w
}

// end breaks off what is under way, and lets nothing new be acquired.
func (l *Lease) end() {
	l.ended = true
	l.cancel()
}

// Release releases the worker where no generator was made for it; a second
// call does nothing. Where there is one, close that instead.
func (l *Lease) Release(ctx context.Context) error {
	if !l.endUnused() {
		return fmt.Errorf("lease: %v serves a generator: close that, which releases the worker", l.current())
	}
	if err := l.lock(ctx); err != nil {
		return l.notReleased(l.held, err)
	}
	defer l.unlock()
	return errors.Join(l.release(ctx, l.held), l.releaseReplacement(ctx))
}

// endUnused ends the lease unless it serves a generator.
func (l *Lease) endUnused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.grants) > 0 {
		return false
	}
	l.end()
	return true
}

// releaseReplacement releases a worker that no generator has asked for, once the
// lease has ended.
func (l *Lease) releaseReplacement(ctx context.Context) error {
	l.mu.Lock()
	replacement := l.replacement
	if l.ended {
		l.replacement = nil
	}
	ended := l.ended
	l.mu.Unlock()
	if replacement == nil || !ended {
		return nil
	}
	return l.release(ctx, replacement)
}

// release frees the worker at a bound above all that was issued under it.
func (l *Lease) release(ctx context.Context, w *heldWorker) error {
	if w.forgotten {
		return l.restore(ctx, w)
	}
	if w.lost {
		return nil
	}
	var bound int64
	l.update(func() { w.lost, bound = true, w.unused })
	if err := l.releaseAt(ctx, w, bound); err != nil {
		return l.notReleased(w, err)
	}
	l.log.Log(ctx, l.level(), "lease: worker released", "datacenter", w.datacenter, "worker", w.worker, "bound", stamp(time.UnixMilli(bound)))
	return nil
}

// releaseAt writes the bound into a record that keeps the token: the record is
// the memory of what was issued, and the token of what it replaced.
func (l *Lease) releaseAt(ctx context.Context, w *heldWorker, bound int64) error {
	store, disconnect, err := l.connect(ctx, l.timeout())
	if err != nil {
		return err
	}
	defer disconnect()
	return l.releaseOver(ctx, store, w, bound)
}

func (l *Lease) releaseOver(ctx context.Context, store Store, w *heldWorker, bound int64) (err error) {
	for range maxReleases {
		r := w.next(bound)
		r.Owner = releasedOwner(r.Owner)
		var ok bool
		if ok, err = l.swap(ctx, store, w.key, w.base, r); ok {
			return nil
		}
		if held, err := l.stillHeld(ctx, store, w); err != nil || !held {
			return err
		}
	}
	return cmp.Or(err, errChanges)
}

// stillHeld reads the record again, and reports whether it is still to be
// released. A record that merely reads as released is left at that: should it
// vanish, the one before it has a higher bound, and is in nobody's way for
// longer than a window.
func (l *Lease) stillHeld(ctx context.Context, store Store, w *heldWorker) (bool, error) {
	records, err := l.get(ctx, store, w.key)
	if err != nil {
		return false, err
	}
	r := records[w.key]
	if !w.owns(r) {
		return false, nil
	}
	if w.writtenByClone(r) {
		l.leaveToClone(w, r)
		return false, nil
	}
	l.update(func() { w.base = r })
	return true, nil
}

// notReleased is the error of a worker that could not be released.
func (l *Lease) notReleased(w *heldWorker, err error) error {
	l.mu.Lock() // storeMu may be held by another call
	defer l.mu.Unlock()
	return fmt.Errorf("lease: %v could not be released; its lease expires at %s: %w", w, stamp(w.until()), err)
}
