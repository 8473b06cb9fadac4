package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// rob lets another process take the worker, like a process whose clock is fast.
func rob(store *leasetest.Memory, worker int) {
	store.Put(worker, robberRecord(store.Records()[worker]))
}

// robberRecord returns the record of the process that takes the worker, with a window of a
// minute.
func robberRecord(r lease.Record) lease.Record {
	return lease.Record{Bound: r.Bound + 60_000, Owner: "robber"}
}

// robBusy lets another process take the worker. The holder may extend its window at the same
// moment, so robBusy repeats its compare-and-swap until it has replaced the last record.
func robBusy(t *testing.T, store *leasetest.Memory, worker int) {
	t.Helper()
	for swapped := false; !swapped; {
		r := store.Records()[worker]
		var err error
		if swapped, err = store.CompareAndSwap(t.Context(), worker, r, robberRecord(r)); err != nil {
			t.Fatal(err)
		}
	}
}

// The lease has lost its worker, and has acquired another worker, of which no generator has
// got a grant yet. Then Close or Release ends the lease. The other worker must be released
// too. The lost worker keeps its new holder, called robber.
func TestSpareIsReleased(t *testing.T) {
	t.Parallel()
	for _, generator := range []bool{false, true} {
		t.Run(fmt.Sprintf("generator=%v", generator), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := leasetest.NewMemory()
				l := acquire(t, store)
				end := l.Release
				if generator {
					end = generate(t, l).Close
				}
				lost := l.Stats()
				rob(store, int(lost.Datacenter<<1|lost.Worker))
				time.Sleep(25 * time.Second) // until the background loop has noticed
				if got := l.Stats(); got.Losses != 1 || got.Owner == lost.Owner {
					t.Fatalf("stats %+v, want another worker", got)
				}
				if err := end(t.Context()); err != nil {
					t.Fatal(err)
				}
				for worker, r := range store.Records() {
					if worker >= 0 && !isReleased(r) && r.Owner != "robber" {
						t.Errorf("worker %d is %+v, want it released", worker, r)
					}
				}
			})
		})
	}
}

// Under WithWorker a lease that has lost its worker cannot take another worker. Calls for IDs
// fail with an error that names the new holder. The lease takes the same worker back once the
// bound of the new holder has passed.
func TestLossOfThisVeryWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store, lease.WithWorker(1)))
		next(t, gen)
		rob(store, 1)
		bound := store.Records()[1].Bound
		time.Sleep(70 * time.Second)
		_, err := gen.Next(t.Context())
		for _, want := range []error{snowflake.ErrFenced, lease.ErrLost, lease.ErrNoFreeWorker} {
			if !errors.Is(err, want) {
				t.Errorf("error = %v, want it to wrap %v", err, want)
			}
		}
		if err == nil || !strings.Contains(err.Error(), "robber") {
			t.Errorf("error = %v, want it to name the robber", err)
		}
		time.Sleep(time.Until(time.UnixMilli(bound)) + time.Second)
		if id, worker := next(t, gen); worker != 1 || layout().Time(id).UnixMilli() < bound {
			t.Errorf("worker %d at %v, want 1 above %d", worker, layout().Time(id), bound)
		}
	})
}

// Five processes share four workers. The fifth takes a worker when it starts, as
// WithMaxAhead allows. The process that loses this worker then waits, and takes no worker
// from a live holder. Otherwise processes would take workers from each other all the time.
func TestNobodyIsRobbed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		opts := []lease.Option{lease.WithMaxAhead(time.Hour), lease.WithWindow(time.Second)}
		var leases []*lease.Lease
		for range 5 {
			l := acquire(t, store, opts...)
			generate(t, l)
			leases = append(leases, l)
		}
		time.Sleep(10 * time.Minute)
		var losses, failing uint64
		for _, l := range leases {
			losses += l.Stats().Losses
			if l.Stats().Failure != nil {
				failing++
			}
		}
		if losses != 1 || failing != 1 {
			t.Errorf("%d losses and %d without a worker, want 1 of each: the fifth has stepped in for one", losses, failing)
		}
	})
}

