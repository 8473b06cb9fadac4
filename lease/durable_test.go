package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// loseReplies is a hook for OnCall. It lets the writes of worker 0 take effect and loses
// every answer, like a server whose log does not reach the disk or the standby.
func loseReplies(c leasetest.Call) leasetest.Fault {
	if c.Swap && c.Worker == 0 {
		return leasetest.LoseReply
	}
	return leasetest.None
}

// The store shows an extension without having acknowledged it. However often the lease reads
// this record, the end of the window must stay where it was acknowledged, because a crash of
// the store can undo the extension.
func TestExtensionThatIsOnlyVisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		l := acquire(t, store, lease.WithWorker(0))
		gen := generate(t, l)
		next(t, gen)
		acknowledged := l.Stats().Until
		store.OnCall(loseReplies)
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

// The store does not acknowledge an extension, and the lease repeats it again and again for
// ten minutes, while the clock stands still. The bound in the store must not rise. If each
// attempt added a window to the bound that it reads, the worker would be blocked for longer
// and longer.
func TestRetriesDoNotRaiseTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		stopped := time.Now()
		l := acquire(t, store, lease.WithWorker(0), lease.WithClock(func() time.Time { return stopped }))
		generate(t, l)
		bound := store.Records()[0].Bound
		store.OnCall(loseReplies)
		time.Sleep(10 * time.Minute)
		if calls := store.Calls().Swaps; calls < 100 {
			t.Errorf("%d writes: too little happened", calls)
		}
		if r := store.Records()[0]; r.Bound > bound {
			t.Errorf("the bound has crept %d ms ahead", r.Bound-bound)
		}
	})
}
