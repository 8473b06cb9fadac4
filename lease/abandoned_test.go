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

// A sluggishStore carries out its calls after a delay. It carries out a write even if the
// caller no longer waits.
type sluggishStore struct {
	*leasetest.Memory
	read, write time.Duration // the delays of Load and CompareAndSwap
}

func (s sluggishStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	select {
	case <-time.After(s.read):
		return s.Memory.Load(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// CompareAndSwap returns when ctx ends, but the write happens after its delay
// nevertheless.
func (s sluggishStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	answer := make(chan bool, 1)
	go func() {
		time.Sleep(s.write)
		swapped, _ := s.Memory.CompareAndSwap(context.WithoutCancel(ctx), worker, old, next)
		answer <- swapped
	}()
	select {
	case swapped := <-answer:
		return swapped, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// A program starts 64 times on a store with 64 workers. Each time, Acquire gives up after
// half a second, and its write of a worker's record reaches the store only later. After the
// last of these writes no worker may be held. If each start held the worker of its late
// write, all 64 workers would be in use, and the next process would find none.
func TestStartsThatGiveUpHoldNoWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		js := snowflake.JSSafeLayout() // 64 workers
		l, err := lease.Acquire(t.Context(), store, js, lease.WithLogger(discard()))
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Release(t.Context()) // has written the layout
		for range 64 {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			l, err := lease.Acquire(ctx, sluggishStore{store, 0, 800 * time.Millisecond}, js, lease.WithLogger(discard()))
			cancel()
			if err == nil {
				t.Fatalf("acquired %+v, want an error", l.Stats())
			}
		}
		time.Sleep(5 * time.Second)
		for key, r := range store.Records() {
			if key >= 0 && !strings.HasSuffix(r.Owner, "/released") {
				t.Errorf("worker %d is held by %s until %v", key, r.Owner, time.UnixMilli(r.Bound))
			}
		}
		last, err := lease.Acquire(t.Context(), store, js, lease.WithLogger(discard()))
		if err != nil {
			t.Fatal(err)
		}
		_ = last.Release(t.Context())
		time.Sleep(time.Minute) // until the background has ended
	})
}

// Acquire gives up while its write is on the way to the store, and another process writes the
// record of the same worker. The lease must leave the record of the other process, both
// before and after its own write arrives.
func TestGivingUpLeavesOtherHolders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		_ = acquire(t, store, lease.WithWorker(0), lease.WithDatacenter(0)).Release(t.Context())
		store.Fail(leasetest.Hold)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other := lease.Record{Bound: now() + 60_000, Owner: "other"}
		time.AfterFunc(900*time.Millisecond, func() { store.Put(0, other) })
		if _, err := lease.Acquire(ctx, store, layout(), lease.WithWorker(0), lease.WithDatacenter(0), lease.WithLogger(discard())); err == nil {
			t.Fatal("acquired a worker, want an error")
		}
		time.Sleep(time.Minute)
		store.Deliver()
		time.Sleep(time.Minute)
		if got := store.Records()[0]; got != other {
			t.Errorf("record = %+v, want %+v", got, other)
		}
	})
}

// A read of the store takes 300 ms, and the context of Acquire lasts 500 ms, so that 200 ms
// are left for a write. Acquire must return an error without writing. If it wrote, the
// program might exit before the answer arrives, and the worker would stay held.
func TestNothingIsWrittenTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		_ = acquire(t, store).Release(t.Context())
		before := store.Calls().Swaps
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := lease.Acquire(ctx, sluggishStore{store, 300 * time.Millisecond, 300 * time.Millisecond}, layout(), lease.WithLogger(discard()))
		const want = "nothing was written, because the store took 300ms to be read and the context ends in 200ms: want a context that lasts longer"
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
		time.Sleep(time.Minute)
		if after := store.Calls().Swaps; after != before {
			t.Errorf("%d writes, want none", after-before)
		}
	})
}

// Somebody has deleted the record of the layout, and the store still has records of workers.
// The next process must write the layout again, and log once that it was missing. On an empty
// store, where the first process writes the layout, the lease must not log this message.
func TestMissingLayoutIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		acquire(t, store, lease.WithLogger(log.logger()))
		const text = "records of workers and none of their layout"
		if n := log.count(text); n != 0 {
			t.Errorf("an empty store: logged %d times %q", n, text)
		}
		store.Put(-1, lease.Record{})
		acquire(t, store, lease.WithLogger(log.logger()))
		if n := log.count(text); n != 1 {
			t.Errorf("logged %d times %q, want once:\n%s", n, text, log)
		}
	})
}

// A flawedStore refuses to replace records. It is a [lease.Checker], whose Check returns the
// reason.
type flawedStore struct{ *leasetest.Memory }

func (flawedStore) Check(context.Context) error {
	return errors.New("rule nothing rewrites statements")
}

// CompareAndSwap writes a record that was absent, and refuses every other write.
func (s flawedStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	if _, err := s.Load(ctx); err != nil || old.Owner != "" {
		return false, err
	}
	return s.Memory.CompareAndSwap(ctx, worker, old, next)
}

// The store refuses to replace a record although it shows the record that the write expects.
// The error must then contain the reason that Check returns, here a rule of the database.
func TestRefusedExtensionIsExplained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, flawedStore{leasetest.NewMemory()})
		time.Sleep(25 * time.Second)
		if err := l.Stats().Failure; err == nil || !strings.Contains(err.Error(), "rule nothing rewrites statements") {
			t.Errorf("failure = %v, want the reason that the store gives", err)
		}
	})
}
