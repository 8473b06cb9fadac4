package lease_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// Closing the generator releases the worker at the tick after the last ID, so that the next
// holder need not wait for the end of the window.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	gen := generate(t, acquire(t, store))
	id, worker := next(t, gen)
	if err := gen.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := layout().Time(id).UnixMilli() + 1
	if r := store.Records()[worker]; r.Bound != want || !isReleased(r) {
		t.Errorf("record = %+v, want it released at %d: the tick after the last one issued", r, want)
	}
}

// If no ID was issued, Release writes the bound that the claim had replaced, so that the next
// holder can use all ticks. A second Release has no effect. A released lease is not healthy,
// and serves no generator.
func TestRelease(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	bound := now() - 5
	store.Put(1, lease.Record{Bound: bound, Owner: "dead"})
	l := acquire(t, store, lease.WithWorker(1))
	for range 2 {
		if err := l.Release(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if r := store.Records()[1]; r.Bound != bound || !isReleased(r) {
		t.Errorf("record = %+v, want bound %d", r, bound)
	}
	if err := l.Health(); err == nil {
		t.Error("a released lease is healthy")
	}
	if _, err := snowflake.New(l); err == nil || !strings.Contains(err.Error(), "has been released") {
		t.Errorf("a generator on a released lease: %v", err)
	}
}

// Release must fail if the lease has a generator, because the generator would issue the same
// IDs as the next holder of the worker. The generator must still issue afterwards.
func TestReleaseWithAGenerator(t *testing.T) {
	t.Parallel()
	l := acquire(t, leasetest.NewMemory())
	gen := generate(t, l)
	if err := l.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "close that") {
		t.Errorf("error = %v", err)
	}
	next(t, gen)
}

// The store forgets a bound, and the lease cannot restore it because its writes are lost. When
// the generator is closed, Close must restore the bound before the lease ends.
func TestCloseRestoresAForgottenBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(0))
		gen := generate(t, l)
		next(t, gen)
		old := store.Records()[0]
		time.Sleep(25 * time.Second)
		acknowledged := l.Stats().Until.UnixMilli()
		store.Put(0, old)
		store.OnCall(func(c leasetest.Call) leasetest.Fault {
			if c.New.Bound == acknowledged {
				return leasetest.LoseRequest
			}
			return leasetest.None
		})
		time.Sleep(20 * time.Second)
		if s := l.Stats(); s.Regressions != 1 {
			t.Fatalf("stats %+v, want one regression", s)
		}
		store.OnCall(nil)
		if err := gen.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := store.Records()[0]; r.Bound < acknowledged {
			t.Errorf("record = %+v, want a bound of %d or later", r, acknowledged)
		}
	})
}
