package lease_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// Acquire chooses among the workers that its options allow. It prefers a worker that was
// never used, and then the free worker with the lowest bound. If no worker is free,
// WithMaxAhead lets it take a worker whose bound is ahead of the clock, a released worker
// first. In all cases the tick of the first ID must be at or above the bound of the chosen
// worker, because other processes may have issued IDs below this bound.
func TestAcquireChooses(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	// all returns records of held workers, from key 0 on, with bounds in ms from now.
	all := func(bounds ...int64) map[int]lease.Record {
		records := map[int]lease.Record{}
		for worker, bound := range bounds {
			records[worker] = lease.Record{Bound: now() + bound, Owner: "other"}
		}
		return records
	}
	oneReleased := all(hour, 2*hour, hour, hour)
	oneReleased[1] = lease.Record{Bound: oneReleased[1].Bound} // without a holder
	tests := []struct {
		name    string
		records map[int]lease.Record
		opts    []lease.Option
		want    int // the worker's key, datacenter<<1 | worker
	}{
		{"the one never used", all(-hour, -2*hour, -hour), nil, 3},
		{"the lowest bound", all(-hour, -2*hour, -hour, -hour), nil, 1},
		{"the only one free", all(hour, hour, -1, hour), nil, 2},
		{"of the datacenter", all(-hour, -2*hour, -hour, -hour-1), []lease.Option{lease.WithDatacenter(1)}, 3},
		{"of the range", all(-2*hour, -hour, -2*hour, -hour-1), []lease.Option{lease.WithWorkers(1, 1)}, 3},
		{"this very one", all(-2*hour, -hour, -2*hour, -hour), []lease.Option{lease.WithWorker(1)}, 1},
		{"this very one of a datacenter", all(-hour, -hour), []lease.Option{lease.WithWorker(1), lease.WithDatacenter(1)}, 3},
		{"the lowest ahead", all(hour, hour, hour-1, hour), []lease.Option{lease.WithMaxAhead(time.Hour)}, 2},
		{"one released, though further ahead", oneReleased, []lease.Option{lease.WithMaxAhead(2 * time.Hour)}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := leasetest.NewMemory()
			for worker, r := range test.records {
				store.Put(worker, r)
			}
			gen := generate(t, acquire(t, store, test.opts...))
			id, got := next(t, gen)
			if got != test.want {
				t.Errorf("worker %d, want %d", got, test.want)
			}
			if tick := gen.Layout().Time(id).UnixMilli(); tick < test.records[got].Bound {
				t.Errorf("first tick %d is below the bound %d found in the store", tick, test.records[got].Bound)
			}
		})
	}
}

// The lowest of the bounds, of datacenter 0 worker 0, equals the clock, or is ahead of the
// clock by exactly the time of WithMaxAhead. Acquire must take this worker in both cases.
func TestAcquireAtTheVeryBound(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]lease.Option{"now": nil, "ahead": {lease.WithMaxAhead(time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, bound := leasetest.NewMemory(), now()
				if opts != nil {
					bound += time.Hour.Milliseconds()
				}
				holdAll(store, bound)
				if l := acquire(t, store, opts...); l.Stats().Datacenter != 0 || l.Stats().Worker != 0 {
					t.Errorf("took %+v, want datacenter 0 worker 0", l.Stats())
				}
			})
		})
	}
}

// A call of the store has at least half a second for its answer, even if the window is
// shorter. Here the window is 10 ms, each call takes 400 ms, and Acquire must succeed.
func TestAcquireFromASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		store.OnCall(func(leasetest.Call) leasetest.Fault {
			time.AfterFunc(400*time.Millisecond, func() { store.Deliver() })
			return leasetest.Hold
		})
		acquire(t, store, lease.WithWindow(10*time.Millisecond))
		store.OnCall(nil)
	})
}

