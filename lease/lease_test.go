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

// A lease serves one generator. New must return an error for a second generator, because both
// would issue the same IDs under the worker. The first generator continues.
func TestOneGeneratorPerLease(t *testing.T) {
	t.Parallel()
	l := acquire(t, leasetest.NewMemory())
	gen := generate(t, l)
	if _, err := snowflake.New(l); err == nil || !strings.Contains(err.Error(), "serves a generator already") {
		t.Errorf("error = %v", err)
	}
	next(t, gen)
}

// Two generators of one lease are made at the same time, when the window has ended. Both wait
// for a window. Exactly one of them must get a grant, because two would issue the same IDs.
func TestGeneratorsMadeAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store)
		release := make(chan struct{})
		store.OnCall(func(leasetest.Call) leasetest.Fault { // the background loop hangs
			<-release
			return leasetest.None
		})
		time.Sleep(2 * time.Minute) // until the window has ended
		made := make([]*snowflake.Generator, 2)
		for i := range made {
			go func() { made[i], _ = snowflake.New(l) }()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		if (made[0] == nil) == (made[1] == nil) {
			t.Errorf("generators %v of one lease, want one of them", made)
		}
		for _, gen := range made {
			if gen != nil {
				_ = gen.Close(context.Background())
			}
		}
	})
}

// New returns an error for options that contradict the lease. The lease can still be
// released.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	clock := lease.WithClock(time.Now)
	for name, test := range map[string]struct {
		lease []lease.Option
		opt   snowflake.Option
	}{
		"layout": {nil, snowflake.WithLayout(snowflake.TwitterLayout())},
		"clock":  {[]lease.Option{clock}, snowflake.WithClock(time.Now)},
	} {
		l := acquire(t, leasetest.NewMemory(), test.lease...)
		if _, err := snowflake.New(l, test.opt); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := l.Release(context.Background()); err != nil {
			t.Errorf("%s: the lease cannot be released: %v", name, err)
		}
	}
}

// The lease also renews its window while there is no generator yet, so that a generator
// that is made an hour later works.
func TestGeneratorMadeLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, leasetest.NewMemory())
		time.Sleep(time.Hour)
		next(t, generate(t, l))
	})
}

// A caller gives up while it waits for an extension. The write continues, because its
// outcome would otherwise be unknown, and the window is extended once the store answers.
func TestExtensionOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(0), lease.WithWindow(100*time.Millisecond))
		gen := generate(t, l, snowflake.WithLogicalTime())
		release := make(chan struct{})
		store.OnCall(func(leasetest.Call) leasetest.Fault {
			<-release
			return leasetest.None
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := drain(ctx, gen)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("error = %v, want the deadline", err)
		}
		until := l.Stats().Until
		close(release)
		synctest.Wait()
		if !l.Stats().Until.After(until) || l.Stats().Failures != 0 {
			t.Errorf("stats %+v, want the window extended beyond %v", l.Stats(), until)
		}
	})
}

// A hundred calls of Next give up, one after the other, while the store hangs. Once the store
// answers, the lease must not send a write for each of these calls, because no caller waits
// for it any more.
func TestCallersThatGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store))
		release := make(chan struct{})
		store.OnCall(func(leasetest.Call) leasetest.Fault {
			<-release
			return leasetest.LoseRequest
		})
		time.Sleep(2 * time.Minute)
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := gen.Next(ctx); !errors.Is(err, snowflake.ErrFenced) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want ErrFenced and the deadline", err)
			}
			cancel()
		}
		before := store.Calls().Swaps
		close(release)
		synctest.Wait()
		if n := store.Calls().Swaps - before; n > 0 {
			t.Errorf("%d writes for callers that have given up", n)
		}
	})
}

// drain issues until a call fails. In logical time that uses up the window at once.
func drain(ctx context.Context, gen *snowflake.Generator) error {
	for {
		if _, err := gen.Next(ctx); err != nil {
			return err
		}
	}
}

// The background loop waits for a store that hangs, when the generator is closed. Close must
// end with its own context, after a second. The lease must not log the end of the background
// loop as a failure of the store.
func TestClosingIsNotHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		gen := generate(t, acquire(t, store, lease.WithLogger(log.logger())))
		store.OnCall(func(leasetest.Call) leasetest.Fault { return leasetest.Hold })
		time.Sleep(21 * time.Second) // the background loop's call hangs
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := gen.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("closed after %v, want 1s", took)
		}
		if log.count("cannot be extended") > 0 {
			t.Errorf("closing is logged as a failure:\n%s", log)
		}
	})
}

// An extension is on its way to a store that ignores contexts. The context of Close or
// Release ends after a second, at the moment at which the store answers. Two outcomes are
// right. Either the worker is released, or the error says that it could not be released.
func TestClosingWithAnExtensionUnderWay(t *testing.T) {
	t.Parallel()
	for _, withGenerator := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := leasetest.NewMemory()
			l := acquire(t, store)
			end := l.Release
			if withGenerator {
				end = generate(t, l).Close
			}
			release := make(chan struct{})
			store.OnCall(func(leasetest.Call) leasetest.Fault {
				<-release
				return leasetest.None
			})
			time.Sleep(21 * time.Second) // the extension after 20 seconds hangs
			go func() {
				time.Sleep(time.Second)
				close(release)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := end(ctx); err != nil && !strings.Contains(err.Error(), "could not be released") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// After one extension, Stats shows the worker, the bound and the owner of the record in the
// store. The record of datacenter 1 worker 1 has key 3.
func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(1), lease.WithDatacenter(1))
		time.Sleep(25 * time.Second)
		s := l.Stats()
		if s.Datacenter != 1 || s.Worker != 1 || s.Extensions != 1 || s.Until.UnixMilli() != store.Records()[3].Bound || s.Owner != holder(store.Records()[3]) {
			t.Errorf("stats %+v, records %+v", s, store.Records())
		}
	})
}

// Stats.Since is the time when the lease acquired the worker. Extensions for ten minutes must
// not change it. When the lease gets another worker, Since is the time of this second claim.
func TestSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		taken := time.Now()
		l := acquire(t, store)
		gen := generate(t, l)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := l.Stats(); !s.Since.Equal(taken) || s.Extensions == 0 {
			t.Errorf("after 10 minutes: %+v, want since %v", s, taken)
		}
		_, first := next(t, gen)
		rob(store, first)
		for {
			time.Sleep(time.Second)
			if _, worker := next(t, gen); worker != first {
				break
			}
		}
		if s := l.Stats(); time.Since(s.Since) > time.Minute {
			t.Errorf("under another worker: %+v, want since less than a minute", s)
		}
		gen.Close(t.Context())
	})
}
