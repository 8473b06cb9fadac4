package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A generator issues an ID each second for an hour, under a window of a minute. The lease
// must call the store only for one write per third of the window, which makes 180 writes. It
// must not read the store, and IDs must cause no further calls.
func TestSteadyCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store))
		start, before := time.Now(), store.Calls()
		for time.Since(start) < time.Hour {
			next(t, gen)
			time.Sleep(time.Second)
		}
		calls := store.Calls()
		if swaps, loads := calls.Swaps-before.Swaps, calls.Loads-before.Loads; swaps > 180 || swaps < 170 || loads != 0 {
			t.Errorf("%d writes and %d reads in an hour, want 180 and none", swaps, loads)
		}
	})
}

// A process issues no ID for ten minutes, in which its lease extends the window. TryNext, which
// never calls the store, must then find a window that has not ended.
func TestTryNextFindsAWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gen := generate(t, acquire(t, leasetest.NewMemory()))
		time.Sleep(10 * time.Minute)
		if _, err := gen.TryNext(); err != nil {
			t.Error(err)
		}
	})
}

// The store is down for five seconds, less than the rest of the window. No call of the
// generator fails or waits. Stats and the log show the outage.
func TestShortOutageIsNotNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, store, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		time.Sleep(18 * time.Second)
		store.Down()
		last := time.Now()
		for range 5000 {
			id, _ := next(t, gen)
			if tick := layout().Time(id); tick.Before(last) || time.Since(tick) > time.Millisecond {
				t.Fatalf("gap: issued %v at %v", tick, time.Now())
			}
			last = time.Now()
			time.Sleep(time.Millisecond)
		}
		if s := l.Stats(); s.FailingSince.IsZero() || s.Failure == nil || l.Health() != nil {
			t.Errorf("stats %+v, health %v: want the failure in the stats, and health", s, l.Health())
		}
		store.Up()
		time.Sleep(time.Second)
		if s := l.Stats(); !s.FailingSince.IsZero() || s.Failure != nil || s.Failures == 0 {
			t.Errorf("stats after recovery %+v", s)
		}
		if log.count("cannot be extended") != 1 || log.count("is extended again") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}

// The store is down for longer than the window. The generator must issue until the bound, and
// must stop there. Once the store is back, the generator must issue again within a second.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, store, lease.WithWindow(3*time.Second), lease.WithLogger(log.logger()))
		gen := generate(t, l)
		store.Down()
		until := l.Stats().Until
		err := untilError(t, gen)
		if now := time.Now(); now.Before(until) || now.Sub(until) > time.Millisecond {
			t.Errorf("refused at %v, want within a tick of %v", now, until)
		}
		if !errors.Is(err, snowflake.ErrFenced) || !errors.Is(err, leasetest.ErrFault) {
			t.Errorf("error = %v, want ErrFenced and what the store says", err)
		}
		time.Sleep(2 * time.Second)
		_, err = gen.Next(t.Context())
		if err == nil || !strings.Contains(err.Error(), "refused for 2") {
			t.Errorf("error = %v, want it to say for how long", err)
		}
		if err := l.Health(); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("health = %v, want ErrFenced", err)
		}
		store.Up()
		back := time.Now()
		for _, err = gen.TryNext(); err != nil; _, err = gen.TryNext() {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(back); took > time.Second {
			t.Errorf("served again after %v, want within a second", took)
		}
		if log.count("fenced") != 1 {
			t.Errorf("fenced is not logged once:\n%s", log)
		}
	})
}

// In logical time the generator uses up its window within moments, while the store is down.
// The background loop, which extends the window after each third of it, would call the store
// only seconds later. Once the store is back, the generator must issue again within a second,
// so the lease must not wait for the background loop's next round.
func TestRecoveryBetweenRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store), snowflake.WithLogicalTime())
		store.Down()
		ids := make([]types.ID, 1<<20)
		var err error
		for err == nil {
			err = gen.Fill(t.Context(), ids)
		}
		if !errors.Is(err, snowflake.ErrFenced) {
			t.Fatal(err)
		}
		store.Up()
		back := time.Now()
		for _, err = gen.Next(t.Context()); err != nil; _, err = gen.Next(t.Context()) {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(back); took > time.Second {
			t.Errorf("served again after %v, want within a second", took)
		}
	})
}

// The store keeps an extension, but its reply is lost, and the store is then down for ten
// minutes. When the lease reads the record again, it finds the bound of that extension, which
// has passed too. The lease must then extend the window again at once, instead of after a third
// of a window.
func TestRecoveryAfterALostReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store)
		gen := generate(t, l)
		store.Fail(leasetest.LoseReply)
		time.Sleep(20*time.Second + time.Nanosecond)
		store.Down()
		time.Sleep(10 * time.Minute)
		store.Up()
		time.Sleep(time.Second)
		if _, err := gen.TryNext(); err != nil {
			t.Errorf("a second after the outage: %v", err)
		}
		if err := l.Health(); err != nil {
			t.Errorf("health = %v", err)
		}
	})
}

