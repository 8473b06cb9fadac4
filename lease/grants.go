package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

var (
	errEnded    = errors.New("lease: the worker has been released: acquire another lease")
	errSettling = errors.New("lease: another worker has to settle first")
	errNothing  = errors.New("the renewed window has already expired")
)

// Grant serves [snowflake.New]. A lease serves one generator.
func (l *Lease) Grant(ctx context.Context, _ snowflake.Layout) (*snowflake.Grant, error) {
	return l.grantBeyond(ctx, nil, l.now())
}

// Extend serves the generator at the end of its window: it extends that, or
// continues under another worker where this one is lost. While the store fails
// it returns what the last attempt in the background has met, at once.
func (l *Lease) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return l.grantBeyond(ctx, held, need.UnixMilli())
}

// grantBeyond returns a grant that reaches beyond need: held if it does. The
// write is the lease's own and continues when the caller gives up, which it does
// after the time of one call: the connection that the write waits for may be the
// caller's own.
func (l *Lease) grantBeyond(ctx context.Context, held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	if grant, err := l.ready(held, need); grant != nil || err != nil {
		return grant, err
	}
	limit := l.timeout()
	waiting, cancel := context.WithTimeoutCause(ctx, limit, l.slow(limit))
	defer cancel()
	if err := l.lock(waiting); err != nil {
		return nil, l.gaveUp(ctx, held, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.unlock()
		l.renewAndNote(need)
	}()
	select {
	case <-done:
	case <-waiting.Done():
		return nil, l.gaveUp(ctx, held, context.Cause(waiting))
	}
	grant, err := l.ready(held, need)
	if grant == nil && err == nil {
		err = l.fencedError(held, errNothing)
	}
	return grant, err
}

// slow is the error of a caller that gives up while an attempt is under way.
func (l *Lease) slow(limit time.Duration) error {
	return fmt.Errorf("lease: no answer from the store after %v; if all connections are in use, perhaps by a transaction that waits for this call, end it sooner, allow more connections, or give the store a pool of its own", limit)
}

// gaveUp is the error of a call that has waited long enough. If its own context
// has not ended, the next calls are not to wait as long.
func (l *Lease) gaveUp(ctx context.Context, held *snowflake.Grant, why error) error {
	if ctx.Err() == nil {
		l.failed(why)
	}
	return l.fencedError(held, why)
}

// ready returns the grant that reaches beyond need, an error, or neither if the
// store has to be asked. The error is the outage's: more attempts than those in
// the background would only load a store that is in trouble.
func (l *Lease) ready(held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch w := l.currentLocked(); {
	case l.ended:
		return nil, errEnded
	case held == nil && len(l.grants) > 0:
		return nil, fmt.Errorf("lease: %v serves a generator already: acquire a lease for each", l.held)
	case !w.lost && w.acknowledged > max(need, l.now()):
		return l.grantOf(w, held)
	case l.outage.attempts > 0:
		l.outage.need = need
		return nil, l.refusal(held)
	}
	return nil, nil
}

// grantOf returns the worker's grant, or a new one for the generator that issues
// under held.
func (l *Lease) grantOf(w *heldWorker, held *snowflake.Grant) (*snowflake.Grant, error) {
	if held != nil && w.grant.Load() == held {
		return held, nil
	}
	grant, err := w.newGrant(l.layout)
	if err != nil {
		return nil, err
	}
	l.held, l.replacement = w, nil
	l.grants[grant] = w
	return grant, nil
}

// fencedError is the error of a call that has nothing to issue under.
func (l *Lease) fencedError(held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // it was revoked
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(l.now()-end.UnixMilli())), stamp(end), why)
}

// served is the worker that a generator has asked for last, or may ask for; nil
// while the first one is being acquired.
func (l *Lease) served() *heldWorker {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// current is the worker that is renewed: the replacement where the generator has
// not asked for it yet.
func (l *Lease) current() *heldWorker {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.currentLocked()
}

func (l *Lease) currentLocked() *heldWorker {
	if l.replacement != nil {
		return l.replacement
	}
	return l.held
}
