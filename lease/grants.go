package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Grant returns a grant of the lease's worker to [snowflake.New], which calls it once for a
// new generator. It returns an error if the lease already serves another generator. It ignores
// the layout, because a generator adopts the layout of its source, which Layout returns.
func (l *Lease) Grant(ctx context.Context, _ snowflake.Layout) (*snowflake.Grant, error) {
	return l.grantBeyond(ctx, nil, l.now()) // nil, because the generator holds no grant yet
}

// Extend returns a grant that reaches beyond need, for a generator that has reached the end of
// the window of held. It extends the window and returns held, or returns a grant of another
// worker if this worker is lost. During an outage it does not call the store, and returns the
// error of the last background attempt at once.
func (l *Lease) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return l.grantBeyond(ctx, held, need.UnixMilli())
}

// grantBeyond returns a grant that reaches beyond need, in Unix milliseconds. held is the grant
// under which the generator issues, or nil. grantBeyond returns held if the window of held
// reaches far enough, or a grant of the replacement if the lease has one. Otherwise it starts
// a renewal, which extends the window or replaces a lost worker, and waits for the renewal.
//
// It waits at most for the timeout of one store call, because the renewal may be waiting for
// a connection that the caller itself holds, for example in a transaction. The renewal
// continues when grantBeyond has stopped waiting.
func (l *Lease) grantBeyond(ctx context.Context, held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	// readyGrant returns neither a grant nor an error if the store has to be called first.
	if grant, err := l.holdings.readyGrant(held, need); grant != nil || err != nil {
		return grant, err
	}

	// Renew in a goroutine of its own, which unlocks storeLock even if the caller no
	// longer waits.
	limit := l.timeout()
	waiting, cancel := context.WithTimeoutCause(ctx, limit, slowError(limit))
	defer cancel()
	if err := l.storeLock.lock(waiting); err != nil {
		return nil, l.stopWaiting(ctx, held, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.storeLock.unlock()
		l.renewAndNote(need) // notes its error, which readyGrant returns below
	}()
	select {
	case <-done:
	case <-waiting.Done():
		return nil, l.stopWaiting(ctx, held, context.Cause(waiting))
	}
	grant, err := l.holdings.readyGrant(held, need)
	if grant == nil && err == nil { // the clock has passed even the new bound, as after a pause
		err = fencedError(l.now(), held, errWindowPassed)
	}
	return grant, err
}

// slowError returns the error of a caller that has waited for limit, and stops waiting
// although the attempt to get a window continues.
func slowError(limit time.Duration) error {
	return fmt.Errorf("lease: no answer from the store after %v; if all connections are in use, perhaps by a transaction that waits for this call, end it sooner, allow more connections, or give the store a pool of its own", limit)
}

// stopWaiting returns the error of a caller of grantBeyond that stops waiting, for the reason
// why. If ctx, the caller's own context, has not ended, the store is slow. stopWaiting then
// also notes a failure, so that the next callers fail at once instead of waiting as long.
func (l *Lease) stopWaiting(ctx context.Context, held *snowflake.Grant, why error) error {
	if ctx.Err() == nil {
		l.holdings.noteFailure(why)
	}
	return fencedError(l.now(), held, why)
}

// Retire releases the worker of a grant under which the generator will not issue again, so
// that another process can acquire the worker at once. last is the start of the last tick in
// which the generator may have issued an ID. If the worker is lost, Retire does not release
// it, because another process may have it. The lease ends with the last grant in use. It then
// also releases a replacement, and a lost worker whose record the store has set back.
func (l *Lease) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	w := l.holdings.removeGrant(held, last.Add(l.layout.Tick).UnixMilli())
	if w == nil { // needs no release
		return nil
	}
	return l.releaseWorkers(ctx, w)
}

// Release releases the worker and ends the lease if the lease serves no generator. A second
// call has no effect. If the lease serves a generator, Release returns an error, because
// closing the generator releases the worker.
func (l *Lease) Release(ctx context.Context) error {
	if !l.holdings.endIfUnused() {
		return fmt.Errorf("lease: %v serves a generator: close that, which releases the worker", l.holdings.current())
	}
	return l.releaseWorkers(ctx, l.holdings.servedWorker())
}

// releaseWorkers releases the worker w. If the lease has ended, it also releases the
// replacement, which is a worker that the lease has acquired after a loss and that the
// generator has not asked for yet.
func (l *Lease) releaseWorkers(ctx context.Context, w *heldWorker) error {
	if err := l.storeLock.lock(ctx); err != nil {
		return l.holdings.stillLeasedError(w, err)
	}
	defer l.storeLock.unlock()
	err := l.releaseWorker(ctx, w)
	if replacement := l.holdings.takeReplacement(); replacement != nil {
		err = errors.Join(err, l.releaseWorker(ctx, replacement))
	}
	return err
}
