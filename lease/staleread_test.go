package lease_test

import (
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A process that loses the race for the layout reads the workers again: what it saw
// before is older than the layout. A trace has shown a claim from the first read.
func TestClaimIsBasedOnAReadAfterTheLayout(t *testing.T) {
	t.Parallel()
	first := leasetest.NewMemory()
	acquire(t, first)
	store := leasetest.NewMemory()
	raced := false
	store.OnCall(func(c leasetest.Call) leasetest.Fault {
		switch {
		case c.Swap && c.Worker < 0 && !raced:
			raced = true
			for key, r := range first.Records() {
				store.Put(key, r)
			}
			held(store, now()-1000) // by others, and lapsed
		case c.Swap && c.Worker >= 0 && c.Old != store.Records()[c.Worker]:
			t.Errorf("a claim expects %v of worker %d, and the record was %v when it last read", c.Old, c.Worker, store.Records()[c.Worker])
		}
		return leasetest.None
	})
	l, err := lease.Acquire(t.Context(), store, layout(), lease.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil || !raced {
		t.Errorf("Release = %v, raced %v", err, raced)
	}
}
