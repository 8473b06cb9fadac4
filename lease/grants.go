package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
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
	if grant, err := l.holdings.ready(held, need); grant != nil || err != nil {
		return grant, err
	}
	limit := l.timeout()
	waiting, cancel := context.WithTimeoutCause(ctx, limit, slow(limit))
	defer cancel()
	if err := l.storeLock.lock(waiting); err != nil {
		return nil, l.gaveUp(ctx, held, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.storeLock.unlock()
		l.renewAndNote(need)
	}()
	select {
	case <-done:
	case <-waiting.Done():
		return nil, l.gaveUp(ctx, held, context.Cause(waiting))
	}
	grant, err := l.holdings.ready(held, need)
	if grant == nil && err == nil {
		err = fencedError(l.now(), held, errNothing)
	}
	return grant, err
}

// slow is the error of a caller that gives up while an attempt is under way.
func slow(limit time.Duration) error {
	return fmt.Errorf("lease: no answer from the store after %v; if all connections are in use, perhaps by a transaction that waits for this call, end it sooner, allow more connections, or give the store a pool of its own", limit)
}

// gaveUp is the error of a call that has waited long enough. If its own context
// has not ended, the next calls are not to wait as long.
func (l *Lease) gaveUp(ctx context.Context, held *snowflake.Grant, why error) error {
	if ctx.Err() == nil {
		l.holdings.failed(why)
	}
	return fencedError(l.now(), held, why)
}

// Retire serves the generator: nothing more will be issued under the grant. The
// worker is released, so that another process can acquire it at once. The lease
// ends with the last grant in use.
func (l *Lease) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	w := l.holdings.remove(held, last.Add(l.layout.Tick).UnixMilli())
	if w == nil {
		return nil
	}
	return l.finish(ctx, w)
}

// Release releases the worker where no generator was made for it; a second
// call does nothing. Where there is one, close that instead.
func (l *Lease) Release(ctx context.Context) error {
	if !l.holdings.endUnused() {
		return fmt.Errorf("lease: %v serves a generator: close that, which releases the worker", l.holdings.current())
	}
	return l.finish(ctx, l.holdings.served())
}

// finish releases the worker, and once the lease has ended the one that was to
// replace it.
func (l *Lease) finish(ctx context.Context, w *heldWorker) error {
	if err := l.storeLock.lock(ctx); err != nil {
		return l.holdings.stillLeased(w, err)
	}
	defer l.storeLock.unlock()
	err := l.release(ctx, w)
	if replacement := l.holdings.takeReplacement(); replacement != nil {
		err = errors.Join(err, l.release(ctx, replacement))
	}
	return err
}
