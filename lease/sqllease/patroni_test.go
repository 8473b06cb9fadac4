package sqllease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

const (
	patroniWindow  = 6 * time.Second // the window of all members, except those with the default window
	patroniMembers = 4               // how many members of a fleet run at the same time
)

// strictMode are settings of Patroni under which a leader without a synchronous standby
// acknowledges no write. With the first setting alone, such a leader acknowledges writes
// that no standby has.
var strictMode = []string{"synchronous_mode: true", "synchronous_mode_strict: true"}

// Two PostgreSQL servers run under Patroni, behind HAProxy. A synchronous standby has
// every acknowledged write when it takes over after a fault of the leader, so that no ID
// is issued twice. An asynchronous standby may lack some writes. After the fault Lost it
// certainly lacks some, and then IDs are issued twice unless leases settle for a window.
func TestPatroni(t *testing.T) {
	t.Parallel()
	faults := []testcluster.Fault{testcluster.SwitchedOver, testcluster.Killed, testcluster.Frozen}
	for _, mode := range []struct {
		name     string
		settings []string      // of Patroni
		settle   time.Duration // of the leases
		faults   []testcluster.Fault
	}{
		{"strict", strictMode, 0, faults},
		{"synchronous", strictMode[:1], 0, faults},
		{"asynchronous", nil, 0, append(slices.Clip(faults), storetest.Lost)},
		{"asynchronous, settling", nil, patroniWindow, append(slices.Clip(faults), storetest.Lost)},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			skipUnlessLong(t, true)
			p := patroniRun{Cluster: testcluster.Patroni(t, mode.settings...), settle: mode.settle}
			for _, fault := range mode.faults {
				sum := p.run(t, fault)
				switch forgets := mode.settings == nil && mode.settle == 0; {
				case !forgets && sum.Duplicates > 0, mode.settings != nil && sum.Regressions > 0:
					t.Error("want no ID issued twice, and no alarm of a standby that is synchronous")
				case forgets && fault == storetest.Lost && sum.Duplicates == 0:
					t.Error("want IDs issued twice, or the standby did not lag")
				}
			}
		})
	}
}

// A patroniRun is a cluster under Patroni, and how long the leases of its members settle.
type patroniRun struct {
	*testcluster.Cluster
	settle time.Duration
}

// fleet returns a fleet with 4 workers (patroniMembers), so that each of 4 members can hold a
// worker. The caller starts the members.
func (p *patroniRun) fleet(t *testing.T, window time.Duration) *storetest.Fleet {
	return storetest.NewFleet(t, storetest.FleetConfig{Dial: dial, Workers: patroniMembers, Window: window, Settle: p.settle})
}

// addresses returns an address for each of 4 members, which is always the URL of HAProxy.
func (p *patroniRun) addresses() []string { return slices.Repeat(p.URLs(), patroniMembers) }

// run injects a fault while holders keep their workers, some with the default window, and
// other members come and go. New members then take the workers of the members that have
// gone, at the bounds that the new leader shows. The clocks of the new members are behind,
// so that they start exactly at these bounds, and repeat IDs if the new leader has
// forgotten a bound.
func (p *patroniRun) run(t *testing.T, fault testcluster.Fault) storetest.Tally {
	t.Helper()
	p.do(t, p.Whole)
	holderFleet, defaultFleet, changingFleet := p.fleet(t, patroniWindow), p.fleet(t, time.Minute), p.fleet(t, patroniWindow)
	holders := holderFleet.Start(storetest.AtOnce, p.addresses()...)
	holderFleet.AwaitHolding(holders)
	defaultHolders := defaultFleet.Start(storetest.AtOnce, p.addresses()...)
	if p.settle == 0 { // settling would take a minute
		defaultFleet.AwaitHolding(defaultHolders)
	}
	began := p.beginFault(t, fault, changingFleet)
	p.do(t, p.Failover)
	failover := time.Since(began)
	healed := p.healLater(t, fault, began)
	changingFleet.Clocks = []time.Duration{-40 * time.Second}
	changingFleet.AwaitHolding(changingFleet.Start(storetest.AtOnce, p.addresses()...))
	holderFleet.AwaitIssuing(holders)
	halt := storetest.TakeHalt(holders)
	p.do(t, func() error { return <-healed })
	sum := holderFleet.Finish().Plus(defaultFleet.Finish()).Plus(changingFleet.Finish())
	t.Logf("%s: another leads after %v; %v, longest halt %v, %v with the default window", fault, tenths(failover), sum,
		tenths(halt), tenths(storetest.TakeHalt(defaultHolders)))
	return sum
}