// A process loses its worker. All other workers have holders, with bounds half an hour ahead,
// and their records do not change. For two windows the process must not take any of these
// workers, because the holders may be alive. After that the holders seem dead, and the process
// takes the worker with the lowest bound, as WithMaxAhead allows.
func TestStandInForTheSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		holdAll(store, now()+1_800_000)
		store.Put(2, lease.Record{})
		l := acquire(t, store, lease.WithMaxAhead(time.Hour), lease.WithWindow(time.Second))
		gen := generate(t, l)
		next(t, gen)
		store.Put(2, lease.Record{Bound: now() + 1_900_000, Owner: "robber"})
		time.Sleep(2 * time.Second)
		if _, err := gen.Next(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("before they have been silent: %v, want ErrLost", err)
		}
		time.Sleep(3 * time.Second)
		if _, worker := next(t, gen); worker != 0 {
			t.Errorf("worker %d, want 0, of the lowest bound", worker)
		}
	})
}

// A process ends, by Close or by a kill, and restarts on its only worker with its clock set
// back by an hour, so that the bound is ahead of the clock. Acquire must fail, with an error
// that contains the time to wait. With WithMaxAhead, Acquire must succeed, and the process
// must issue at once, from the bound on.
func TestRestartWithTheClockSetBack(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := leasetest.NewMemory()
			only := []lease.Option{lease.WithWorkers(0, 0), lease.WithDatacenter(0)}
			gen := generate(t, acquire(t, store, only...))
			last, _ := next(t, gen)
			if !killed {
				if err := gen.Close(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			bound := store.Records()[0].Bound

			clock := new(skew)
			clock.set(-time.Hour)
			only = append(only, lease.WithClock(clock.now), lease.WithLogger(discard()))
			_, err := lease.Acquire(t.Context(), store, layout(), only...)
			var none *lease.NoFreeWorkerError
			if !errors.As(err, &none) || none.Wait < time.Hour-time.Second || none.Wait > time.Hour+time.Minute {
				t.Errorf("killed=%v: error = %v, want how long to wait", killed, err)
			}
			start := time.Now()
			again := generate(t, acquire(t, store, append(only, lease.WithMaxAhead(2*time.Hour))...))
			id, _ := next(t, again)
			if id <= last || layout().Time(id).UnixMilli() < bound {
				t.Errorf("killed=%v: %d after %d, bound %d", killed, id, last, bound)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("killed=%v: first ID after %v, want it at once", killed, took)
			}
		})
	}
}

// fastTaker acquires the worker for a process whose clock is an hour ahead. On this clock the
// bound of the present holder has passed, so that the worker looks free.
func fastTaker(t *testing.T, store lease.Store, worker int64) *lease.Lease {
	t.Helper()
	clock := new(skew)
	clock.set(time.Hour)
	return acquire(t, store, lease.WithWorker(worker), lease.WithClock(clock.now))
}

