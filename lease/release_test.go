package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// Close gives up because the lease is busy with the store, and the caller
// releases the lease as well: the bound stays above what the generator has issued.
func TestReleaseAfterCloseGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(0))
		gen := generate(t, l, snowflake.WithLogicalTime())
		for range 10 {
			fillTick(t, gen)
		}
		id, _ := next(t, gen)
		store.OnCall(func(leasetest.Call) leasetest.Fault { return leasetest.Hold })
		time.Sleep(21 * time.Second) // the extension is under way
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if gen.Close(ctx) == nil {
			t.Fatal("Close has released the worker of a store that does not answer")
		}
		store.OnCall(nil)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if bound, tick := store.Records()[0].Bound, layout().Time(id).UnixMilli(); bound <= tick {
			t.Errorf("bound %d, and tick %d was issued", bound, tick)
		}
	})
}

// fillTick uses up a tick.
func fillTick(t *testing.T, gen *snowflake.Generator) {
	t.Helper()
	for range 1 << layout().SequenceBits {
		next(t, gen)
	}
}
