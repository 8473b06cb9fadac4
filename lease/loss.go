package lease

import (
	"log/slog"
	"time"
)

// A loss is why nothing more may be issued under a worker, and how that is counted
// and logged.
type loss struct {
	setBack             bool   // the store shows an older record of ours: its bound is to be raised again
	losses, regressions uint64 // to be counted
	level               slog.Level
	message             string
	attrs               []any
}

func newLoss(w *heldWorker, r Record, level slog.Level, message string, attrs ...any) *loss {
	attrs = append(append(w.attrs(), attrs...), "bound", stamp(time.UnixMilli(r.Bound)))
	return &loss{losses: 1, level: level, message: message, attrs: attrs}
}

// lostToTaker is the loss of a worker that another process has taken, or that
// somebody has released. If the store has kept what it acknowledged, the taker began
// at our bound or above, and the rest of the window would still be ours; if it has
// not, every further ID may be a duplicate. A record whose bound is not above our
// first tick is older than the lease, or missing.
func lostToTaker(w *heldWorker, r Record) *loss {
	var lost *loss
	switch {
	case !w.storeForgot(r):
		return newLoss(w, r, slog.LevelWarn, "lease: worker lost, another process has taken it", "taken by", r.heldBy())
	case r.Bound <= w.start:
		lost = newLoss(w, r, slog.LevelError, "lease: the store has forgotten that this process had the worker; see WithSettle")
	default:
		lost = newLoss(w, r, slog.LevelError, "lease: the store has forgotten an acknowledged window, and another process has taken the worker, or somebody has released it: IDs of this window may have been issued twice", "taken by", r.heldBy())
	}
	lost.regressions = 1
	return lost
}

// lostToClone is the loss of a worker whose window a copy of this process has
// extended: what the copy issues is as much its own.
func lostToClone(w *heldWorker, r Record) *loss {
	return newLoss(w, r, slog.LevelError, "lease: worker lost to a copy of this process: the machine was cloned while it ran or set back to a snapshot, and IDs of this window may have been issued twice, unless somebody has changed the record by hand")
}

// lostByStore is the loss of a worker whose record the store has set back: another
// process may have had it in between.
func lostByStore(w *heldWorker, r Record) *loss {
	lost := newLoss(w, r, slog.LevelError, "lease: the store has forgotten an acknowledged window; see WithSettle")
	lost.setBack, lost.losses, lost.regressions = true, 0, 1
	return lost
}
