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

// quits is the address that ends a process.
const quits = "quits"

// dial returns a store that no other process sees, and that is down for longer than a
// window at times.
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

// A server that is killed keeps the processes from nothing.
type server struct{}

func (server) Start() error { return nil }
func (server) Kill()        {}

const window = 300 * time.Millisecond

// quick is a torture in which much happens within seconds.
func quick() torture.Config {
	return torture.Config{
		Processes: 4, Workers: 2, Window: window, Skew: time.Second,
		Duration: 3 * time.Second, IDs: 2000, Pauses: 2,
	}
}

// One process after another issues no ID twice, though none knows of those before it:
// each begins later.
func TestTorture(t *testing.T) {
	t.Parallel()
	config := quick()
	config.Processes, config.Skew, config.Server = 1, -1, server{}
	torture.Run(t, "", config)
}

// A torture that finds nothing may be blind: processes that do not see each other's
// records issue IDs twice, soon, though not in every run of three seconds.
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
