package lease

import (
	"log/slog"
	"time"
)

// lose stops the generator under a worker that another process has taken, or
// that somebody has released. If the store has kept its word, the taker began at our
// bound or above, and the rest of the window would still be ours; if it has
// not, every further ID may be a duplicate.
func (l *Lease) lose(w *heldWorker, r Record) {
	attrs := append(w.attrs(), "taken by", r.heldBy(), "bound", stamp(time.UnixMilli(r.Bound)))
	if w.belied(r) {
		l.stop(w, func(c *counts) { c.Losses++; c.Regressions++ })
		l.reportLoss(slog.LevelError, "lease: the store has forgotten an acknowledged window, and another process has taken the worker: IDs of this window may have been issued twice", attrs)
		return
	}
	l.stop(w, func(c *counts) { c.Losses++ })
	l.reportLoss(slog.LevelWarn, "lease: worker lost, another process has taken it", attrs)
}

// leaveToClone stops the generator under a worker of which a copy of this process
// has extended the window: what it issues there is as much its own.
func (l *Lease) leaveToClone(w *heldWorker, r Record) {
	l.stop(w, func(c *counts) { c.Losses++ })
	l.reportLoss(slog.LevelError, "lease: worker lost to a copy of this process: the machine was cloned while it ran or set back to a snapshot, and IDs of this window may have been issued twice, unless somebody has changed the record by hand",
		append(w.attrs(), "bound", stamp(time.UnixMilli(r.Bound))))
}

// loseTrust stops the generator under a worker whose record the store has set
// back: somebody else may have taken it in between.
func (l *Lease) loseTrust(w *heldWorker, r Record) {
	l.stop(w, func(c *counts) { c.Regressions++ })
	l.update(func() { w.base, w.forgotten = r, true })
	l.reportLoss(slog.LevelError, "lease: the store has forgotten an acknowledged window; see WithSettle",
		append(w.attrs(), "bound", stamp(time.UnixMilli(r.Bound))))
}

// stop revokes what the generator issues under, and remembers up to where that
// may have been: no grant of this lease begins below.
func (l *Lease) stop(w *heldWorker, count func(*counts)) {
	l.update(func() {
		l.lostBounds[w.key] = max(l.lostBounds[w.key], w.acknowledged)
		w.revoke(l.now())
		count(&l.counts)
	})
}

func (l *Lease) reportLoss(level slog.Level, message string, attrs []any) {
	l.lossLevel = level
	l.log.Log(l.ctx, level, message, attrs...)
}
