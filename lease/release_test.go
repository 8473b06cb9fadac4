package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// If the generator is closed before the lease could restore a forgotten bound, closing
// restores it.
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
