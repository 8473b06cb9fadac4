package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Pauses between attempts while the store fails or no worker is free.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// maxSwaps is how often an extension starts from a record that is ours, and not
// what it was thought to be.
const maxSwaps = 3

// renewLoop extends the window every third of it, until the lease has ended. A
// failure of a call shortens its pause.
func (l *Lease) renewLoop() {
	for {
		timer := time.NewTimer(l.untilNextAttempt())
		select {
		case <-timer.C:
			if l.lock(l.ctx) == nil {
				l.renewAndNote(0)
				l.unlock()
			}
		case <-l.retry:
			timer.Stop()
		case <-l.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// untilNextAttempt is a third of a window, or a short while after a failure.
func (l *Lease) untilNextAttempt() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outage.attempts == 0 {
		return l.window / 3
	}
	pause := min(lastRetry, firstRetry<<min(l.outage.attempts-1, 10))
	return pause/2 + rand.N(pause/2)
}

// renewAndNote gives the generator a window beyond need, in Unix milliseconds, or
// for the background, which passes zero, another one, and notes whether that
// failed. It does nothing once the lease has ended. The
// caller holds storeMu.
func (l *Lease) renewAndNote(need int64) {
	if l.ctx.Err() != nil {
		return
	}
	switch err := l.renew(l.ctx, need); {
	case err == nil:
		l.recovered()
		l.watchLead()
	case l.ctx.Err() == nil:
		l.failed(err)
	}
}

// renew extends the window, even where it reaches beyond need: a store that has
// forgotten is found out by the write. A lost worker is replaced.
func (l *Lease) renew(ctx context.Context, need int64) error {
	w := l.current()
	if !w.lost {
		if err := l.extend(ctx, w, need); err != nil || !w.lost {
			return err
		}
	}
	if w.forgotten {
		if err := l.restore(ctx, w); err != nil {
			return err
		}
	}
	if err := l.checkStore(ctx, w); err != nil {
		return err
	}
	if l.settle > 0 && (need > 0 || !l.failing()) {
		return errSettling // which takes long: the background does it, once callers know
	}
	replacement, err := l.replace(ctx, w, need)
	if err != nil {
		return err
	}
	l.log.Log(ctx, l.lossLevel, "lease: worker acquired in place of the lost one", append(replacement.attrs(), "lost", w.String())...)
	l.update(func() { l.replacement = replacement })
	if need >= replacement.acknowledged {
		return l.extend(ctx, replacement, need)
	}
	return nil
}

// checkStore makes the store look again at what it is kept in before another
// worker takes the place of the lost one: it may have been replaced by what keeps
// no worker to one holder.
func (l *Lease) checkStore(ctx context.Context, lost *heldWorker) error {
	checker, ok := l.store.(Checker)
	if !ok || lost.checked {
		return nil
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := checker.Check(ctx); err != nil {
		return fmt.Errorf("lease: checking the store after the loss of %v: %w", lost, err)
	}
	lost.checked = true
	return nil
}

// extend raises the bound to a window above now, need and what is in use. Only
// an acknowledged write counts. Without an answer nothing is known, and the next
// attempt starts from the same record: it succeeds, or finds what has happened.
func (l *Lease) extend(ctx context.Context, w *heldWorker, need int64) error {
	store, disconnect, err := l.connect(ctx, l.window)
	if err != nil {
		return fmt.Errorf("lease: extending %v: %w", w, err)
	}
	defer disconnect()
	if err := l.raiseBound(ctx, store, w, need); err != nil {
		return fmt.Errorf("lease: extending %v: %w", w, err)
	}
	return nil
}

func (l *Lease) raiseBound(ctx context.Context, store Store, w *heldWorker, need int64) error {
	for range maxSwaps {
		r, err := l.nextRecord(ctx, store, w, need)
		if err != nil {
			return err
		}
		ok, err := l.swap(ctx, store, w.key, w.base, r)
		if ok {
			l.update(func() {
				w.acknowledge(r)
				l.counts.Extensions++
			})
			return nil
		}
		w.try(r)
		if err != nil {
			return err
		}
		if err := l.reload(ctx, store, w); err != nil || w.lost {
			return err
		}
	}
	return errChanges
}

// nextRecord is the record that extends the window.
func (l *Lease) nextRecord(ctx context.Context, store Store, w *heldWorker, need int64) (Record, error) {
	now, err := l.believed(w, need)
	if err != nil {
		return Record{}, err
	}
	theirs, err := l.storeTime(ctx, store)
	if err == nil {
		err = l.skew.tolerate(now, theirs)
	}
	if err != nil {
		return Record{}, err
	}
	return w.next(max(w.base.Bound, l.bound(max(now, need, w.used())))), nil
}

var errChanges = errors.New("the record changes")

// reload finds out why the record is not what it was thought to be: the worker
// is lost, or the record is the base of the next attempt.
func (l *Lease) reload(ctx context.Context, store Store, w *heldWorker) error {
	records, err := l.get(ctx, store, w.key)
	if err != nil {
		return err
	}
	switch r := records[w.key]; {
	case !w.owns(r):
		l.lose(w, r)
	case w.writtenByClone(r):
		l.leaveToClone(w, r)
	case w.belied(r):
		l.loseTrust(w, r)
	case r == w.base:
		return errRefused
	default:
		if w.raisedByHand(r) {
			l.log.WarnContext(ctx, "lease: somebody else has raised the bound: the worker stays leased until then", append(w.attrs(), "bound", stamp(time.UnixMilli(r.Bound)))...)
		}
		l.update(func() { w.base = r })
	}
	return nil
}

// restore raises the bound of a worker whose record the store has set back, so
// that nobody takes it at a bound below what was issued.
func (l *Lease) restore(ctx context.Context, w *heldWorker) error {
	if err := l.releaseAt(ctx, w, l.lostBounds[w.key]); err != nil {
		return fmt.Errorf("lease: restoring the bound of %v: %w", w, err)
	}
	w.forgotten = false
	return nil
}

func (l *Lease) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}
