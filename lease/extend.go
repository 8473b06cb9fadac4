package lease

import (
	"context"
	"fmt"
)

// due reports whether enough of the window is used up, which after a third of
// it is the case, or the tick at need lies outside it.
func (l *Lease) due(h *holding, need int64) bool {
	left := h.known.Bound - max(l.now(), h.used())
	return need >= h.known.Bound || left <= l.window.Milliseconds()*3/4
}

// extend raises the bound to a window above now, need and what is in use. Only
// what the store has acknowledged counts; without an answer nothing is known,
// and the next attempt starts from the same record: it succeeds, or resolve
// finds what has happened.
func (l *Lease) extend(ctx context.Context, h *holding, need int64) error {
	r, err := l.next(h, need)
	if err != nil {
		return err
	}
	ok, err := l.swap(ctx, h.key, h.known, r)
	if err != nil {
		h.try(r)
		return fmt.Errorf("lease: extending %v: %w", h, err)
	}
	if !ok {
		return l.resolve(ctx, h, need)
	}
	l.update(func() {
		h.confirm(r)
		l.counts.Extensions++
	})
	return nil
}

// next is the record that extends the window. Its bound always rises, so that
// no database takes the write for one that changes nothing.
func (l *Lease) next(h *holding, need int64) (Record, error) {
	now, err := l.clockCheck.read(l.now())
	if err != nil {
		return Record{}, fmt.Errorf("lease: extending %v: %w", h, err)
	}
	bound := max(l.bound(max(now, need, h.used())), ceil(h.known.Bound+1, l.layout.Tick.Milliseconds()))
	return Record{bound, h.known.Owner}, nil
}

// resolve finds out why the record is not what was known.
func (l *Lease) resolve(ctx context.Context, h *holding, need int64) error {
	records, err := l.load(ctx)
	if err != nil {
		return fmt.Errorf("lease: extending %v: %w", h, err)
	}
	r := records[h.key]
	switch {
	case r.Owner != h.known.Owner:
		l.lose(h, r)
		return nil
	case h.cloned(r):
		l.leaveToClone(h, r)
		return nil
	case r.Bound < h.known.Bound:
		return l.repair(ctx, h, r, need)
	case r == h.known:
		return fmt.Errorf("lease: extending %v: the store refused to replace the record that it holds", h)
	}
	l.update(func() { h.confirm(r) }) // an earlier write has landed unanswered
	if l.due(h, need) {               // and so long ago that its window is used up
		return l.extend(ctx, h, need)
	}
	return nil
}

// lose gives up a worker that another process has taken. It began at our bound
// or above, so that the rest of our window is still ours alone; unless the
// store has forgotten that bound.
func (l *Lease) lose(h *holding, r Record) {
	forgotten := r.Bound < h.known.Bound
	attrs := append(h.attrs(), "taken by", r.Owner, "bound", r.Bound)
	l.update(func() {
		h.lost = true
		l.counts.Losses++
		if forgotten {
			l.counts.Regressions++
			h.revoke(l.now())
		}
	})
	if forgotten {
		l.log.Error("lease: the store has forgotten an acknowledged window, and another process has taken the worker: IDs of this window may have been issued twice", attrs...)
		return
	}
	l.log.Warn("lease: worker lost, another process has taken it", attrs...)
}

// leaveToClone gives up a worker under which a copy of this process issues: it
// has extended the window first, and this window is as much its own.
func (l *Lease) leaveToClone(h *holding, r Record) {
	attrs := append(h.attrs(), "bound", r.Bound)
	l.update(func() {
		h.revoke(l.now())
		l.counts.Losses++
	})
	l.log.Error("lease: worker lost to a copy of this process: the machine was cloned while it ran, or set back to a snapshot, and IDs of this window may have been issued twice", attrs...)
}

// repair deals with a store that has forgotten our last writes: nobody may take
// the worker at the bound that it remembers.
func (l *Lease) repair(ctx context.Context, h *holding, r Record, need int64) error {
	l.log.Error("lease: the store has forgotten an acknowledged window; see WithSettle", append(h.attrs(), "bound", r.Bound)...)
	l.update(func() {
		l.counts.Regressions++
		if l.settle > 0 {
			h.revoke(l.now())
		}
	})
	if l.settle > 0 {
		return nil
	}
	again, err := l.next(h, need)
	if err != nil {
		return err
	}
	ok, err := l.swap(ctx, h.key, r, again)
	if err != nil {
		h.try(again)
		return fmt.Errorf("lease: extending %v, which the store has forgotten: %w", h, err)
	}
	if !ok {
		return fmt.Errorf("lease: extending %v, which the store has forgotten: the record changes", h)
	}
	l.update(func() { h.confirm(again) })
	return nil
}

func (l *Lease) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}