// If all workers are held, the error names the holders and the time until the first bound
// passes.
func TestNoFreeWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		bound  int64 // of worker 0, in ms from now
		opts   []lease.Option
		phrase string
	}{
		{"all", 40_000, nil, "all 4 leased; the earliest lease expires in "},
		{"names", 40_000, nil, "datacenter 1 worker 0 by other/2 until "},
		{"this very one", 40_000, []lease.Option{lease.WithWorker(1)}, "all 1 leased"},
		{"further ahead than allowed", 40_000, []lease.Option{lease.WithMaxAhead(30 * time.Second)}, "all 4 leased"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := leasetest.NewMemory()
				holdAll(store, now()+test.bound)
				_, err := lease.Acquire(t.Context(), store, layout(), test.opts...)
				var none *lease.NoFreeWorkerError
				if !errors.Is(err, lease.ErrNoFreeWorker) || !errors.As(err, &none) {
					t.Fatalf("error = %v, want ErrNoFreeWorker", err)
				}
				if !strings.Contains(err.Error(), test.phrase) {
					t.Errorf("error = %q, want it to say %q", err, test.phrase)
				}
				if none.Wait < 39*time.Second || none.Wait > 41*time.Second {
					t.Errorf("wait = %v, want about 40s", none.Wait)
				}
			})
		})
	}
}

// A process whose clock was centuries ahead has released the worker, with a bound 400 years
// ahead. That is longer than a time.Duration, so Wait must be the longest Duration. An
// overflow would make Wait negative, and Acquire would try again without an end.
func TestNoFreeWorkerForAges(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	store.Put(0, lease.Record{Bound: time.Now().AddDate(400, 0, 0).UnixMilli()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := lease.Acquire(ctx, store, layout(), lease.WithWorker(0))
	var none *lease.NoFreeWorkerError
	if !errors.As(err, &none) || none.Wait < 290*365*24*time.Hour {
		t.Errorf("error = %v, want ErrNoFreeWorker with the longest wait there is", err)
	}
}

// If a thousand workers are held, the error names four holders and counts the rest, so that
// the text stays short.
func TestNoFreeWorkerNamesAFew(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	for worker := range 1024 {
		store.Put(worker, lease.Record{Bound: now() + 60_000, Owner: fmt.Sprintf("host-%d", worker)})
	}
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout())
	if err == nil || !strings.Contains(err.Error(), "and 1020 more") || len(err.Error()) > 1000 {
		t.Errorf("error = %v", err)
	}
}

// A restarted process finds its worker released with a bound 300 ms ahead of the clock, and
// all other workers held. Acquire must wait until the bound has passed, and then take the
// worker. It must not fail.
func TestAcquireWaitsForOneReleasedAMomentAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		holdAll(store, now()+40_000)
		store.Put(2, lease.Record{Bound: now() + 300})
		start := time.Now()
		l := acquire(t, store)
		if waited := time.Since(start); l.Stats().Worker != 0 || l.Stats().Datacenter != 1 || waited != 300*time.Millisecond {
			t.Errorf("took %+v after %v, want datacenter 1 worker 0 after 300ms", l.Stats(), waited)
		}
	})
}

// Acquire fails if the records in the store belong to another layout, because the same bound
// means another tick under another layout. It must then leave the store unchanged. It accepts
// the same layout in another form, for example with the epoch in another time zone.
func TestLayoutIsCompared(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	acquire(t, store)
	// This text must not change, because processes of other versions compare it.
	const signature = "epoch=1990-01-01T00:00:00Z tick=1ms datacenter=1 worker=1 sequence=12 total=63"
	if r := store.Records()[-1]; r.Owner != signature {
		t.Errorf("record -1 = %+v, want %q", r, signature)
	}
	same := layout()
	same.TotalBits, same.Epoch = 63, same.Epoch.In(time.FixedZone("", 3600))
	if _, err := lease.Acquire(t.Context(), store, same, lease.WithLogger(discard())); err != nil {
		t.Errorf("the same layout in another form: %v", err)
	}
	for name, change := range map[string]func(*snowflake.Layout){
		"epoch":    func(l *snowflake.Layout) { l.Epoch = l.Epoch.Add(time.Hour) },
		"tick":     func(l *snowflake.Layout) { l.Tick = 10 * time.Millisecond },
		"workers":  func(l *snowflake.Layout) { l.WorkerBits++ },
		"sequence": func(l *snowflake.Layout) { l.SequenceBits++ },
		"total":    func(l *snowflake.Layout) { l.TotalBits = 53 },
	} {
		other := layout()
		change(&other)
		before := store.Records()
		_, err := lease.Acquire(t.Context(), store, other)
		if err == nil || !strings.Contains(err.Error(), signature) {
			t.Errorf("%s: error = %v, want one that names %q", name, err, signature)
		}
		if !maps.Equal(store.Records(), before) {
			t.Errorf("%s: a refused layout has changed the store", name)
		}
	}
}

