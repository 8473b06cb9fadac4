package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSettling is the error of an attempt that leaves settling to the next attempt of renewLoop;
// see renew. A new worker settles while the lease waits for the time of [WithSettle] before it
// issues.
var errSettling = errors.New("lease: another worker has to settle first")

// renewLoop extends the window every third of a window until the lease ends. During an
// outage it tries more often. A failure of a caller's attempt begins an outage too.
// holdings.retry then wakes renewLoop, so that it waits for the shorter pause from then on.
func (l *Lease) renewLoop() {
	for {
		select {
		case <-time.After(l.holdings.currentOutage().pause(l.config)):
			if l.storeLock.lock(l.ctx) == nil { // it fails only if the lease has ended
				l.renewAndNote(0) // 0, because no caller waits for a tick
				l.storeLock.unlock()
			}
		case <-l.holdings.retry: // compute the pause again
		case <-l.ctx.Done():
			return
		}
	}
}

// renewAndNote extends the window beyond need, in Unix milliseconds, or replaces a lost
// worker, and notes success or failure in the holdings. renewLoop passes a need of zero,
// because no caller waits for a tick. If the lease has ended, renewAndNote does not call the
// store. If the lease ends during the call, renewAndNote does not note a failure, because then
// the end of the lease has stopped the call, and not an outage. The caller holds storeLock.
func (l *Lease) renewAndNote(need int64) {
	if l.ctx.Err() != nil {
		return
	}
	switch err := l.renew(l.ctx, need); {
	case err == nil:
		l.holdings.noteSuccess()
		l.clocks.watchLead(l.holdings.current())
	case l.ctx.Err() == nil:
		l.holdings.noteFailure(err)
	}
}

// renew extends the window beyond need, in Unix milliseconds. If the worker is lost, or if the
// extension finds that the worker is lost, renew replaces the worker. Under [WithSettle], an
// attempt for a caller fails with errSettling instead, and a later attempt of renewLoop
// replaces the worker.
//
// renew writes even if the window already reaches beyond need, because the write finds out
// whether the store has forgotten an earlier write. The caller holds storeLock.
func (l *Lease) renew(ctx context.Context, need int64) error {
	w := l.holdings.current()
	if !w.lost {
		if err := l.renewWindow(ctx, w, need); err != nil || !w.lost {
			return err
		}
	}

	// The worker is lost. Repair and check the store before taking another worker.
	if w.forgotten {
		if err := l.restoreBound(ctx, w); err != nil {
			return err
		}
	}
	if err := l.keeper.checkStore(ctx, w); err != nil {
		return err
	}

	// Settling takes longer than a caller waits. So an attempt for a caller (need > 0)
	// fails, and so does the first attempt of the background. Either failure begins an
	// outage, in which callers get their error at once. The background then settles.
	if l.settle > 0 && (need > 0 || l.holdings.currentOutage().attempts == 0) {
		return errSettling
	}
	replacement, err := l.claimReplacement(ctx, w, need)
	if err != nil {
		return err
	}
	l.log.Info("lease: worker acquired in place of the lost one", append(replacement.attrs(), "lost", w.String())...)
	l.holdings.setReplacement(replacement)
	if need >= replacement.acknowledged { // the caller waits for a tick beyond the new window
		return l.renewWindow(ctx, replacement, need)
	}
	return nil
}

// renewWindow raises the bound of the worker in the store, and lets the generator issue up to
// the new bound once the store has acknowledged it. If the store shows that the worker is
// lost, renewWindow notes the loss and returns nil, so that the caller has to check w.lost.
// The caller holds storeLock, except in Acquire, which has not returned the lease yet.
func (l *Lease) renewWindow(ctx context.Context, w *heldWorker, need int64) error {
	r, lost, err := l.keeper.writeBound(ctx, w, l.holdings.servedWorker(), need)
	switch {
	case err != nil:
		return fmt.Errorf("lease: extending %v: %w", w, err)
	case lost != nil:
		l.noteLoss(w, lost)
	default:
		l.holdings.noteRenewal(w, r)
	}
	return nil
}

// noteLoss stops the generator under the worker, and counts and logs the loss. It remembers
// the last acknowledged bound of the worker. If the lease acquires the worker again, it then
// issues only from that bound on. The caller holds storeLock, except in Acquire.
func (l *Lease) noteLoss(w *heldWorker, lost *loss) {
	l.chooser.rememberBound(w) // before drop, which may lower w.acknowledged
	l.holdings.drop(w, lost)
	w.forgotten = lost.setBack // if set, restoreBound is to raise the bound in the store again
	l.log.Log(l.ctx, lost.level, lost.message, lost.attrs...)
}

