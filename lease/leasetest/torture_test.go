package leasetest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
)

func TestMain(m *testing.M) {
	storetest.RaiseParallel()
	all := breakers()
	all["quitter"] = quitter()
	leasetest.MainWith(m, dialRemote, all)
}

func TestTorture(t *testing.T) {
	t.Parallel()
	remote := serve(t, nil)
	leasetest.Torture(t, remote.address, leasetest.TortureConfig{Server: remote, Duration: 4 * time.Second})
}

func TestTortureFewWorkers(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, serve(t, nil).address, leasetest.TortureConfig{Workers: 2, Duration: 4 * time.Second})
}

// quick is a torture in which a broken variant shows within seconds.
func quick() leasetest.TortureConfig {
	return leasetest.TortureConfig{
		Processes: 4, Workers: 2, Window: brokenWindow, Skew: time.Second,
		Duration: 3 * time.Second, IDs: 2000, Pauses: 2,
	}
}

// faulty loses a third of all writes or their answers, or holds them up.
func faulty(call leasetest.Call) leasetest.Fault {
	if call.Swap && rand.IntN(3) == 0 {
		return []leasetest.Fault{leasetest.LoseRequest, leasetest.LoseReply, leasetest.Hold}[rand.IntN(3)]
	}
	return leasetest.None
}

func TestTortureFaults(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, serve(t, faulty).address, quick())
}

// unanswered loses the answers to most writes.
func unanswered(call leasetest.Call) leasetest.Fault {
	if call.Swap && rand.IntN(3) > 0 {
		return leasetest.LoseReply
	}
	return leasetest.None
}

// losing loses most writes.
func losing(call leasetest.Call) leasetest.Fault {
	if call.Swap && rand.IntN(3) > 0 {
		return leasetest.LoseRequest
	}
	return leasetest.None
}

// A torture that finds nothing may be blind: each broken rule must show, soon,
// though not in every run of three seconds.
func TestTortureFindsBrokenVariants(t *testing.T) {
	t.Parallel()
	for name := range breakers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := func() *Remote { return serve(t, faulty) }
			switch name {
			case "trust-timeout":
				start = func() *Remote { return serve(t, losing) }
			case "trust-read":
				start = func() *Remote { return serveVolatile(t, unanswered) }
			}
			for range 20 {
				f := leasetest.Findings(t, start().address, quick(), name)
				t.Log(f)
				c := f.Counts()
				t.Logf("%d IDs issued twice, %d ticks of a worker under two grants", c.Duplicates, c.Shared)
				if c.Duplicates > 0 && c.Shared > 0 {
					return
				}
			}
			t.Error("the checker has found nothing, want IDs issued twice")
		})
	}
}

// What was written and not acknowledged may vanish, however long it was visible.
func TestTortureVolatile(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, serveVolatile(t, unanswered).address, quick())
}