// Another process writes its layout just before Acquire writes its own. Acquire must compare
// its layout with the layout of the other process, and fail.
func TestLayoutIsWrittenOnce(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	store.OnCall(func(c leasetest.Call) leasetest.Fault {
		if c.Swap && c.Worker == -1 {
			store.Put(-1, lease.Record{Owner: "another layout"})
		}
		return leasetest.None
	})
	if _, err := lease.Acquire(t.Context(), store, layout()); err == nil || !strings.Contains(err.Error(), "another layout") {
		t.Errorf("error = %v, want the other layout named", err)
	}
}

// Acquire and CheckOptions return the same error for a wrong option, before any call of the
// store.
func TestOptionErrors(t *testing.T) {
	t.Parallel()
	slow := layout()
	slow.Tick = 10 * time.Millisecond
	tests := []struct {
		name   string
		layout snowflake.Layout
		opt    lease.Option
		want   string
	}{
		{"nil", layout(), nil, "option 1 is nil"},
		{"window too short", layout(), lease.WithWindow(9 * time.Millisecond), "WithWindow(9ms) out of range [10ms, 24h0m0s]"},
		{"window too long", layout(), lease.WithWindow(25 * time.Hour), "out of range"},
		{"window below three ticks", slow, lease.WithWindow(20 * time.Millisecond), "want at least three ticks of 10ms"},
		{"settle", layout(), lease.WithSettle(-1), "WithSettle(-1ns) out of range [0s, 48h0m0s]"},
		{"settle for ages", layout(), lease.WithSettle(math.MaxInt64), "WithSettle(2562047h47m16.854775807s) out of range [0s, 48h0m0s]"},
		{"ahead", layout(), lease.WithMaxAhead(-1), "WithMaxAhead(-1ns): want at least 0"},
		{"skew", layout(), lease.WithMaxSkew(0), "WithMaxSkew(0s): want more than 0"},
		{"clock", layout(), lease.WithClock(nil), "WithClock(nil)"},
		{"datacenter", layout(), lease.WithDatacenter(2), "datacenter 2 out of range [0, 1]"},
		{"worker", layout(), lease.WithWorker(-1), "worker -1 out of range [0, 1]"},
		{"workers", layout(), lease.WithWorkers(0, 2), "worker 2 out of range [0, 1]"},
		{"workers in reverse", layout(), lease.WithWorkers(1, 0), "want the smaller number first"},
		{"logger", layout(), lease.WithLogger(nil), "WithLogger(nil)"},
		{"layout", snowflake.Layout{}, lease.WithWorker(0), "tick"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := leasetest.NewMemory()
			_, err := lease.Acquire(t.Context(), store, test.layout, test.opt)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
			if checked := lease.CheckOptions(test.layout, test.opt); checked == nil || err == nil || checked.Error() != err.Error() {
				t.Errorf("CheckOptions = %v, want the error of Acquire: %v", checked, err)
			}
			if calls := store.Calls(); calls != (leasetest.Calls{}) {
				t.Errorf("the store was called: %+v", calls)
			}
		})
	}
	_, err := lease.Acquire(t.Context(), leasetest.NewMemory(), layout(), lease.WithWorker(0), lease.WithWorkers(0, 1))
	if err == nil || !strings.Contains(err.Error(), "WithWorker together with WithWorkers") {
		t.Errorf("error = %v", err)
	}
	if err := lease.CheckOptions(layout(), lease.WithWorker(1)); err != nil {
		t.Errorf("CheckOptions = %v, want nil: the options are right", err)
	}
}