// A store has forgotten acknowledged writes of a lease, for example by a failover to a
// lagging replica, and other processes may have taken the worker since. In the first case,
// the store has forgotten nothing, and another process has taken the worker. The lease must
// notice at its next extension, count and log what has happened, and issue nothing more in
// this window. When the lease has the worker again, it must issue only from the bound on that
// was acknowledged before.
func TestStoreForgets(t *testing.T) {
	t.Parallel()
	// A step changes the store. It returns the lease of the process that takes the
	// worker, if any.
	type step = func(*testing.T, *leasetest.Memory, lease.Record) *lease.Lease
	put := func(change func(old lease.Record) lease.Record) step {
		return func(_ *testing.T, store *leasetest.Memory, old lease.Record) *lease.Lease {
			store.Put(0, change(old))
			return nil
		}
	}
	// The argument old is the record before the extension that the store forgets.
	setBack := put(func(old lease.Record) lease.Record { return old })
	absent := put(func(lease.Record) lease.Record { return lease.Record{} })
	free := put(func(old lease.Record) lease.Record { return lease.Record{Bound: old.Bound} })
	// The record before the lease, of a process that died.
	died := lease.Record{Bound: time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC).UnixMilli(), Owner: "host/1/AAAAAAAAAAAAAAAAAAAAAAAAAA/1/0/60000"}
	before := put(func(lease.Record) lease.Record { return died })
	take := func(t *testing.T, store *leasetest.Memory, _ lease.Record) *lease.Lease {
		return fastTaker(t, store, 0)
	}
	takeAndExtend := func(t *testing.T, store *leasetest.Memory, _ lease.Record) *lease.Lease {
		taker := acquire(t, store, lease.WithWorker(0), lease.WithMaxAhead(time.Hour), lease.WithWindow(3*time.Second))
		time.Sleep(2 * time.Second)
		return taker
	}
	takeAndRelease := func(t *testing.T, store *leasetest.Memory, _ lease.Record) *lease.Lease {
		gen := generate(t, fastTaker(t, store, 0))
		next(t, gen)
		if err := gen.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	tests := []struct {
		name                string // what the store forgets, and what happens then
		steps               []step
		settle              time.Duration
		back                time.Duration // how far the clock is set back
		losses, regressions uint64
		twice               int // how often the log says that IDs may have been issued twice
	}{
		// name, steps, settle, back, losses, regressions, twice
		{"nothing, but another has taken the worker", []step{take}, 0, 0, 1, 0, 0},
		{"our last bound", []step{setBack}, 0, 0, 0, 1, 0},
		{"our last bound, and the clock is set back", []step{setBack}, 0, time.Hour, 0, 1, 0},
		{"our last bound, on a store that can", []step{setBack}, time.Minute, 0, 0, 1, 0},
		{"and another has taken the worker", []step{setBack, take}, 0, 0, 1, 1, 1},
		{"and another has taken it, and the clock is set back", []step{setBack, take}, 0, time.Hour, 1, 1, 1},
		{"and another has taken and extended it", []step{setBack, takeAndExtend}, 0, 0, 1, 1, 1},
		{"and another has taken and released it", []step{setBack, takeAndRelease}, 0, 0, 1, 1, 1},
		{"and somebody has freed it", []step{setBack, free}, 0, 0, 1, 1, 1},
		{"all of it", []step{absent}, 0, 0, 1, 1, 0},
		{"all of it, and shows the previous holder", []step{before}, 0, 0, 1, 1, 0},
		{"all of it, and another has taken the worker", []step{absent, take}, 0, 0, 1, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, log := leasetest.NewMemory(), new(journal)
				store.Put(0, died)
				clock := new(skew)
				l := acquire(t, store, lease.WithWorker(0), lease.WithSettle(test.settle), lease.WithLogger(log.logger()), lease.WithClock(clock.now))
				gen := generate(t, l)
				old := store.Records()[0]
				time.Sleep(25 * time.Second)
				acknowledged := l.Stats().Until
				last, _ := next(t, gen)
				clock.set(-test.back)
				var takers []*lease.Lease
				for _, step := range test.steps {
					if taker := step(t, store, old); taker != nil {
						takers = append(takers, taker)
					}
				}
				for range 2000 { // a scripted clock needs small steps
					if l.Stats().Losses+l.Stats().Regressions > 0 {
						break
					}
					_, _ = gen.TryNext()
					time.Sleep(10 * time.Millisecond)
				}
				synctest.Wait()
				if got := l.Stats(); got.Losses != test.losses || got.Regressions != test.regressions {
					t.Errorf("stats %+v, want %d losses and %d regressions", got, test.losses, test.regressions)
				}
				if uint64(log.count("has forgotten")) != test.regressions || log.count("issued twice") != test.twice {
					t.Errorf("log:\n%s", log)
				}
				if id, err := gen.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
					t.Errorf("%d, %v after the loss was known, want ErrFenced", id, err)
				}
				clock.set(0)
				for _, taker := range takers {
					if err := taker.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(2 * time.Hour)
				if id, _ := next(t, gen); id <= last || layout().Time(id).Before(acknowledged) {
					t.Errorf("%v after the loss, want %v or later", layout().Time(id), acknowledged)
				}
			})
		})
	}
}

// The store forgets an extension and shows the record before it. The lease must raise this
// bound again, even if the request or the answer of its first attempt is lost. Otherwise the
// next holder would begin below ticks that this lease has issued.
func TestForgottenBoundIsRestored(t *testing.T) {
	t.Parallel()
	for _, fault := range []leasetest.Fault{leasetest.None, leasetest.LoseRequest, leasetest.LoseReply} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := leasetest.NewMemory()
				l := acquire(t, store)
				gen := generate(t, l)
				_, worker := next(t, gen)
				old := store.Records()[worker]
				time.Sleep(25 * time.Second)
				acknowledged := l.Stats().Until
				store.Put(worker, old)
				store.Fail(leasetest.None, fault) // the extension, and the write that restores the bound
				time.Sleep(time.Minute)
				if s := l.Stats(); s.Losses != 0 || s.Regressions != 1 {
					t.Errorf("stats %+v, want one regression", s)
				}
				if r := store.Records()[worker]; r.Bound < acknowledged.UnixMilli() {
					t.Errorf("record = %+v, want a bound of %v or later", r, acknowledged)
				}
				if id, again := next(t, gen); again == worker && layout().Time(id).Before(acknowledged) {
					t.Errorf("%v under the worker that the store forgot, want %v or later", layout().Time(id), acknowledged)
				}
			})
		})
	}
}

