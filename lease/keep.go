package lease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Pauses between attempts while the store fails or no worker is free.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// keep looks after what is held until the lease ends. A failure elsewhere
// shortens its pause.
func (l *Lease) keep() {
	for {
		timer := time.NewTimer(l.pause())
		select {
		case <-timer.C:
			if l.enter(l.life) == nil {
				l.tend(0)
				l.leave()
			}
		case <-l.wake:
			timer.Stop()
		case <-l.life.Done():
			timer.Stop()
			return
		}
	}
}

// pause is a third of a window, or a short while after a failure.
func (l *Lease) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outage.attempts == 0 {
		return l.window / 3
	}
	pause := min(lastRetry, firstRetry<<min(l.outage.attempts-1, 10))
	return pause/2 + rand.N(pause/2)
}

// tend does what is to be done so that the generator has a window beyond need,
// in Unix milliseconds, and notes whether that failed. It does nothing once the
// lease has ended. The caller has the turn.
func (l *Lease) tend(need int64) {
	if l.life.Err() != nil {
		return
	}
	switch err := l.renew(l.life, need); {
	case err == nil:
		l.answered()
	case l.life.Err() == nil:
		l.failed(err)
	}
}

func (l *Lease) renew(ctx context.Context, need int64) error {
	h := l.current()
	if !h.lost {
		if !l.due(h, need) {
			return nil
		}
		if err := l.extend(ctx, h, need); err != nil || !h.lost {
			return err
		}
	}
	if l.settle > 0 && (need > 0 || !l.failing()) {
		return errSettling // which takes long: the background does it, once callers know
	}
	spare, err := l.claim(ctx, l.standIn)
	if err != nil {
		return err
	}
	l.log.Info("lease: worker taken in place of the lost one", append(spare.attrs(), "lost", h.String())...)
	l.update(func() { l.spare = spare })
	if need >= spare.known.Bound {
		return l.extend(ctx, spare, need)
	}
	return nil
}

// current is the worker that is kept: the spare one where the generator has not
// yet asked for it.
func (l *Lease) current() *holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept()
}

// kept is current for who holds the mutex.
func (l *Lease) kept() *holding {
	if l.spare != nil {
		return l.spare
	}
	return l.held
}

// Grant serves [snowflake.New]. A lease serves one generator.
func (l *Lease) Grant(ctx context.Context, _ snowflake.Layout) (*snowflake.Grant, error) {
	return l.provide(ctx, nil, l.now())
}

// Extend serves the generator at the end of its window: it extends that, or
// goes on under another worker where this one is lost. While the store fails
// it returns what the last attempt in the background has met, at once.
func (l *Lease) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return l.provide(ctx, held, need.UnixMilli())
}

// provide returns a grant that reaches beyond need: held if it does. The write
// is the lease's own and goes on if ctx ends, which would leave its outcome
// unknown; but who only waits for another's gives up.
func (l *Lease) provide(ctx context.Context, held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	if grant, err := l.ready(held, need); grant != nil || err != nil {
		return grant, err
	}
	if err := l.enter(ctx); err != nil {
		return nil, l.fenced(held, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.leave()
		l.tend(need)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, l.fenced(held, context.Cause(ctx))
	}
	grant, err := l.ready(held, need)
	if grant == nil && err == nil {
		err = l.fenced(held, errNothing)
	}
	return grant, err
}
