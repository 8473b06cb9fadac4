package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// maxSwaps is how often an extension starts from a record that is ours, and not
	// what it was thought to be.
	maxSwaps = 3

	// maxReleases is how often releasing a worker is tried.
	maxReleases = 3
)

var errChanges = errors.New("the record changes")

// A keeper extends and releases a worker. It changes what the worker knows of its
// record, and not what may be issued under it: it returns what was acknowledged, or
// the loss.
type keeper struct {
	*config
	records records
	clocks  *clocks
}

// writeBound raises the bound to a window above now, need and what is in use, and
// returns the record that the store has acknowledged, or how the worker was lost.
// Without an answer nothing is known, and the next attempt starts from the same
// record: it succeeds, or finds what has happened. For served see [believed].
func (k *keeper) writeBound(ctx context.Context, w, served *heldWorker, need int64) (Record, *loss, error) {
	over, disconnect, err := k.records.connect(ctx, k.window)
	if err != nil {
		return Record{}, nil, err
	}
	defer disconnect()
	for range maxSwaps {
		r, err := k.nextRecord(ctx, over, w, served, need)
		if err != nil {
			return Record{}, nil, err
		}
		ok, err := over.swap(ctx, w.key, w.base, r)
		if ok {
			return r, nil, nil
		}
		w.try(r)
		if err != nil {
			return Record{}, nil, err
		}
		if lost, err := k.reload(ctx, over, w); lost != nil || err != nil {
			return Record{}, lost, err
		}
	}
	return Record{}, nil, errChanges
}

// nextRecord is the record that extends the window.
func (k *keeper) nextRecord(ctx context.Context, over records, w, served *heldWorker, need int64) (Record, error) {
	now, err := believed(need, w, served)
	if err != nil {
		return Record{}, err
	}
	theirs, err := over.now(ctx)
	if err == nil {
		err = k.clocks.check(now, theirs, false)
	}
	if err != nil {
		return Record{}, err
	}
	return w.next(max(w.base.Bound, k.bound(max(now, need, w.used())))), nil
}

// reload finds out why the record is not what it was thought to be: the worker
// is lost, or the record is the base of the next attempt.
func (k *keeper) reload(ctx context.Context, over records, w *heldWorker) (*loss, error) {
	r, err := over.read(ctx, w.key)
	switch {
	case err != nil:
		return nil, err
	case !w.owns(r):
		return lostToTaker(w, r), nil
	case w.writtenByClone(r):
		return lostToClone(w, r), nil
	case w.storeForgot(r):
		w.base = r
		return lostByStore(w, r), nil
	case r == w.base:
		return nil, cmp.Or(k.records.check(ctx), errRefused) // such as a rule of a table
	case r.Owner == w.base.Owner && r.Bound > w.base.Bound:
		k.log.WarnContext(ctx, "lease: somebody else has raised the bound: the worker stays leased until then", append(w.attrs(), "bound", stamp(time.UnixMilli(r.Bound)))...)
	}
	w.base = r
	return nil, nil
}

// checkStore makes the store look again at what it is kept in before another
// worker takes the place of the lost one: it may have been replaced by what keeps
// no worker to one holder.
func (k *keeper) checkStore(ctx context.Context, lost *heldWorker) error {
	if lost.checked {
		return nil
	}
	if err := k.records.check(ctx); err != nil {
		return fmt.Errorf("lease: checking the store after the loss of %v: %w", lost, err)
	}
	lost.checked = true
	return nil
}

// writeVacant frees the worker at a bound above all that was issued under it. It waits
// for a connection no longer than a process that starts does.
func (k *keeper) writeVacant(ctx context.Context, w *heldWorker, bound int64) (*loss, error) {
	over, disconnect, err := k.records.connect(ctx, k.patience())
	if err != nil {
		return nil, err
	}
	defer disconnect()
	return over.free(ctx, w, bound)
}

// free writes the bound into a record that keeps the token: the record is the
// memory of what was issued, and the token of what it replaced. A record that merely
// reads as released is left as it is: should it vanish, the one before it has a higher
// bound, and blocks nobody for longer than a window.
func (r records) free(ctx context.Context, w *heldWorker, bound int64) (*loss, error) {
	w.token.released = true
	var swapErr error
	for range maxReleases {
		var ok bool
		if ok, swapErr = r.swap(ctx, w.key, w.base, w.next(bound)); ok {
			return nil, nil
		}
		found, err := r.read(ctx, w.key)
		switch {
		case err != nil || !w.owns(found):
			return nil, err
		case w.writtenByClone(found):
			return lostToClone(w, found), nil
		}
		w.base = found
	}
	return nil, cmp.Or(swapErr, errChanges)
}

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
