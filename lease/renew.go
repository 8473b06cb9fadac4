package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errSettling = errors.New("lease: another worker has to settle first")

// renewLoop extends the window every third of a window until the lease ends. After a
// failure it waits for a shorter time.
func (l *Lease) renewLoop() {
	for {
		select {
		case <-time.After(l.holdings.present().pause(l.config)):
			if l.storeLock.lock(l.ctx) == nil {
				l.renewAndNote(0)
				l.storeLock.unlock()
			}
		case <-l.holdings.retry:
		case <-l.ctx.Done():
			return
		}
	}
}

// renewAndNote extends the window beyond need, in Unix milliseconds, or replaces a lost
// worker, and notes success or failure in the holdings. The background loop passes
// zero. After the lease has ended, it returns at once. The caller holds storeLock.
func (l *Lease) renewAndNote(need int64) {
	if l.ctx.Err() != nil {
		return
	}
	switch err := l.renew(l.ctx, need); {
	case err == nil:
		l.holdings.recovered()
		l.clocks.watchLead(l.holdings.current())
	case l.ctx.Err() == nil:
		l.holdings.failed(err)
	}
}

// renew extends the window and replaces a lost worker. It writes even if the window
// already reaches beyond need, because the write finds out whether the store has
// forgotten an earlier write. The caller holds storeLock.
func (l *Lease) renew(ctx context.Context, need int64) error {
	w := l.holdings.current()
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
	if err := l.keeper.checkStore(ctx, w); err != nil {
		return err
	}
	if l.settle > 0 && (need > 0 || l.holdings.present().attempts == 0) {
		return errSettling // settling takes long, so the background does it after callers have their error
	}
	replacement, err := l.replace(ctx, w, need)
	if err != nil {
		return err
	}
	l.log.Info("lease: worker acquired in place of the lost one", append(replacement.attrs(), "lost", w.String())...)
	l.holdings.offer(replacement)
	if need >= replacement.acknowledged {
		return l.extend(ctx, replacement, need)
	}
	return nil
}

// extend raises the bound of the worker, or notes that the worker is lost. The caller
// holds storeLock, except in Acquire, which has not returned the lease yet.
func (l *Lease) extend(ctx context.Context, w *heldWorker, need int64) error {
	r, lost, err := l.keeper.writeBound(ctx, w, l.holdings.served(), need)
	switch {
	case err != nil:
		return fmt.Errorf("lease: extending %v: %w", w, err)
	case lost != nil:
		l.lose(w, lost)
	default:
		l.holdings.extended(w, r)
	}
	return nil
}

// lose stops the generator under the worker, and counts and logs the loss. The caller
// holds storeLock, except in Acquire.
func (l *Lease) lose(w *heldWorker, lost *loss) {
	l.chooser.noteLost(w)
	l.holdings.drop(w, lost)
	w.forgotten = lost.setBack
	l.log.Log(l.ctx, lost.level, lost.message, lost.attrs...)
}

// release writes a released record with a bound above every tick issued under the
// worker. It does not write for a worker that is lost. The caller holds storeLock,
// except in Acquire.
func (l *Lease) release(ctx context.Context, w *heldWorker) error {
	if w.forgotten {
		return l.restore(ctx, w)
	}
	if w.lost {
		return nil
	}
	bound := l.holdings.close(w)
	if err := l.vacate(ctx, w, bound); err != nil {
		return l.holdings.stillLeased(w, err)
	}
	l.log.Info("lease: worker released", "datacenter", w.datacenter, "worker", w.worker, "bound", stamp(time.UnixMilli(bound)))
	return nil
}

// restore raises the bound of a worker whose record the store has set back, so that the
// next holder does not start below a tick that was issued. The caller holds storeLock,
// except in Acquire.
func (l *Lease) restore(ctx context.Context, w *heldWorker) error {
	if err := l.vacate(ctx, w, l.chooser.lostBounds[w.key]); err != nil {
		return fmt.Errorf("lease: restoring the bound of %v: %w", w, err)
	}
	w.forgotten = false
	return nil
}

// vacate releases the worker at the bound, and notes a loss that the write discovers.
// The caller holds storeLock, except in Acquire.
func (l *Lease) vacate(ctx context.Context, w *heldWorker, bound int64) error {
	lost, err := l.keeper.writeVacant(ctx, w, bound)
	if lost != nil {
		l.lose(w, lost)
	}
	return err
}

// acquire claims the first worker of a process that starts. It needs no lock, because
// Acquire has not returned the lease yet.
func (l *Lease) acquire(ctx context.Context) (*heldWorker, error) {
	return l.claim(ctx, claim{
		starting: true, patience: l.patience(),
		readClock: func() (int64, error) { return l.now(), nil },
	})
}

// replace claims a worker in place of the lost worker. The caller holds storeLock.
func (l *Lease) replace(ctx context.Context, lost *heldWorker, need int64) (*heldWorker, error) {
	return l.claim(ctx, claim{
		patience:  l.window,
		readClock: func() (int64, error) { return believed(need, lost, l.holdings.served()) },
	})
}

// claim repeats the search until it has a worker that has settled. The caller holds
// storeLock, except in Acquire.
func (l *Lease) claim(ctx context.Context, c claim) (*heldWorker, error) {
	c.config, c.records, c.chooser, c.clocks = l.config, l.records, &l.chooser, &l.clocks
	for {
		w, err := c.search(ctx)
		if err != nil || l.settle == 0 {
			return w, err
		}
		settled, err := l.settled(ctx, w)
		if settled || err != nil {
			return w, err
		}
	}
}

// settled waits for the time of WithSettle, extends the window, and reports whether the
// worker is still ours. It waits a tick and a millisecond more, because bounds are
// rounded up and the window of a forgotten holder may therefore be that much longer. On
// an error it releases the worker.
func (l *Lease) settled(ctx context.Context, w *heldWorker) (bool, error) {
	err := sleep(ctx, l.settle+l.layout.Tick+time.Millisecond)
	for try := 0; err == nil; try++ {
		extendErr := l.extend(ctx, w, 0)
		if extendErr == nil {
			return !w.lost, nil
		}
		if err = sleep(ctx, lastRetry); err == nil && try == maxUnknown {
			err = extendErr
		}
	}
	return false, errors.Join(err, l.release(context.WithoutCancel(ctx), w))
}
