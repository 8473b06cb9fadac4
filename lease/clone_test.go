package lease_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// extendAsClone extends the window like a copy of the process, which has the same token. It
// returns the bound that it has written for the copy.
func extendAsClone(store *leasetest.Memory, worker int) int64 {
	r := store.Records()[worker]
	r.Bound += 20_001 // not the bound of the process itself, which extends by 20,000 ms
	r.Owner = countWrite(r.Owner)
	store.Put(worker, r)
	return r.Bound
}

// countWrite returns the owner after another write of the same grant. The fourth part of
// an owner counts the writes.
func countWrite(owner string) string {
	parts := strings.Split(owner, "/")
	count, _ := strconv.Atoi(parts[3])
	parts[3] = strconv.Itoa(count + 1)
	return strings.Join(parts, "/")
}

// A virtual machine was cloned, so that two copies of a process hold a worker with the same
// token. One copy has extended the window. The lease of the test is the other copy. At its
// next extension it must find the write of the first copy, give the worker up and log an
// error. It must leave the record to the first copy, also when its generator is closed.
func TestClone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		l := acquire(t, store, lease.WithLogger(log.logger()))
		gen := generate(t, l)
		_, first := next(t, gen)
		bound := extendAsClone(store, first)
		time.Sleep(time.Until(l.Stats().Until) * 2 / 3) // until after the next extension
		if id, worker := next(t, gen); worker == first {
			t.Errorf("%d is issued under the worker of the clone", id)
		}
		if l.Stats().Losses != 1 || log.count("a copy of this process") != 1 {
			t.Errorf("stats %+v, log:\n%s", l.Stats(), log)
		}
		time.Sleep(10 * time.Minute)
		if err := gen.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r := store.Records()[first]; r.Owner == "" || r.Bound != bound {
			t.Errorf("record of the clone = %v, want it left alone", r)
		}
	})
}

// A generator is closed after a copy of its process has extended the window. Closing must
// not lower the bound, because the copy may issue up to it.
func TestCloneSeenAtTheRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		gen := generate(t, acquire(t, store, lease.WithLogger(log.logger())))
		_, first := next(t, gen)
		bound := extendAsClone(store, first)
		if err := gen.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r := store.Records()[first]; r.Owner == "" || r.Bound != bound {
			t.Errorf("record of the clone = %v, want it left alone", r)
		}
		if log.count("a copy of this process") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}