// The lease has lost its worker and has acquired another. Then the store hangs. The generator
// must get a grant of the second worker without a call of the store.
func TestReplacedWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store))
		_, worker := next(t, gen)
		bound := store.Records()[worker].Bound
		rob(store, worker)
		time.Sleep(21 * time.Second) // until the background loop has noticed
		store.OnCall(func(leasetest.Call) leasetest.Fault { return leasetest.Hold })
		time.Sleep(time.Until(time.UnixMilli(bound)))
		start := time.Now()
		if _, again := next(t, gen); again == worker {
			t.Error("still under the lost worker")
		}
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("the other worker came after %v", took)
		}
	})
}

// The store shows an older record, and the lease revokes its window. Health must then return
// an error. It must do so even if the clock is set back to a time before the end of the
// window, when the window would look open.
func TestHealthOfARevokedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		clock := new(skew)
		l := acquire(t, store, lease.WithWorker(0), lease.WithSettle(time.Minute), lease.WithClock(clock.now))
		gen := generate(t, l)
		next(t, gen)
		old := store.Records()[0]
		store.Put(0, lease.Record{Bound: old.Bound - 20_000, Owner: old.Owner})
		time.Sleep(25 * time.Second)
		_, err := gen.Next(t.Context())
		if !errors.Is(err, snowflake.ErrFenced) || !strings.Contains(err.Error(), "refused for 25") {
			t.Errorf("error = %v, want ErrFenced since the last ID", err)
		}
		if err := l.Health(); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("health = %v, want ErrFenced", err)
		}
		if until := l.Stats().Until; until.After(time.Now()) {
			t.Errorf("until %v, which is revoked", until)
		}
		clock.set(-time.Hour)
		if err := l.Health(); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("health with the clock set back = %v, want ErrFenced", err)
		}
		if _, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("with the clock set back: %v, want ErrFenced", err)
		}
	})
}

// In logical time a generator can use up the window although the clock has not reached the end
// of the window. If the store is down then, Health must return an error, like the generator.
func TestHealthInLogicalTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, store, lease.WithWindow(200*time.Millisecond), lease.WithLogger(log.logger()))
		gen := generate(t, l, snowflake.WithLogicalTime())
		store.Down()
		err := error(nil)
		for ids := make([]types.ID, 4096); err == nil; {
			err = gen.Fill(t.Context(), ids)
		}
		if health := l.Health(); !errors.Is(err, snowflake.ErrFenced) || !errors.Is(health, snowflake.ErrFenced) {
			t.Errorf("Fill: %v, health: %v, want ErrFenced", err, health)
		}
		time.Sleep(100 * time.Millisecond) // until after the next attempt
		if log.count("fenced, the window has ended") != 1 {
			t.Errorf("log:\n%s", log)
		}
		store.Up()
	})
}

// With WithSettle, which is for stores that forget writes, a lease waits a minute on a new
// worker before it issues IDs. Another process takes the worker. A call for an ID finds the
// loss, because the window is used up. The call must fail at once. It must not wait for the
// minute in which the new worker settles.
func TestLossOnAStoreThatForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWindow(100*time.Millisecond), lease.WithSettle(time.Minute))
		gen := generate(t, l, snowflake.WithLogicalTime())
		_, worker := next(t, gen)
		rob(store, worker)
		start := time.Now()
		if err := drain(t.Context(), gen); !errors.Is(err, snowflake.ErrFenced) || !errors.Is(err, lease.ErrLost) {
			t.Errorf("error = %v, want ErrFenced and ErrLost", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("refused after %v", took)
		}
		time.Sleep(62 * time.Second)
		if _, again := next(t, gen); again == worker {
			t.Error("still under the lost worker")
		}
	})
}

