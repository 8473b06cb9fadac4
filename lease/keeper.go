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
	// maxSwaps is how often an extension tries to write. The store refuses a write if the
	// record is still ours, but is not the record that the write expected. One refusal is
	// normal after a write without an answer. Two refusals in a row are rare.
	maxSwaps = 3

	// maxReleases is how often swapReleased tries to write before it returns an error.
	maxReleases = 3
)

// errKeepsChanging is the error of a write that was refused again and again, although
// each try started from the record that was read last.
var errKeepsChanging = errors.New("the record changes")

// A keeper writes the records that extend and release a worker, and finds out when a worker is
// lost. It updates the fields of the heldWorker that describe the record. It does not change
// the generator's grant. Instead, the keeper returns the acknowledged record or the loss, and
// the caller then extends or revokes the grant.
type keeper struct {
	*config
	records records
	clocks  *clocks
}

// writeBound extends the window of w in the store. The new bound is a window above the latest
// of the present, need (in Unix milliseconds) and the last tick in use. writeBound returns the
// record that the store has acknowledged, or a loss if the worker is lost. served is the worker
// under which the generator issues. It differs from w while w is a replacement that the
// generator has not asked for yet.
//
// The base of w is the record that the write expects in the store. If a write ends
// without an answer, writeBound returns the error and keeps the base, so that the next call
// expects the same record. If the store still has this record, the earlier write has not
// landed, and the new write succeeds. Otherwise the store refuses the new write, and reload
// reads the record to find out what happened.
func (k *keeper) writeBound(ctx context.Context, w, served *heldWorker, need int64) (Record, *loss, error) {
	conn, disconnect, err := k.records.connect(ctx, k.window)
	if err != nil {
		return Record{}, nil, err
	}
	defer disconnect()
	for range maxSwaps {
		r, err := k.nextRecord(ctx, conn, w, served, need)
		if err != nil {
			return Record{}, nil, err
		}
		ok, err := conn.swap(ctx, w.key, w.base, r)
		if ok {
			return r, nil, nil
		}
		w.addSent(r)
		if err != nil {
			return Record{}, nil, err
		}
		if lost, err := k.reload(ctx, conn, w); lost != nil || err != nil {
			return Record{}, lost, err
		}
	}
	return Record{}, nil, errKeepsChanging
}

// nextRecord returns the record with which writeBound extends the window. It returns an error
// if this process's clock has jumped ahead, or if the store does not return its time. The bound
// of the record is never below the bound of the base.
func (k *keeper) nextRecord(ctx context.Context, conn records, w, served *heldWorker, need int64) (Record, error) {
	now, err := believedNow(need, w, served)
	if err != nil {
		return Record{}, err
	}
	storeTime, err := conn.now(ctx)
	if err == nil {
		err = k.clocks.check(now, storeTime, false) // not starting, because it has a worker
	}
	if err != nil {
		return Record{}, err
	}
	return w.newRecord(max(w.base.Bound, k.bound(max(now, need, w.lastTick())))), nil
}

// reload reads the record after the store has refused to replace w.base. It returns a
// loss if the record belongs to another holder or is released, if a copy of this process has
// written it, or if it is older than a record that the store has acknowledged. It returns an
// error if the store shows w.base, and so had no reason to refuse. Otherwise an earlier write
// of this process has landed, or somebody has raised the bound. The record then becomes the
// base of the next attempt.
func (k *keeper) reload(ctx context.Context, conn records, w *heldWorker) (*loss, error) {
	r, err := conn.read(ctx, w.key)
	switch {
	case err != nil:
		return nil, err
	case !w.owns(r):
		return lostToTaker(w, r), nil
	case w.writtenByClone(r):
		return lostToClone(w, r), nil
	case w.storeForgot(r):
		w.base = r // because restoreBound replaces this record
		return lostByStore(w, r), nil
	case r == w.base: // check may find the reason, for example a rule of the table that blocks writes
		return nil, cmp.Or(k.records.check(ctx), errRefused)
	case r.Owner == w.base.Owner && r.Bound > w.base.Bound:
		k.log.WarnContext(ctx, "lease: somebody else has raised the bound: the worker stays leased until then", append(w.attrs(), "bound", stamp(time.UnixMilli(r.Bound)))...)
	}
	w.base = r
	return nil, nil
}

