package sqllease_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A MariaDB primary is killed, and its replica promoted. With semi-synchronous
// replication the replica has all acknowledged writes, so that no ID is issued twice.
// With asynchronous replication the replica lacks the writes since it was cut off, and only
// settling prevents duplicates.
func TestClusterReplica(t *testing.T) {
	t.Parallel()
	t.Run("semi-synchronous", func(t *testing.T) {
		t.Parallel()
		r := replicaRow{semiSync: true}
		if r.failovers(t); r.sum.Duplicates+r.sum.Regressions > 0 {
			t.Error("want no duplicates and no regressions: the replica has what was acknowledged")
		}
	})
	t.Run("asynchronous", func(t *testing.T) {
		t.Parallel()
		r := replicaRow{}
		if r.failovers(t); r.sum.Regressions == 0 {
			t.Error("no regressions: want some, or the test finds nothing")
		}
		if storetest.Long() && r.sum.Duplicates == 0 {
			t.Error("no duplicates: want some, or the test finds nothing")
		}
	})
	t.Run("asynchronous, settling", func(t *testing.T) {
		t.Parallel()
		if !storetest.Long() {
			t.Skip("takes a minute: set GORMFLAKE_TEST_TORTURE=long")
		}
		r := replicaRow{settle: replicaWindow}
		if r.failovers(t); r.sum.Duplicates > 0 {
			t.Error("want no duplicates of generators that settle")
		}
	})
}

// replicaWindow is the window of the members, and the time for which some of them settle.
const replicaWindow = 1500 * time.Millisecond

// A replicaRow contains the settings of failovers of one kind, and their results.
type replicaRow struct {
	semiSync bool
	settle   time.Duration

	n    int // failovers so far
	sum  storetest.Tally
	halt time.Duration // the longest time of a member without an ID, if no newcomers start
}

// failovers runs one failover, or seven in the long form, in which the replica is cut off for
// more than a window before the primary is killed. With semi-synchronous replication, the long
// form runs a second failover after each, in which the replica is not cut off.
func (r *replicaRow) failovers(t *testing.T) {
	t.Helper()
	times := 1
	if storetest.Long() {
		times = 7
	}
	for range times {
		r.failover(t, true) // the replica is cut off before
		if r.semiSync && storetest.Long() {
			r.failover(t, false) // the replica is not cut off
		}
	}
	t.Logf("%d failovers, %d IDs, %d duplicates, %d regressions, longest halt %v",
		r.n, r.sum.IDs, r.sum.Duplicates, r.sum.Regressions, r.halt.Round(100*time.Millisecond))
}

// failover kills a primary and promotes its replica. If cutOff is true, it cuts the replica
// off before, for longer than a window.
func (r *replicaRow) failover(t *testing.T, cutOff bool) {
	t.Helper()
	primary, replica, replication := testserver.MariaDBPair(t, r.semiSync)
	f := beginFailover(t, newRandom(t), primary, storetest.FleetConfig{Window: replicaWindow, Settle: r.settle})
	if err := replica.CaughtUp(primary); err != nil {
		t.Fatal(err)
	}
	f.sleepRandomly(0.5, 1)
	if r.semiSync {
		wantSemiSync(t, primary)
	}
	if cutOff {
		replication.Lead("")
		f.sleepRandomly(1.2, 2)
	}
	storetest.TakeHalt(f.holders)
	primary.Kill()
	if cutOff {
		f.recover(replica.Address(), replica.PromoteReplica)
	} else {
		f.follow(replica)
		r.halt = max(r.halt, storetest.TakeHalt(f.holders))
	}
	r.n, r.sum = r.n+1, r.sum.Plus(f.report())
}

// follow promotes the replica, leads the holders to it, and waits until all of them issue.
func (f *failover) follow(replica *testserver.Server) {
	f.t.Helper()
	if err := replica.PromoteReplica(); err != nil {
		f.t.Fatal(err)
	}
	f.leadHolders(replica)
	f.AwaitIssuing(f.holders)
}

// wantSemiSync checks that the primary still waits for its replica. After a timeout,
// MariaDB would turn to asynchronous replication.
func wantSemiSync(t *testing.T, primary *testserver.Server) {
	t.Helper()
	if on, err := primary.SemiSync(); !on || err != nil {
		t.Fatalf("semi-synchronous replication: %v, %v, want it on", on, err)
	}
}