// releaseWorker writes a released record with a bound above every tick issued under the
// worker. It does not write over the record of a lost worker, which belongs to another holder.
// An exception is a worker whose record the store has set back to an older record of this
// process. releaseWorker restores the bound of such a worker. The caller holds storeLock,
// except in Acquire.
func (l *Lease) releaseWorker(ctx context.Context, w *heldWorker) error {
	if w.forgotten {
		return l.restoreBound(ctx, w)
	}
	if w.lost {
		return nil
	}
	bound := l.holdings.closeWorker(w)
	if err := l.releaseAt(ctx, w, bound); err != nil {
		return l.holdings.stillLeasedError(w, err)
	}
	l.log.Info("lease: worker released", "datacenter", w.datacenter, "worker", w.worker, "bound", stamp(time.UnixMilli(bound)))
	return nil
}

// restoreBound releases a worker whose record the store has set back, at the highest
// bound that the store had acknowledged, so that the next holder does not start below a
// tick that was issued. The caller holds storeLock, except in Acquire.
func (l *Lease) restoreBound(ctx context.Context, w *heldWorker) error {
	if err := l.releaseAt(ctx, w, l.chooser.lostBounds[w.key]); err != nil {
		return fmt.Errorf("lease: restoring the bound of %v: %w", w, err)
	}
	w.forgotten = false
	return nil
}

// releaseAt releases the worker w in the store, at the bound. It also returns nil if the worker
// is not ours any more, because another process holds it or it has been released. If a copy of
// this process has written the record, releaseAt notes the loss of the worker and returns nil.
// The caller holds storeLock, except in Acquire.
func (l *Lease) releaseAt(ctx context.Context, w *heldWorker, bound int64) error {
	lost, err := l.keeper.writeReleased(ctx, w, bound)
	if lost != nil {
		l.noteLoss(w, lost)
	}
	return err
}

// claimFirst claims the first worker of the lease, and reads this process's clock as it is.
// It needs no lock, because Acquire has not returned the lease yet.
func (l *Lease) claimFirst(ctx context.Context) (*heldWorker, error) {
	return l.claimAndSettle(ctx, claim{
		starting: true, patience: l.patience(),
		readClock: func() (int64, error) { return l.now(), nil },
	})
}

// claimReplacement claims a worker in place of the lost worker. Unlike claimFirst, it uses the
// clock as the generator believes it, because the generator does not follow large jumps of the
// clock (see believedNow). Before the generator has issued an ID, this time is at least need.
// Like an extension, it waits for a connection for up to a window. The caller holds storeLock.
func (l *Lease) claimReplacement(ctx context.Context, lost *heldWorker, need int64) (*heldWorker, error) {
	return l.claimAndSettle(ctx, claim{
		patience:  l.window,
		readClock: func() (int64, error) { return believedNow(need, lost, l.holdings.servedWorker()) },
	})
}

// claimAndSettle sets the fields of the claim c that are the same for all claims of the lease,
// and searches for a worker with it. Under [WithSettle] it then waits until the worker has
// settled, and searches again if the worker is lost in the meantime. The caller holds
// storeLock, except in Acquire.
func (l *Lease) claimAndSettle(ctx context.Context, c claim) (*heldWorker, error) {
	c.config, c.records, c.chooser, c.clocks = l.config, l.records, &l.chooser, &l.clocks
	for {
		w, err := c.search(ctx)
		if err != nil || l.settle == 0 {
			return w, err
		}
		settled, err := l.waitSettled(ctx, w)
		if settled || err != nil {
			return w, err
		}
	}
}

// waitSettled waits for the time of [WithSettle], extends the window, and reports whether
// the worker is still ours. The store may have forgotten the record of another holder of this
// worker. After the wait that holder has reached the end of its window, or has found our record
// and stopped. If the store shows the record of that holder again, for example after another
// failover, the extension finds that record, and the worker is lost.
//
// waitSettled waits a tick and a millisecond more than WithSettle, because bounds are rounded
// up, and so the window of the other holder may be that much longer. waitSettled repeats a
// failed extension up to maxUnanswered times. If ctx ends or all these attempts fail, it
// releases the worker.
func (l *Lease) waitSettled(ctx context.Context, w *heldWorker) (bool, error) {
	err := sleep(ctx, l.settle+l.layout.Tick+time.Millisecond)
	for try := 0; err == nil; try++ {
		extendErr := l.renewWindow(ctx, w, 0) // 0, because no caller needs a tick yet
		if extendErr == nil {
			return !w.lost, nil
		}
		if err = sleep(ctx, lastRetry); err == nil && try == maxUnanswered {
			err = extendErr
		}
	}
	// Release w even if ctx has ended, because otherwise w stays leased for a window.
	return false, errors.Join(err, l.releaseWorker(context.WithoutCancel(ctx), w))
}