// untilError issues IDs until a call fails.
func untilError(t *testing.T, gen *snowflake.Generator) error {
	t.Helper()
	for {
		if _, err := gen.Next(t.Context()); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// The store hangs instead of failing. When the window ends, the call of the background loop
// has already ended by its timeout, and an outage is known. So the next call of the generator
// must fail at once. The generator works again after the store answers.
func TestHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store)
		gen := generate(t, l)
		store.OnCall(func(leasetest.Call) leasetest.Fault { return leasetest.Hold })
		until := l.Stats().Until
		err := untilError(t, gen)
		if late := time.Since(until); late < 0 || late > time.Millisecond || !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("refused %v after the bound: %v", late, err)
		}
		store.OnCall(nil)
		store.Deliver()
		time.Sleep(6 * time.Second)
		next(t, gen)
	})
}

// The request of the write that releases the worker is lost, or its answer. Close must return
// no error, and the worker must be released in both cases.
func TestReleaseUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, fault := range []leasetest.Fault{leasetest.LoseRequest, leasetest.LoseReply} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			store := leasetest.NewMemory()
			gen := generate(t, acquire(t, store, lease.WithWorker(0)))
			store.Fail(fault)
			if err := gen.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if r := store.Records()[0]; !isReleased(r) {
				t.Errorf("record = %+v, want a free one", r)
			}
		})
	}
}

// If the store is down, Close returns the error of the store, and the time at which the lease
// of the worker expires.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	l := acquire(t, store, lease.WithWorker(0))
	gen := generate(t, l)
	store.Down()
	err := gen.Close(context.Background())
	if !errors.Is(err, leasetest.ErrFault) || !strings.Contains(err.Error(), "datacenter 0 worker 0 could not be released; its lease expires at ") {
		t.Errorf("error = %v", err)
	}
	if err := l.Health(); err == nil {
		t.Error("healthy after Close")
	}
}

// The clock jumps 31 days ahead, more than a generator believes. The lease must not write a
// bound by this clock, because no extension could lower the bound again. The lease follows
// jumps of 29 days, because the generator believes them.
func TestAbsurdClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, clock := leasetest.NewMemory(), new(skew)
		l := acquire(t, store, lease.WithWorker(0), lease.WithClock(clock.now))
		gen := generate(t, l)
		pass(t, gen, time.Minute)
		clock.set(31 * 24 * time.Hour)
		pass(t, gen, 50*time.Second)
		if ahead := store.Records()[0].Bound - now(); ahead > 60_000 {
			t.Errorf("bound is %v ms ahead", ahead)
		}
		if s := l.Stats(); !errors.Is(s.Failure, snowflake.ErrClockJumped) {
			t.Errorf("failure = %v, want ErrClockJumped", s.Failure)
		}
		for _, days := range []time.Duration{29, 58} { // each step alone is within the limit
			clock.set(days * 24 * time.Hour)
			pass(t, gen, time.Minute)
			if s := l.Stats(); s.Failure != nil {
				t.Errorf("failure = %v, want none for 29 days", s.Failure)
			}
		}
	})
}

// A process starts with its clock 60 days behind, and then the clock is corrected, which is a
// jump of 60 days. The generator issues again after it has seen the new time for a minute or
// two, or at once if WithMaxJump allows 90 days.
func TestClockThatWasBehindIsCorrected(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]snowflake.Option{"default": nil, "higher limit": {snowflake.WithMaxJump(90 * 24 * time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, clock := leasetest.NewMemory(), new(skew)
				clock.set(-60 * 24 * time.Hour)
				l := acquire(t, leasetest.WithTime(memory, time.Now), lease.WithClock(clock.now))
				gen := generate(t, l, opts...)
				pass(t, gen, time.Minute)
				clock.set(0)
				if opts == nil {
					pass(t, gen, 2*time.Minute)
				} else {
					pass(t, gen, 10*time.Millisecond)
				}
				id, _ := next(t, gen)
				if late := time.Since(layout().Time(id)); late.Abs() > 2*time.Second {
					t.Errorf("%v, %v late", layout().Time(id), late)
				}
				if s := l.Stats(); s.Failure != nil {
					t.Errorf("failure = %v", s.Failure)
				}
			})
		})
	}
}

