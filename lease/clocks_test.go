package lease_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// Acquire fails if this process's clock is further ahead of the store's clock than WithMaxSkew
// allows, because no later write could lower the bound of such a lease. WithMaxAhead does not
// raise this limit. A clock that is behind is accepted.
func TestAcquireComparesTheClocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		ahead  time.Duration // of the process's clock
		opts   []lease.Option
		refuse bool // whether Acquire fails
	}{
		{"right", 0, nil, false},
		{"behind", -60 * 24 * time.Hour, nil, false},
		{"within the limit", time.Hour, nil, false},
		{"beyond the limit", time.Hour + time.Millisecond, nil, true},
		{"in another age", 200 * 365 * 24 * time.Hour, nil, true},
		{"within an option's limit", 48 * time.Hour, []lease.Option{lease.WithMaxSkew(48 * time.Hour)}, false},
		{"beyond an option's limit", time.Minute, []lease.Option{lease.WithMaxSkew(time.Second)}, true},
		{"what may run ahead", 2 * time.Hour, []lease.Option{lease.WithMaxAhead(24 * time.Hour)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, clock := leasetest.NewMemory(), new(skew)
				store := leasetest.WithTime(memory, time.Now)
				clock.set(test.ahead)
				opts := append([]lease.Option{lease.WithClock(clock.now), lease.WithLogger(discard())}, test.opts...)
				l, err := lease.Acquire(t.Context(), store, layout(), opts...)
				if l != nil {
					defer func() { _ = l.Release(t.Context()) }()
				}
				if refused := err != nil; refused != test.refuse {
					t.Fatalf("error = %v, want one: %v", err, test.refuse)
				}
				for worker := range memory.Records() {
					if worker >= 0 && test.refuse {
						t.Errorf("worker %d has a record of a clock that was refused", worker)
					}
				}
				ours, theirs := clock.now().UTC().Format("2006-01-02T15:04"), time.Now().UTC().Format("2006-01-02T15:04")
				if test.refuse && (!strings.Contains(err.Error(), ours) || !strings.Contains(err.Error(), theirs)) {
					t.Errorf("error = %v, want it to name %s and %s", err, ours, theirs)
				}
			})
		})
	}
}

// This process's clock jumps 20 days ahead, which the generator believes, but which is more
// than WithMaxSkew. The lease must not extend its window by this clock. It must extend the
// window again when the clock is right.
func TestExtensionRefusesOurJump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, clock := leasetest.NewMemory(), new(skew)
		l := acquire(t, leasetest.WithTime(memory, time.Now), lease.WithWorker(0), lease.WithClock(clock.now))
		gen := generate(t, l)
		next(t, gen)
		clock.set(20 * 24 * time.Hour) // within the generator's limit
		pass(t, gen, 2*time.Minute)
		if ahead := time.Until(time.UnixMilli(memory.Records()[0].Bound)); ahead > time.Minute {
			t.Errorf("the bound is %v ahead", ahead)
		}
		if s := l.Stats(); s.Failure == nil || !strings.Contains(s.Failure.Error(), "WithMaxSkew(1h0m0s)") {
			t.Errorf("failure = %v, want one that names WithMaxSkew", s.Failure)
		}
		clock.set(0)
		pass(t, gen, time.Minute)
		if id, _ := next(t, gen); time.Until(layout().Time(id)).Abs() > time.Second {
			t.Errorf("%v at %v", layout().Time(id), time.Now())
		}
	})
}

// This process's clock jumps 20 days ahead before there is a generator. New must fail. A grant
// that starts at the wrong time would keep its generator 20 days ahead.
func TestFirstGrantRefusesOurJump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, clock := leasetest.NewMemory(), new(skew)
		l := acquire(t, leasetest.WithTime(memory, time.Now), lease.WithWorker(0), lease.WithClock(clock.now))
		clock.set(20 * 24 * time.Hour)
		if _, err := snowflake.New(l); err == nil || !strings.Contains(err.Error(), "WithMaxSkew(1h0m0s)") {
			t.Errorf("error = %v, want one that names WithMaxSkew", err)
		}
		if ahead := time.Until(time.UnixMilli(memory.Records()[0].Bound)); ahead > time.Minute {
			t.Errorf("the bound is %v ahead", ahead)
		}
		clock.set(0)
		time.Sleep(time.Minute)
		if id, _ := next(t, generate(t, l)); time.Until(layout().Time(id)).Abs() > time.Second {
			t.Errorf("%v at %v", layout().Time(id), time.Now())
		}
	})
}

