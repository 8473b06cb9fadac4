package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A proxy before the store sends every third write twice and returns the second answer, which
// is false. The lease keeps its worker, and logs no warning.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, log := leasetest.NewMemory(), new(journal)
		calls := 0
		memory.OnCall(func(c leasetest.Call) leasetest.Fault {
			if c.Swap {
				calls++
			}
			if c.Swap && calls%3 == 0 { // every third write
				return leasetest.Repeat
			}
			return leasetest.None
		})
		l := acquire(t, memory, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		_, first := next(t, gen)
		for range 1000 {
			time.Sleep(10 * time.Second)
			if _, worker := next(t, gen); worker != first {
				t.Fatalf("worker %d, want %d all the time", worker, first)
			}
		}
		if s := l.Stats(); s.Losses > 0 || s.Failures > 0 || log.count("level=WARN")+log.count("level=ERROR") > 0 {
			t.Errorf("stats %+v, log:\n%s", s, log)
		}
		if err := gen.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Two copies of a process use a proxy that repeats writes, so that a refusal need not mean a
// write of the other copy. The copy that extends second must still find the write of the other
// copy.
func TestCloneBehindRepeatedWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, memory, lease.WithLogger(log.logger()))
		_, first := next(t, generate(t, l))
		memory.Fail(leasetest.Repeat, leasetest.Repeat)
		extendAsClone(memory, first)
		time.Sleep(30 * time.Second)
		if l.Stats().Losses != 1 || log.count("a copy of this process") != 1 {
			t.Errorf("stats %+v, log:\n%s", l.Stats(), log)
		}
	})
}

// Somebody raises a bound by a day, by SQL. The holder must keep its worker and log a warning.
// It must not lower the bound again, nor take the new bound for the write of a copy of itself.
func TestBoundRaisedByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, memory, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		_, first := next(t, gen)
		r := memory.Records()[first]
		r.Bound += 86_400_000
		memory.Put(first, r)
		for range 10 {
			time.Sleep(time.Minute)
			if _, worker := next(t, gen); worker != first {
				t.Fatalf("worker %d, want %d all the time", worker, first)
			}
		}
		if l.Stats().Losses != 0 || log.count("raised the bound") != 1 || log.count("level=ERROR") > 0 {
			t.Errorf("stats %+v, log:\n%s", l.Stats(), log)
		}
		if got := memory.Records()[first].Bound; got < r.Bound {
			t.Errorf("bound %d, want at least %d, which somebody has set", got, r.Bound)
		}
	})
}

// A countingChecker is a store that is a Checker, and counts its checks.
type countingChecker struct {
	*leasetest.Memory
	mu     sync.Mutex
	err    error // the result of Check
	checks int
}

func (c *countingChecker) Check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	return c.err
}

// set makes Check return err, and returns the number of checks so far.
func (c *countingChecker) set(err error) (checks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return c.checks
}

// A lease that has lost its worker calls Check before it takes another worker. As long as
// Check fails, it takes no worker, because a damaged table may give a worker several holders.
func TestStoreIsCheckedAfterALoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countingChecker{Memory: leasetest.NewMemory()}
		l := acquire(t, store)
		gen := generate(t, l)
		_, first := next(t, gen)
		if checks := store.set(errors.New("the table has no key")); checks > 0 {
			t.Errorf("looked %d times before anything was lost", checks)
		}
		store.Put(first, lease.Record{Bound: time.Now().Add(time.Hour).UnixMilli(), Owner: "other/1/token/1/0/60000"})
		time.Sleep(time.Minute)
		if _, err := gen.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "the table has no key") {
			t.Errorf("error = %v, want what Check has found", err)
		}
		for worker, r := range store.Records() {
			if worker != first && worker >= 0 {
				t.Errorf("worker %d was taken: %v", worker, r)
			}
		}
		store.set(nil)
		time.Sleep(time.Second)
		if _, worker := next(t, gen); worker == first {
			t.Error("an ID is issued under the lost worker")
		}
	})
}