// As long as no ID is issued, no generator checks the clock for jumps. The lease then adds
// the time that has elapsed on the monotonic clock to the time of Acquire. So a wall clock
// that jumps by years or centuries must not raise the bound. This must also hold if another
// process has taken the worker, and the lease claims again.
func TestAbsurdClockWithoutGenerator(t *testing.T) {
	t.Parallel()
	for _, years := range []int{1, 400, 900, -400} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/lost=%v", years, lost), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store, later := leasetest.NewMemory(), new(atomic.Int64)
					clock := func() time.Time { return time.Now().AddDate(int(later.Load()), 0, 0) }
					l := acquire(t, store, lease.WithWorker(0), lease.WithClock(clock))
					if lost {
						rob(store, 0)
					}
					later.Store(int64(years))
					time.Sleep(time.Minute)
					if ahead := store.Records()[0].Bound - now(); ahead > 120_000 {
						t.Errorf("bound is %v ms ahead", ahead)
					}
					if failed := l.Stats().Failure != nil; failed != lost {
						t.Errorf("failure = %v", l.Stats().Failure)
					}
				})
			})
		}
	}
}

// After the clock was set back by an hour, the generator continues ahead of the clock.
// The lease must extend the window above the last ID, not above the clock, or the
// generator would stop.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		clock := new(skew)
		l := acquire(t, store, lease.WithWorker(0), lease.WithClock(clock.now))
		gen := generate(t, l)
		next(t, gen)
		clock.set(-time.Hour)
		before, _ := next(t, gen)
		for range 20_000 {
			time.Sleep(10 * time.Millisecond)
			id, err := gen.TryNext()
			if err != nil || id <= before {
				t.Fatalf("%d after %d, %v", id, before, err)
			}
			before = id
		}
		if l.Stats().Failures != 0 {
			t.Errorf("stats %+v", l.Stats())
		}
	})
}

// A refusingStore breaks the contract of a Store. It refuses to replace a record that has an
// owner, even if the record equals old.
type refusingStore struct{ *leasetest.Memory }

// CompareAndSwap writes a record that was absent, and refuses every other write.
func (r refusingStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	if old.Owner != "" {
		return false, nil
	}
	return r.Memory.CompareAndSwap(ctx, worker, old, next)
}

// A store refuses every extension, although it shows the record that the lease expects. The
// generator must stop at its bound, and Stats must contain an error that says that the store
// has refused to replace a record.
func TestStoreThatRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := refusingStore{leasetest.NewMemory()}
		l := acquire(t, store)
		gen := generate(t, l)
		time.Sleep(2 * time.Minute)
		if err := l.Stats().Failure; err == nil || !strings.Contains(err.Error(), "refused to replace") {
			t.Errorf("failure = %v", err)
		}
		if _, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("error = %v, want ErrFenced", err)
		}
	})
}

// The clock is set back while a worker settles, so that the extension raises the worker's bound
// as little as possible. The bound is still a whole number of ticks, because a generator could
// not use a part of a tick.
func TestBoundsAreWholeTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, clock, coarse := leasetest.NewMemory(), new(skew), layout()
		coarse.Tick = 10 * time.Millisecond
		time.AfterFunc(time.Second, func() { clock.set(-2 * time.Minute) })
		l, err := lease.Acquire(t.Context(), store, coarse, lease.WithWorker(0), lease.WithSettle(time.Minute),
			lease.WithClock(clock.now), lease.WithLogger(discard()))
		if err != nil {
			t.Fatal(err)
		}
		if bound := store.Records()[0].Bound; bound%10 != 0 {
			t.Errorf("bound %d is not a whole number of ticks of 10ms", bound)
		}
		// Without the rounding, the rest of a tick would block logical time at a window's end.
		ids, gen := make([]types.ID, 1<<20), generate(t, l, snowflake.WithLogicalTime())
		for range 100 {
			if err := gen.Fill(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The store answers an extension after 550 ms, and the caller of Extend waits for 500 ms and
// then logs the lease's worker. At about the same moment the answer of the store changes the
// lease's data of the worker. The race detector must not find a race.
func TestGivingUpWhileExtending(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	l := acquire(t, store, lease.WithWindow(time.Second))
	grant, err := l.Grant(t.Context(), layout())
	if err != nil {
		t.Fatal(err)
	}
	store.OnCall(func(leasetest.Call) leasetest.Fault {
		time.Sleep(550 * time.Millisecond) // the caller waits 500 ms
		return leasetest.None
	})
	start := time.Now()
	_, err = l.Extend(t.Context(), grant, time.Now().Add(time.Minute))
	// A process that was paused may see the answer and its timeout at the same time.
	if took := time.Since(start); !errors.Is(err, snowflake.ErrFenced) && took < 550*time.Millisecond {
		t.Errorf("error = %v after %v, want ErrFenced", err, took)
	}
	time.Sleep(100 * time.Millisecond)
}
