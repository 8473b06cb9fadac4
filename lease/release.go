package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// maxReturns is how often giving back a worker is tried.
const maxReturns = 3

// Retire serves the generator: nothing more will be issued under the grant. The
// worker is given back, so that another process can take it at once. The lease
// ends with the last grant that is out.
func (l *Lease) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	h := l.retire(held)
	if h == nil {
		return nil
	}
	if err := l.enter(ctx); err != nil {
		return l.stays(h, err)
	}
	defer l.leave()
	return errors.Join(
		l.giveBack(ctx, h, last.Add(l.layout.Tick).UnixMilli()),
		l.giveBackSpare(ctx))
}

// retire takes the grant off the list, and returns what it was made for if
// there is anything to give back: a generator that goes on under another worker
// does not wait for the turn.
func (l *Lease) retire(grant *snowflake.Grant) *holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.out[grant]
	delete(l.out, grant)
	if len(l.out) == 0 {
		l.finish()
	}
	for _, left := range l.out {
		l.held = left // where the generator has refused the other
	}
	if h != nil && h.lost && !l.ended {
		return nil
	}
	return h
}

// finish ends the lease: what is under way is broken off, and nothing new is
// taken.
func (l *Lease) finish() {
	l.ended = true
	l.end()
}

// Release gives the worker back where no generator was made for it; a second
// call does nothing. Where there is one, close that instead.
func (l *Lease) Release(ctx context.Context) error {
	if !l.abandon() {
		return fmt.Errorf("lease: %v serves a generator: close that, which gives the worker back", l.current())
	}
	if err := l.enter(ctx); err != nil {
		return l.stays(l.held, err)
	}
	defer l.leave()
	return errors.Join(l.giveBack(ctx, l.held, l.held.from), l.giveBackSpare(ctx))
}

// abandon ends the lease unless it serves a generator.
func (l *Lease) abandon() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.out) > 0 {
		return false
	}
	l.finish()
	return true
}

// giveBackSpare gives back a worker that no generator has asked for, once the
// lease has ended.
func (l *Lease) giveBackSpare(ctx context.Context) error {
	l.mu.Lock()
	spare := l.spare
	if l.ended {
		l.spare = nil
	}
	ended := l.ended
	l.mu.Unlock()
	if spare == nil || !ended {
		return nil
	}
	return l.giveBack(ctx, spare, spare.from)
}

// giveBack frees the worker at bound, which lies above all that was issued
// under it. The record is kept: it is the memory of that.
func (l *Lease) giveBack(ctx context.Context, h *holding, bound int64) error {
	if h.lost {
		return nil
	}
	l.update(func() { h.lost = true })
	free := Record{Bound: max(bound, h.from)}
	var err error
	for attempt := 0; attempt < maxReturns && ctx.Err() == nil; attempt++ {
		var ok bool
		if ok, err = l.swap(ctx, h.key, h.known, free); ok {
			l.log.Info("lease: worker given back", "datacenter", h.datacenter, "worker", h.worker, "bound", stamp(time.UnixMilli(free.Bound)))
			return nil
		}
		if mine, lookErr := l.look(ctx, h); lookErr != nil || !mine {
			return lookErr
		}
	}
	return l.stays(h, cmp.Or(err, ctx.Err(), errors.New("its record changes")))
}

// stays is the error of a worker that could not be given back.
func (l *Lease) stays(h *holding, err error) error {
	l.mu.Lock() // the turn may be another's
	defer l.mu.Unlock()
	return fmt.Errorf("lease: %v stays taken until %s: %w", h, stamp(h.until()), err)
}

// look reads the record again, and reports whether it is still ours.
func (l *Lease) look(ctx context.Context, h *holding) (bool, error) {
	records, err := l.load(ctx)
	if err != nil {
		return false, l.stays(h, err)
	}
	r := records[h.key]
	if r.Owner != h.known.Owner {
		return false, nil // given back by a call that was not answered, or taken by another process
	}
	if h.cloned(r) {
		l.leaveToClone(h, r)
		return false, nil
	}
	l.update(func() { h.known = r })
	return true, nil
}
