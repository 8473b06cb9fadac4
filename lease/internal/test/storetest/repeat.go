package storetest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// Repeated has generators issue IDs through a proxy that sends every third of their
// writes twice, and returns only the second answer, which is "no" although the record
// was written. No generator may conclude that a copy of its process or another holder
// has written.
func Repeated(t *testing.T, server *testserver.Server, dial leasetest.Dialer) {
	t.Helper()
	const members, window = 4, 1500 * time.Millisecond
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	proxy, url := server.Proxy(t)
	f := NewFleet(t, FleetConfig{Dial: dial, Workers: 2 * members, Window: window})
	all := f.Start(AtOnce, url, url, url, url)
	f.AwaitHolding(all)
	proxy.RepeatSome(host+"/", 3) // every owner begins with host/, so that writes contain it
	time.Sleep(repeatWindows() * window)
	f.AwaitIssuing(all)
	sum, halt, losses := f.Finish(), TakeHalt(all), 0
	for _, m := range all {
		stats := m.Stats()
		losses += int(stats.Losses + stats.Regressions)
		for line := range strings.Lines(m.Errors()) {
			if !strings.Contains(line, "lease: fenced") { // a busy server may let a window end
				t.Errorf("worker %d: logged %s, want no other error than the end of a window", m.First().Worker, line)
			}
		}
	}
	t.Logf("%d writes repeated: %v, %d workers lost, longest halt %v", proxy.Repeated(), sum, losses, halt.Round(10*time.Millisecond))
	if proxy.Repeated() == 0 {
		t.Error("no write was repeated: want some, or the test finds nothing")
	}
	if sum.Duplicates+losses > 0 {
		t.Error("want no ID issued twice, and no worker lost")
	}
}

// repeatWindows returns for how many windows writes are repeated.
func repeatWindows() time.Duration {
	if Long() {
		return 40
	}
	return 5
}
