package torture_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/internal/test/torture"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMain(m *testing.M) {
	storetest.RaiseParallel()
	torture.Main(m, dial)
}

// quits is an address that makes a process exit.
const quits = "quits"

// dial returns a store that no other process sees, and that is sometimes down for
// longer than a window.
func dial(_ context.Context, address, _ string) (lease.Store, func(), error) {
	if address == quits {
		fmt.Fprintln(os.Stderr, "quits")
		os.Exit(1)
	}
	store := leasetest.NewMemory()
	go func() {
		for range time.Tick(time.Second) {
			store.Down()
			time.Sleep(2 * window)
			store.Up()
		}
	}()
	return store, nil, nil
}

// A server stands for the store that a torture kills and starts. Its methods do nothing, because
// the stores of dial are in the processes themselves. The torture only counts its outages.
type server struct{}

func (server) Start() error { return nil }
func (server) Kill()        {}

// window is the window of the leases.
const window = 300 * time.Millisecond

// quick returns a torture that injects many faults within seconds.
func quick() torture.Config {
	return torture.Config{
		Processes: 4, Workers: 2, Window: window, Skew: time.Second,
		Duration: 3 * time.Second, IDs: 2000, Pauses: 2,
	}
}

// A torture must pass if no ID is issued twice. The processes have a store each, so that
// processes that run at the same time would issue the same IDs. Therefore only one process
// runs at a time. It starts after the process before it has ended, and so issues later ticks.
func TestTorture(t *testing.T) {
	t.Parallel()
	config := quick()
	// The clocks are right but for those that are an hour off, and outages are counted.
	config.Processes, config.Skew, config.Server = 1, -1, server{}
	torture.Run(t, "", config)
}

// Four processes run at the same time, each with a store of its own, so that all of them
// lease the same worker and may issue the same IDs. The torture must find IDs that were
// issued twice. A run of three seconds may happen to have none, so the test tries up to 20
// runs.
func TestTortureFindsDuplicates(t *testing.T) {
	t.Parallel()
	config := quick()
	config.Workers, config.Skew = 1, -1
	for range 20 {
		f := torture.Findings(t, "", config)
		t.Log(f)
		if c := f.Counts(); c.Duplicates > 0 && c.Shared > 0 {
			return
		}
	}
	t.Error("the torture has found nothing, want IDs issued twice")
}