// The store's clock goes wrong by two hours three times, and each time is corrected. A lease
// of a process whose clock is right must extend its window all the time. If the store's clock
// is behind, the lease must log a warning each time, because processes that start in this
// time fail. If the store's clock is ahead, there is no reason to warn.
func TestExtensionToleratesTheStoresClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			theirs, log := new(skew), new(journal)
			l := acquire(t, leasetest.WithTime(leasetest.NewMemory(), theirs.now), lease.WithLogger(log.logger()))
			gen := generate(t, l)
			for range 3 {
				theirs.set(wrong)
				time.Sleep(3 * time.Minute)
				next(t, gen)
				theirs.set(0)
				time.Sleep(time.Minute)
			}
			if s := l.Stats(); s.Failures > 0 || s.Losses > 0 {
				t.Errorf("stats %+v", s)
			}
			want := 0 // a store's clock that is ahead is no reason to warn
			if wrong < 0 {
				want = 3
			}
			if log.count("the store's clock is behind") != want || log.count("agrees with this process's again") != want {
				t.Errorf("log, want %d warnings:\n%s", want, log)
			}
		})
	}
}

// The clock is set back by ten minutes, so that new IDs are ahead of the clock. The lease
// must log this once. When the clock has caught up with the IDs, the lease must log once that
// they are no longer more than a minute ahead.
func TestLeadIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock, log := new(skew), new(journal)
		gen := generate(t, acquire(t, leasetest.NewMemory(), lease.WithClock(clock.now), lease.WithLogger(log.logger())))
		pass(t, gen, time.Minute)
		if log.count("level=WARN") != 0 {
			t.Errorf("log:\n%s", log)
		}
		clock.set(-10 * time.Minute)
		pass(t, gen, 2*time.Minute)
		if log.count("are more than a minute ahead of the clock") != 1 {
			t.Errorf("log:\n%s", log)
		}
		time.Sleep(20 * time.Minute)
		pass(t, gen, 2*time.Minute)
		if log.count("are no longer more than a minute ahead of the clock") != 1 || log.count("level=WARN") != 2 {
			t.Errorf("log:\n%s", log)
		}
	})
}

// pass issues IDs for d, in steps of 10 ms. The generator takes a step of up to 20 ticks of
// its clock, here 20 ms, as time that has passed, and a larger step as a jump of the clock
// (see [snowflake.WithClock]).
func pass(t *testing.T, gen *snowflake.Generator, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, _ = gen.Next(t.Context())
	}
}

// The store's clock falls two hours behind, and then this process's clock jumps ahead, in
// some cases by more than WithMaxSkew, which is an hour. The lease must refuse to extend its
// window after such a jump, although the store's clock is wrong. It compares this process's
// clock with the store's time when the two clocks last agreed, plus the time that has elapsed
// since. So a bound is at most WithMaxSkew and a window ahead of the right time. In the last
// case the store's clock is right.
func TestExtensionRefusesOurJumpUnderAWrongStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		store, jump  time.Duration // steps of the store's clock, and then of ours
		refuse, warn bool
	}{
		// name, store, jump, refuse, warn
		{"the store's clock lags", -2 * time.Hour, 0, false, true},
		{"it lags, and ours is within the limit", -2 * time.Hour, 59 * time.Minute, false, true},
		{"it lags, and ours jumps beyond", -2 * time.Hour, 61 * time.Minute, true, false},
		{"it lags, and ours jumps far", -2 * time.Hour, 20 * 24 * time.Hour, true, false},
		{"the store's clock is right, and ours jumps beyond", 0, 61 * time.Minute, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, ours, theirs, log := leasetest.NewMemory(), new(skew), new(skew), new(journal)
				l := acquire(t, leasetest.WithTime(memory, theirs.now), lease.WithWorker(0), lease.WithClock(ours.now), lease.WithLogger(log.logger()))
				gen := generate(t, l)
				pass(t, gen, 30*time.Second)
				theirs.set(test.store)
				pass(t, gen, 30*time.Second)
				ours.set(test.jump)
				pass(t, gen, 2*time.Minute)
				if refused := l.Stats().Failures > 0; refused != test.refuse {
					t.Errorf("refused: %v, want %v: %v", refused, test.refuse, l.Stats().Failure)
				}
				if ahead := time.Until(time.UnixMilli(memory.Records()[0].Bound)); ahead > time.Hour+time.Minute {
					t.Errorf("the bound is %v ahead", ahead)
				}
				if warned := log.count("the store's clock is behind") > 0; test.warn && !warned {
					t.Errorf("log, want a warning:\n%s", log)
				}
			})
		})
	}
}
