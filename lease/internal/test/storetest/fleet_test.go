package storetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// fleetWindow is the window of the members' leases.
const fleetWindow = 300 * time.Millisecond

// newFleet returns a fleet whose members each open a store with open.
func newFleet(t *testing.T, open func() lease.Store) *storetest.Fleet {
	t.Helper()
	dial := func(context.Context, string, string) (lease.Store, func(), error) { return open(), nil, nil }
	return storetest.NewFleet(t, storetest.FleetConfig{Dial: dial, Window: fleetWindow, Workers: 3})
}

// The store is down for four windows, and then the members continue. The fleet must count the
// calls that failed, and a halt of more than a window. It must report no duplicate, no
// regression and no late ID, because the members have kept the protocol.
func TestFleetHalts(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	f := newFleet(t, func() lease.Store { return store })
	members := f.Start(storetest.AtOnce, "", "", "")
	f.AwaitHolding(members)
	f.AwaitIssuing(members)
	storetest.TakeHalt(members)
	store.Down()
	time.Sleep(4 * fleetWindow)
	for began := time.Now(); f.Tally().Refusals == 0; time.Sleep(fleetWindow) {
		if time.Since(began) > time.Minute {
			t.Fatal("no call has failed for a minute")
		}
	}
	store.Up()
	f.AwaitIssuing(members)
	if halt := storetest.TakeHalt(members); halt < fleetWindow {
		t.Errorf("longest halt %v, want more than a window", halt)
	}
	if again := storetest.TakeHalt(members[:0]); again != 0 {
		t.Errorf("longest halt of nobody %v, want 0", again)
	}
	if sum := f.Finish(); sum.IDs == 0 || sum.Refusals == 0 || sum.Duplicates > 0 || sum.Regressions > 0 || sum.Late > 0 {
		t.Errorf("%v and %d late IDs, want some IDs and refusals, and nothing else", sum, sum.Late)
	}
}

// Each member has a store of its own, and so does not see the records of the other members.
// The members issue the same IDs, and the fleet must count duplicates.
func TestFleetFindsDuplicates(t *testing.T) {
	t.Parallel()
	f := newFleet(t, func() lease.Store { return leasetest.NewMemory() })
	f.AwaitHolding(f.Start(storetest.AtOnce, "", "", "", "", ""))
	for began := time.Now(); f.Tally().Duplicates == 0; time.Sleep(fleetWindow) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%v after a minute, want IDs issued twice", f.Tally())
		}
	}
}