// Acquire writes the record of the worker that it claims. The request of this write is lost,
// or its answer, or first the request and then the answer of the second try. Acquire must
// write again and get the worker. The owner in a record also contains the bound that the
// claim has replaced. This must be the bound of the previous holder. It must not be the bound
// of Acquire's own first try, which the second try has replaced.
func TestAcquireUnknownOutcome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		faults []leasetest.Fault
		swaps  int // writes of the worker's record
	}{
		{"request lost", []leasetest.Fault{leasetest.LoseRequest}, 2},
		{"reply lost", []leasetest.Fault{leasetest.LoseReply}, 2},
		{"both", []leasetest.Fault{leasetest.LoseRequest, leasetest.LoseReply}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := leasetest.NewMemory()
			acquire(t, store) // writes the layout
			old := now() - 3_600_000
			holdAll(store, old)
			before := store.Calls().Swaps
			store.Fail(test.faults...)
			l := acquire(t, store)
			if swaps := store.Calls().Swaps - before; swaps != test.swaps {
				t.Errorf("%d writes, want %d", swaps, test.swaps)
			}
			s := l.Stats()
			r := store.Records()[int(s.Datacenter<<1|s.Worker)]
			if holder(r) != s.Owner || r.Bound != s.Until.UnixMilli() {
				t.Errorf("record = %+v, want the one of %+v", r, s)
			}
			// The fifth part of an owner is the bound that the claim has replaced.
			if replaced := strings.Split(r.Owner, "/")[4]; replaced != strconv.FormatInt(old, 10) {
				t.Errorf("owner %q says that %s was replaced, want %d, which others have written", r.Owner, replaced, old)
			}
		})
	}
}

// The first process writes the layout. If the answer to this write is lost, the process finds
// its layout in the store and continues. If the request is lost, the store has no layout, and
// Acquire fails.
func TestLayoutUnknownOutcome(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	store.Fail(leasetest.LoseReply)
	acquire(t, store)
	lost := leasetest.NewMemory()
	lost.Fail(leasetest.LoseRequest)
	if _, err := lease.Acquire(t.Context(), lost, layout()); !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("error = %v, want the store's", err)
	}
}

// Acquire returns the store's error if the store is down, or answers no write.
func TestAcquireGivesUp(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	store.Down()
	if _, err := lease.Acquire(t.Context(), store, layout()); !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("store down: error = %v, want the store's", err)
	}
	store.Up()
	acquire(t, store) // writes the layout
	store.OnCall(func(c leasetest.Call) leasetest.Fault {
		if c.Swap && c.New.Owner != "" {
			return leasetest.LoseRequest
		}
		return leasetest.None
	})
	if _, err := lease.Acquire(t.Context(), store, layout()); !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("no write answered: error = %v, want the store's", err)
	}
}

// If a store refuses every write, Acquire pauses between its attempts, until its context ends
// after ten seconds. Without the pauses it would read the records many thousand times, instead
// of fewer than 1,000 times.
func TestAcquireStandsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := refusingStore{leasetest.NewMemory()}
		holdAll(store.Memory, now()-3_600_000)
		store.OnCall(func(leasetest.Call) leasetest.Fault {
			if store.Calls().Loads > 1000 { // too many attempts: Acquire then fails with another error
				return leasetest.LoseRequest
			}
			return leasetest.None
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := lease.Acquire(ctx, store, layout())
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline after fewer than 1000 tries", err)
		}
	})
}

// Acquire waits for the time of WithSettle, here three seconds, and then extends its window
// once.
func TestSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		start := time.Now()
		l := acquire(t, store, lease.WithWindow(time.Second), lease.WithSettle(3*time.Second))
		if waited := time.Since(start); waited < 3*time.Second || waited > 3*time.Second+2*time.Millisecond {
			t.Errorf("issued after %v, want 3s and what bounds are rounded up by", waited)
		}
		if n := l.Stats().Extensions; n != 1 {
			t.Errorf("%d extensions, want the one after settling", n)
		}
	})
}

// The store is a [lease.Settler], and reports that it may forget acknowledged writes. If
// WithSettle is shorter than the window, Acquire must return the store's reason and write
// nothing. If WithSettle is a full window, Acquire must succeed.
func TestSettler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := forgetfulStore{leasetest.NewMemory()}
		for _, settle := range []time.Duration{0, time.Minute - 1} {
			_, err := lease.Acquire(t.Context(), store, layout(), lease.WithSettle(settle), lease.WithLogger(discard()))
			if want := "lease: acquiring a worker: never tried"; err == nil || err.Error() != want {
				t.Errorf("settling for %v: %v, want %s", settle, err, want)
			}
		}
		if records, err := store.Load(t.Context()); err != nil || len(records) != 0 {
			t.Errorf("the records are %v, %v, want none", records, err)
		}
		next(t, generate(t, acquire(t, store, lease.WithSettle(time.Minute))))
	})
}

// forgetfulStore is a reliable store that returns an error of [lease.Settler], as if it might
// forget writes. Acquire must then refuse a lease that does not settle for a window.
type forgetfulStore struct{ lease.Store }

func (forgetfulStore) Unsettled() error { return errors.New("never tried") }