// The background loop has found that the worker is lost, and lets the new worker settle for
// ten minutes. A call in this time fails at once instead of waiting.
func TestNobodyWaitsForSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		gen := generate(t, acquire(t, store, lease.WithSettle(10*time.Minute)))
		_, worker := next(t, gen)
		rob(store, worker)
		time.Sleep(9 * time.Minute)
		start := time.Now()
		if _, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) || !errors.Is(err, lease.ErrLost) {
			t.Errorf("error = %v, want ErrFenced and ErrLost", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("refused after %v", took)
		}
		time.Sleep(2 * time.Minute)
		if _, again := next(t, gen); again == worker {
			t.Error("still under the lost worker")
		}
	})
}

// Eight goroutines issue IDs while the generator is closed. In half of the runs, another
// process has taken the worker before. No ID may be in a tick at or above the bound at which
// its worker was released, or in a tick of the other process's window. No ID may occur twice.
func TestNothingAfterTheRelease(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for range 20 {
			store := leasetest.NewMemory()
			gen := generate(t, acquire(t, store, lease.WithWindow(90*time.Millisecond)))
			_, first := next(t, gen)
			busy := issue(gen, 8)
			time.Sleep(15 * time.Millisecond)
			if lost {
				robBusy(t, store, first)
				time.Sleep(60 * time.Millisecond)
			}
			if err := gen.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			ids := busy()
			records := store.Records()
			for _, id := range ids {
				worker := key(layout(), id)
				r := records[worker]
				if tick := layout().Time(id).UnixMilli(); isReleased(r) && tick >= r.Bound {
					t.Fatalf("lost=%v: tick %d of worker %d was released at %d", lost, tick, worker, r.Bound)
				}
				// The robber's window begins a minute before its bound.
				if tick := layout().Time(id).UnixMilli(); r.Owner == "robber" && tick >= r.Bound-60_000 {
					t.Fatalf("tick %d of worker %d is the robber's from %d", tick, worker, r.Bound-60_000)
				}
			}
			slices.Sort(ids)
			if n := len(ids); len(slices.Compact(ids)) != n {
				t.Fatal("duplicates")
			}
		}
	}
}

// issue starts n goroutines that issue IDs until the generator is closed. The returned
// function waits for the goroutines and returns all IDs.
func issue(gen *snowflake.Generator, n int) func() []types.ID {
	all := make([][]types.ID, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for {
				id, err := gen.Next(context.Background())
				if errors.Is(err, snowflake.ErrClosed) {
					return
				}
				if err == nil {
					all[i] = append(all[i], id)
				}
			}
		})
	}
	return func() []types.ID {
		wg.Wait()
		return slices.Concat(all...)
	}
}

// A lease that has lost its worker takes a worker from another holder only if that holder
// seems dead, because its record has not changed for two windows. A holder with a longer
// window writes less often, so the two windows must be windows of that holder. Here a lease
// with a window of a second loses the only worker to a lease with a window of a minute. The
// first lease must not take the worker back.
func TestHolderWithALongerWindowIsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		one := lease.WithWorkers(0, 0)
		zero := lease.WithDatacenter(0)
		short := acquire(t, store, one, zero, lease.WithWindow(time.Second), lease.WithMaxAhead(time.Hour))
		generate(t, short)
		long := acquire(t, store, one, zero, lease.WithMaxAhead(time.Minute)) // takes the worker
		generate(t, long)
		time.Sleep(10 * time.Minute)
		if s := long.Stats(); s.Losses != 0 {
			t.Errorf("stats %+v, want no loss", s)
		}
	})
}

// A lease without a generator is suspended with its machine, and loses its worker. During the
// suspension the monotonic clock stands still, so it shows too early a time. When a generator
// asks for a grant, the lease must choose another worker by the wall clock.
func TestLossWhileSuspendedWithoutGenerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, clock := leasetest.NewMemory(), new(skew)
		l := acquire(t, store, lease.WithWorker(0), lease.WithClock(clock.now))
		clock.set(time.Hour) // while the monotonic clock stands still
		store.Put(0, lease.Record{Bound: now() + 1_800_000, Owner: "robber"})
		gen := generate(t, l)
		if id, _ := next(t, gen); layout().Time(id).Before(time.Now().Add(time.Hour - time.Second)) {
			t.Errorf("%v, want the present time", layout().Time(id))
		}
	})
}
