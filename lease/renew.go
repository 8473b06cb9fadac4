package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errSettling = errors.New("lease: another worker has to settle first")

// renewLoop extends the window every third of it, until the lease has ended. A
// failure of a call shortens its pause.
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

// renewAndNote gives the generator a window beyond need, in Unix milliseconds, or
// for the background, which passes zero, another one, and notes whether that
// failed. It does nothing once the lease has ended. The caller holds the store's lock,
// as does that of every method below.
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

// renew extends the window, even where it reaches beyond need: a store that has
// forgotten is found out by the write. A lost worker is replaced.
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
		return errSettling // which takes long: the background does it, once callers know
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

// extend raises the bound of the worker, or notes that it is lost.
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

// lose stops the generator under the worker.
func (l *Lease) lose(w *heldWorker, lost *loss) {
	l.chooser.noteLost(w)
	l.holdings.drop(w, lost)
	w.forgotten = lost.setBack
	l.log.Log(l.ctx, lost.level, lost.message, lost.attrs...)
}

// release frees the worker at a bound above all that was issued under it.
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

// restore raises the bound of a worker whose record the store has set back, so
// that nobody takes it at a bound below what was issued.
func (l *Lease) restore(ctx context.Context, w *heldWorker) error {
	if err := l.vacate(ctx, w, l.chooser.lostBounds[w.key]); err != nil {
		return fmt.Errorf("lease: restoring the bound of %v: %w", w, err)
	}
	w.forgotten = false
	return nil
}

// vacate frees the worker at the bound, and notes a loss that shows then.
func (l *Lease) vacate(ctx context.Context, w *heldWorker, bound int64) error {
	lost, err := l.keeper.writeVacant(ctx, w, bound)
	if lost != nil {
		l.lose(w, lost)
	}
	return err
}

// acquire claims a worker for a process that starts.
func (l *Lease) acquire(ctx context.Context) (*heldWorker, error) {
	return l.claim(ctx, claim{
		starting: true, patience: l.patience(),
		readClock: func() (int64, error) { return l.now(), nil },
	})
}

// replace claims a worker in place of the lost one.
func (l *Lease) replace(ctx context.Context, lost *heldWorker, need int64) (*heldWorker, error) {
	return l.claim(ctx, claim{
		patience:  l.window,
		readClock: func() (int64, error) { return believed(need, lost, l.holdings.served()) },
	})
}

// claim repeats the search until a worker has settled.
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

// settled waits, and reports whether the worker is still ours after it. Bounds
// are rounded up, so that a forgotten one may be a little more than a window
// away.
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