// checkStore makes the store check its settings or its table, before the lease acquires
// another worker in place of the lost worker. The worker may be lost because somebody has
// replaced the table by a table that lets a worker have several holders. Once a check has
// succeeded, checkStore does not repeat it for this worker.
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

// writeReleased releases the worker at the given bound, by swapReleased. It waits for a
// connection of the store for at most config.patience.
func (k *keeper) writeReleased(ctx context.Context, w *heldWorker, bound int64) (*loss, error) {
	conn, disconnect, err := k.records.connect(ctx, k.patience())
	if err != nil {
		return nil, err
	}
	defer disconnect()
	return conn.swapReleased(ctx, w, bound)
}

// swapReleased releases the worker w: it writes a record with the given bound and w's token,
// marked as released. If the store refuses the write or does not answer it, swapReleased reads
// the record, and tries again if w still holds it. It returns a loss if a copy of this process
// has written the record, because the copy may still issue.
//
// If the record has another holder, the worker is not ours to release, and swapReleased
// returns nil. It also returns nil if the record already reads as released, although the
// store may not have acknowledged that write. If the store loses the released record in a
// crash, it shows the record before the release again. That record has a bound at least as
// high, so no tick can be issued twice, and the worker is only blocked for up to a window.
// A release by restoreBound is the exception, because there the record before the release has
// a bound that is too low.
func (r records) swapReleased(ctx context.Context, w *heldWorker, bound int64) (*loss, error) {
	w.token.released = true
	var swapErr error
	for range maxReleases {
		var ok bool
		if ok, swapErr = r.swap(ctx, w.key, w.base, w.newRecord(bound)); ok {
			return nil, nil
		}
		found, err := r.read(ctx, w.key)
		switch {
		case err != nil || !w.owns(found): // it has another holder, or is released already
			return nil, err
		case w.writtenByClone(found):
			return lostToClone(w, found), nil
		}
		w.base = found
	}
	return nil, cmp.Or(swapErr, errKeepsChanging)
}

// A loss is the reason why no more IDs may be issued under a worker, with the counts
// and the log message for it.
type loss struct {
	setBack             bool   // the store shows an older record of this process, so its bound is to be raised again
	losses, regressions uint64 // 0 or 1, to add to the counts of the same names in Stats
	level               slog.Level
	message             string
	attrs               []any
}

// newLoss returns a loss of w that adds one to Stats.Losses. r is the record that shows the
// loss; its bound is logged.
func newLoss(w *heldWorker, r Record, level slog.Level, message string, attrs ...any) *loss {
	attrs = append(append(w.attrs(), attrs...), "bound", stamp(time.UnixMilli(r.Bound)))
	return &loss{losses: 1, level: level, message: message, attrs: attrs}
}

// lostToTaker returns the loss of a worker that another process has taken, or that somebody
// has released. r is the record that the store shows now. There are three cases:
//
// If the store has kept the writes that it acknowledged, the new holder began at this
// process's bound or above, and no ID is repeated.
//
// If the store has forgotten a write, and the bound of r is at or below the first tick of this
// holder, then r is older than this holder's first record, or is missing. So r does not show
// that another process has issued the same IDs.
//
// If the store has forgotten a write, and the bound of r is higher, another process may have
// issued the same IDs.
//
// In the second and third case the loss also counts as a regression.
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

// lostToClone returns the loss of a worker whose window a copy of this process has
// extended. The copy holds the same token, so this process cannot exclude it and gives up the
// worker.
func lostToClone(w *heldWorker, r Record) *loss {
	return newLoss(w, r, slog.LevelError, "lease: worker lost to a copy of this process: the machine was cloned while it ran or set back to a snapshot, and IDs of this window may have been issued twice, unless somebody has changed the record by hand")
}

// lostByStore returns the loss of a worker for which the store shows an older record of this
// process, because the store has forgotten a later record. This process gives the worker up,
// because another process may have held it before the older record came back, for example by a
// second failover. The loss counts as a regression only, because no other process has the
// worker now.
func lostByStore(w *heldWorker, r Record) *loss {
	lost := newLoss(w, r, slog.LevelError, "lease: the store has forgotten an acknowledged window; see WithSettle")
	lost.setBack, lost.losses, lost.regressions = true, 0, 1
	return lost
}