// WithSettle protects little if it is shorter than the window, so that is logged as a
// warning.
func TestSettleShorterThanTheWindow(t *testing.T) {
	t.Parallel()
	for settle, want := range map[time.Duration]int{20 * time.Millisecond: 0, 19 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			log := new(journal)
			acquire(t, leasetest.NewMemory(), lease.WithWindow(20*time.Millisecond), lease.WithSettle(settle), lease.WithLogger(log.logger()))
			if got := log.count("shorter than the window"); got != want {
				t.Errorf("settle %v is warned of %d times, want %d", settle, got, want)
			}
		})
	}
}

// While a worker settles for a minute, the store is set to lose the request of the next
// write, and the answer of the write after it. These are the writes at the end of the minute.
// Acquire must repeat the write, without settling for another minute.
func TestSettleTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		start := time.Now()
		time.AfterFunc(30*time.Second, func() { store.Fail(leasetest.LoseRequest, leasetest.LoseReply) })
		l := acquire(t, store, lease.WithSettle(time.Minute))
		if took := time.Since(start); took > 62*time.Second || l.Stats().Losses > 0 {
			t.Errorf("settled after %v, %+v", took, l.Stats())
		}
	})
}

// A process has a window of one second, and settles for ten seconds. After nine
// seconds, another process must not get the worker, although the first process has issued no
// ID under it yet.
func TestSettlingWorkerIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		only := []lease.Option{lease.WithWorker(0), lease.WithLogger(discard()), lease.WithWindow(time.Second)}
		settled := make(chan *lease.Lease)
		go func() {
			l, err := lease.Acquire(t.Context(), store, layout(), append(only, lease.WithSettle(10*time.Second))...)
			if err != nil {
				t.Error(err)
			}
			settled <- l
		}()
		time.Sleep(9 * time.Second)
		if _, err := lease.Acquire(t.Context(), store, layout(), only...); !errors.Is(err, lease.ErrNoFreeWorker) {
			t.Errorf("error = %v, want ErrNoFreeWorker", err)
		}
		if l := <-settled; l != nil {
			l.Release(t.Context())
		}
	})
}

// While the lease settles, another process whose clock is fast takes the worker. The lease
// must count the loss, and take another worker.
func TestSettlingWorkerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		holdAll(store, now()+3_600_000)
		store.Put(1, lease.Record{})         // never used, and so chosen first
		store.Put(2, lease.Record{Bound: 1}) // free, and so chosen next
		time.AfterFunc(5*time.Second, func() { rob(store, 1) })
		l := acquire(t, store, lease.WithSettle(10*time.Second))
		if s := l.Stats(); s.Datacenter != 1 || s.Worker != 0 || s.Losses != 1 {
			t.Errorf("stats %+v, want datacenter 1 worker 0 and a loss", s)
		}
	})
}

// All workers are free, and worker 0 has the lowest bound. Another process takes worker 0
// just before Acquire writes its record. Acquire must then choose one of the other workers at
// random. Otherwise many processes that start together would choose the same worker again and
// again. A hundred runs must therefore end on at least fifty workers.
func TestCollidedChooseAtRandom(t *testing.T) {
	t.Parallel()
	const workers = 32 // of a datacenter
	chosen := map[int64]bool{}
	for range 100 {
		store := leasetest.NewMemory()
		for worker := range 1024 {
			store.Put(worker, lease.Record{Bound: int64(1 + worker)})
		}
		store.OnCall(func(c leasetest.Call) leasetest.Fault {
			if c.Swap && c.Worker == 0 { // worker 0 has the lowest bound, so the claim chooses it first
				store.Put(0, lease.Record{Bound: now() + 60_000, Owner: "faster"})
			}
			return leasetest.None
		})
		l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithLogger(discard()))
		if err != nil {
			t.Fatal(err)
		}
		chosen[l.Stats().Datacenter*workers+l.Stats().Worker] = true
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(chosen) < 50 {
		t.Errorf("a hundred processes that were too late chose %d workers", len(chosen))
	}
}

// If the context ends while the worker settles, Acquire releases the worker.
func TestSettleGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := lease.Acquire(ctx, store, layout(), lease.WithSettle(time.Minute), lease.WithWorker(0), lease.WithLogger(discard()))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
		if r := store.Records()[0]; !isReleased(r) {
			t.Errorf("the worker stays taken: %+v", r)
		}
	})
}
