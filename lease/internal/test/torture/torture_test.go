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

// A server is a store for the torture to kill, whose Kill does not affect the processes.
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

// A torture passes if processes that run one after the other issue no ID twice. These
// processes have a store each, but each begins later than the process before it ended.
func TestTorture(t *testing.T) {
	t.Parallel()
	config := quick()
	// The clocks are right but for those that are an hour off, and outages are counted.
	config.Processes, config.Skew, config.Server = 1, -1, server{}
	torture.Run(t, "", config)
}

// The torture must find duplicates. Processes that do not see each other's records
// issue IDs twice, although not in every run of three seconds.
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