// beginFault lets members come and go, injects the fault, and returns the time at which the
// fault began. For the fault Lost it first cuts off the replicas. Then further members come
// and go before the leader is killed, so that the next leader lacks their writes.
func (p *patroniRun) beginFault(t *testing.T, fault testcluster.Fault, changingFleet *storetest.Fleet) time.Time {
	t.Helper()
	generations := 5
	if p.settle > 0 {
		generations = 1 // each member settles
	}
	changingFleet.End(changingFleet.ComeAndGo(generations, p.addresses()...))
	if fault == storetest.Lost {
		p.do(t, p.CutReplicas)
		fault = testcluster.Killed
	}
	members := changingFleet.ComeAndGo(generations, p.addresses()...)
	began := time.Now()
	p.do(t, func() error { return p.Break(fault) })
	changingFleet.End(members) // otherwise they would raise forgotten bounds before another member reads them
	return began
}

// healLater lets the old leader return in the background. The returned channel gets the error.
// If the leader is frozen, healLater first waits until 25 seconds after began, when the fault
// began. The caller must heal the cluster before it waits for new writes, because in strict
// mode the new leader acknowledges no write before the old leader is back.
func (p *patroniRun) healLater(t *testing.T, fault testcluster.Fault, began time.Time) <-chan error {
	if fault == testcluster.Frozen {
		pause(t.Context(), time.Until(began.Add(25*time.Second)))
	}
	healed := make(chan error, 1)
	go func() { healed <- p.Heal() }()
	return healed
}

// do calls a step, and ends the test if it fails.
func (p *patroniRun) do(t *testing.T, step func() error) {
	t.Helper()
	if err := step(); err != nil {
		t.Fatal(err)
	}
}

// tenths rounds a time to tenths of a second, for the log.
func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// The standby is lost, and later the leader. Then the standby returns alone, and
// Patroni does not promote it. In strict mode the leader has acknowledged no write
// alone, so that a promotion by hand loses no write. Otherwise the promoted standby is a
// store that has forgotten.
func TestPatroniWithoutStandby(t *testing.T) {
	t.Parallel()
	for _, mode := range []struct {
		name     string
		settings []string
		alone    bool // the leader acknowledges without a standby
	}{{"strict", strictMode, false}, {"synchronous", strictMode[:1], true}} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			skipUnlessLong(t, true)
			p := patroniRun{Cluster: testcluster.Patroni(t, mode.settings...)}
			f := p.fleet(t, patroniWindow)
			f.End(f.ComeAndGo(5, p.addresses()...))
			p.do(t, func() error { return p.Break(testcluster.StandbyKilled) })
			leader := p.Broken()
			// The cluster has two members.
			standby := p.Members()[1-slices.Index(p.Members(), leader)]
			members := p.wantAlone(t, f, leader, mode.alone)
			leader.Kill()
			f.End(members)
			p.do(t, standby.Start)
			p.promoteByHand(t, standby)
			healed := p.healLater(t, testcluster.Killed, time.Now())
			f.Clocks = []time.Duration{-40 * time.Second} // so that takers start exactly at the bounds of the standby
			f.AwaitHolding(f.Start(storetest.AtOnce, p.addresses()...))
			pause(t.Context(), patroniWindow/2)
			p.do(t, func() error { return <-healed })
			sum := f.Finish()
			if t.Log(sum); mode.alone != (sum.Duplicates > 0) {
				t.Errorf("%d IDs issued twice, want some: %v", sum.Duplicates, mode.alone)
			}
		})
	}
}

// wantAlone starts members, and checks whether a leader without a standby acknowledges the
// writes of the members, as want says. If Patroni lets the leader do so, it empties the
// leader's synchronous_standby_names.
func (p *patroniRun) wantAlone(t *testing.T, f *storetest.Fleet, leader *testserver.Server, want bool) (holders []*storetest.Member) {
	t.Helper()
	began := time.Now()
	holders = f.Start(storetest.AtOnce, p.addresses()...)
	if want {
		f.AwaitIssuing(holders)
		t.Logf("the leader acknowledges alone after %v", tenths(time.Since(began)))
	}
	pause(t.Context(), time.Until(began.Add(20*time.Second)))
	names, err := leader.Query("SHOW synchronous_standby_names")
	if alone := holders[0].Issued() > 0; err != nil || alone != want || (names == "") != want {
		t.Errorf("synchronous_standby_names is %q, %v, and the leader acknowledges alone: %v, want %v", names, err, alone, want)
	}
	return holders
}

// promoteByHand checks that Patroni does not promote the standby, and then promotes the
// standby itself.
func (p *patroniRun) promoteByHand(t *testing.T, standby *testserver.Server) {
	t.Helper()
	pause(t.Context(), 30*time.Second) // longer than Patroni's time to live
	if recovering, err := standby.Query("SELECT pg_is_in_recovery()"); recovering != "t" || err != nil {
		t.Errorf("pg_is_in_recovery() = %q, %v, want a standby that is not promoted", recovering, err)
	}
	p.do(t, func() error { return p.PromoteByHand(standby) })
}
