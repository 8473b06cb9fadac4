package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// A pool is a store with one connection, which other goroutines may use for long.
type pool struct {
	*leasetest.Memory
	conn chan struct{}
}

func newPool() *pool { return &pool{leasetest.NewMemory(), make(chan struct{}, 1)} }

// Connect waits for the connection, as database/sql does.
func (p *pool) Connect(ctx context.Context) (lease.Store, func(), error) {
	select {
	case p.conn <- struct{}{}:
		return p.Memory, func() { <-p.conn }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// use holds the connection like a transaction of the application.
func (p *pool) use(d time.Duration) {
	p.conn <- struct{}{}
	time.Sleep(d)
	<-p.conn
}

// A transaction uses the only connection for 40 seconds. The renewal must wait for the
// connection all this time, instead of giving up after five seconds. It must compute the bound
// only when it has the connection, because an earlier bound would end too early.
func TestRenewalWaitsForAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := newPool(), new(journal)
		l := acquire(t, store, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		time.Sleep(15 * time.Second)
		go store.use(40 * time.Second)
		time.Sleep(39 * time.Second)
		next(t, gen)
		time.Sleep(2 * time.Second)
		if s := l.Stats(); s.Failures != 0 || s.Extensions != 1 {
			t.Errorf("stats %+v, want one extension and no failure, log:\n%s", s, log)
		}
		if left := time.Until(l.Stats().Until); left < 58*time.Second {
			t.Errorf("the window ends in %v, want a minute from when the connection was there", left)
		}
	})
}

// A transaction of the application holds the only connection, and then needs an ID. The window
// has ended, so the lease waits for the connection that its own caller holds. The call must
// fail after five seconds, and the next call at once. The renewal continues once the
// connection is free.
func TestCallerGivesUpAndTheRenewalContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := newPool(), new(journal)
		l := acquire(t, store, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		store.conn <- struct{}{}
		time.Sleep(61 * time.Second)
		start := time.Now()
		_, err := gen.Next(t.Context())
		if !errors.Is(err, snowflake.ErrFenced) || !strings.Contains(err.Error(), "transaction that waits for this call") {
			t.Errorf("error = %v, want ErrFenced and what may be wrong", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("gave up after %v", took)
		}
		start = time.Now()
		if _, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) || time.Since(start) > 0 {
			t.Errorf("the next call: %v after %v, want ErrFenced at once", err, time.Since(start))
		}
		<-store.conn
		time.Sleep(time.Second)
		next(t, gen)
		if log.count("level=ERROR msg=\"lease: fenced") != 1 || log.count("level=INFO msg=\"lease: the window is extended again") != 1 {
			t.Errorf("log, want the outage and its end at one level:\n%s", log)
		}
	})
}

// While a worker settles, the lease holds no connection, so that the application can use
// the only one.
func TestSettlingHoldsNoConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newPool()
		go func() {
			time.Sleep(time.Second)
			store.use(time.Second)
		}()
		start := time.Now()
		l := acquire(t, store, lease.WithSettle(time.Minute))
		if took := time.Since(start); took > 61*time.Second {
			t.Errorf("acquired after %v", took)
		}
		if len(store.conn) > 0 {
			t.Error("a connection is held")
		}
		_ = l
	})
}

// Acquire waits for a connection for 20 seconds and then fails, so that a start does not
// hang.
func TestAcquireGivesUpOnABusyPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newPool()
		store.conn <- struct{}{}
		start := time.Now()
		if _, err := lease.Acquire(t.Context(), store, layout(), lease.WithLogger(discard())); err == nil {
			t.Error("acquired without a connection")
		}
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("gave up after %v, want 20s", took)
		}
	})
}
