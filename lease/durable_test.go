package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// unacknowledged lets writes of worker 0 and of the layout land and loses every answer, as a server
// does whose log does not reach the disk, or the standby.
func unacknowledged(c leasetest.Call) leasetest.Fault {
	if c.Swap && c.Worker <= 0 {
		return leasetest.LoseReply
	}
	return leasetest.None
}

// What the store shows and has not acknowledged does not move the end of the
// window, however often it is read; and a crash takes it back.
func TestExtensionThatIsOnlyVisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(0))
		gen := generate(t, l)
		next(t, gen)
		acknowledged := l.Stats().Until
		store.OnCall(unacknowledged)
		for range 10 {
			time.Sleep(5 * time.Second)
			if until := l.Stats().Until; !until.Equal(acknowledged) {
				t.Fatalf("until %v, want %v, which was acknowledged", until, acknowledged)
			}
		}
		if r := store.Records()[0]; r.Bound <= acknowledged.UnixMilli() {
			t.Fatalf("record = %+v, want a visible bound above %v", r, acknowledged)
		}
		time.Sleep(10 * time.Second)
		if id, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("%d, %v past the acknowledged bound, want ErrFenced", id, err)
		}
		if store.Crash() == 0 {
			t.Error("nothing has vanished")
		}
		store.OnCall(nil)
		time.Sleep(time.Second)
		next(t, gen)
		if s := l.Stats(); s.Losses+s.Regressions > 0 {
			t.Errorf("stats %+v, want neither a loss nor a regression: nothing acknowledged was lost", s)
		}
	})
}

// Nor does a claim count because its record can be read.
func TestClaimThatIsOnlyVisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		acquire(t, store, lease.WithWorker(1)) // writes the layout
		store.OnCall(unacknowledged)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := lease.Acquire(ctx, store, layout(), lease.WithWorker(0), lease.WithLogger(discard())); !errors.Is(err, leasetest.ErrFault) {
			t.Errorf("error = %v, want the store's", err)
		}
	})
}

// Retries alone do not raise the bound: as long as the clock stands still, so
// does the bound.
func TestRetriesDoNotRaiseTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		stopped := time.Now()
		l := acquire(t, store, lease.WithWorker(0), lease.WithClock(func() time.Time { return stopped }))
		generate(t, l)
		bound := store.Records()[0].Bound
		store.OnCall(unacknowledged)
		time.Sleep(10 * time.Minute)
		if calls := store.Calls().Swaps; calls < 100 {
			t.Errorf("%d writes: too little happened", calls)
		}
		if r := store.Records()[0]; r.Bound > bound {
			t.Errorf("the bound has crept %d ms ahead", r.Bound-bound)
		}
	})
}

// A layout that was only read vanishes, and another takes its place: who has read
// the first one does not issue under it.
func TestLayoutThatIsOnlyVisible(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprintf("same=%v", same), func(t *testing.T) {
			t.Parallel()
			store := leasetest.NewMemory()
			dead, end := context.WithCancel(t.Context())
			store.OnCall(func(c leasetest.Call) leasetest.Fault {
				if c.Swap {
					end() // the first process dies when it has written the layout
				}
				return unacknowledged(c)
			})
			_, _ = lease.Acquire(dead, store, layout(), lease.WithLogger(discard()))
			other := layout()
			if !same {
				other.Tick = 10 * time.Millisecond
			}
			crashed := false
			store.OnCall(func(c leasetest.Call) leasetest.Fault {
				if c.Swap && c.Worker >= 0 && !crashed {
					crashed = true
					store.Crash()
					l, err := lease.Acquire(t.Context(), store, other, lease.WithWorker(1), lease.WithLogger(discard()))
					if err != nil {
						t.Error(err)
						return leasetest.None
					}
					t.Cleanup(func() { _ = l.Release(context.Background()) })
				}
				return leasetest.None
			})
			l, err := lease.Acquire(t.Context(), store, layout(), lease.WithWorker(0), lease.WithLogger(discard()))
			if !crashed {
				t.Fatal("the store has not crashed: the layout was not written")
			}
			if refused := err != nil; refused == same {
				t.Errorf("error = %v, want one: %v", err, !same)
			}
			if err == nil {
				_ = l.Release(t.Context())
			}
			if r := store.Records()[0]; !released(r) {
				t.Errorf("worker 0 stays held: %+v", r)
			}
		})
	}
}

// A claim has read a bound that a crash then took back. It starts at the higher
// one all the same, and its window reaches beyond.
func TestClaimReachesBeyondABoundThatVanished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		acquire(t, store, lease.WithWorker(1)) // writes the layout
		low := lease.Record{Bound: now() + 10_000, Owner: "other/0"}
		high := lease.Record{Bound: now() + 30_000, Owner: "other/1"}
		store.Put(0, low)
		store.Fail(leasetest.LoseReply)
		if _, err := store.CompareAndSwap(t.Context(), 0, low, high); err == nil {
			t.Fatal("the reply was not lost")
		}
		var crashed bool
		store.OnCall(func(c leasetest.Call) leasetest.Fault {
			if c.Swap && c.Worker == 0 && !crashed {
				crashed = true
				store.Crash()
				return leasetest.LoseRequest
			}
			return leasetest.None
		})
		next(t, generate(t, acquire(t, store, lease.WithWorker(0), lease.WithWindow(time.Second), lease.WithMaxAhead(time.Minute))))
	})
}
