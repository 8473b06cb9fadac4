package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// Lost is a fault that a [testcluster.Cluster] does not have: the leader acknowledges
// for a window and more what no replica gets, and is killed.
const Lost testcluster.Fault = "replicas cut off, leader killed"

// A ClusterConfig is what [Failovers] and [TortureCluster] do to a cluster.
type ClusterConfig struct {
	Cluster *testcluster.Cluster
	Dial    leasetest.Dialer // of a generator
	Address func() string    // that it dials; nil: all of the cluster's URLs

	// Faults are injected in turn, each once or, in the long form, Repeat times or
	// more.
	Faults []testcluster.Fault
	Repeat int

	// Manual has the test decide when a leader is broken, and how long nobody leads:
	// at random, half a window or more.
	Manual bool

	// Follow wants all sound generators to issue before the cluster is healed.
	Follow bool

	// Window is the sound generators' and, where they settle, the control's: two
	// seconds. Holders are how many there are of them: four. Clocks are by how much
	// their clocks are off, in turn.
	Window  time.Duration
	Holders int
	Clocks  []time.Duration

	// Default adds sound generators with the default window, which outlasts every
	// fault: none of their calls may fail.
	Default bool

	// Settles has the sound generators wait for a window before they issue under
	// a worker, and the control not.
	Settles bool

	// Control breaks the store of generators that have to issue IDs twice then.
	Control func(lease.Store) lease.Store
}

const (
	// controlWindow is shorter than a failover, so that windows end during it.
	controlWindow = time.Second

	// There is a worker for each holder, and none for newcomers, so that they take
	// what the store says is free.
	controlHolders = 4
	newcomers      = 3

	// moreForControl is how many more faults there are at most until the control has
	// issued an ID twice.
	moreForControl = 5

	// minClusterIDs is what the long form issues, if need be by further faults.
	minClusterIDs = 1_000_000
)

// Long reports whether GORMFLAKE_TEST_TORTURE asks for the long form.
func Long() bool { return os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" }

// failovers are what [Failovers] has going on.
type failovers struct {
	ClusterConfig
	t              *testing.T
	sound, control *Fleet
	steady         *Fleet // with the default window; may be nil
	holders        []*Member
	rows           map[testcluster.Fault]*clusterRow
}

// Failovers has generators issue IDs while the leader of their cluster is broken,
// and fails the test if one is issued twice, or if none is in the control: other
// generators, on the same cluster and at the same time, with a rule broken.
func Failovers(t *testing.T, c ClusterConfig) {
	t.Helper()
	c.Window, c.Holders = cmp.Or(c.Window, 2*time.Second), cmp.Or(c.Holders, controlHolders)
	f := &failovers{ClusterConfig: c, t: t, rows: map[testcluster.Fault]*clusterRow{}}
	f.start()
	for _, fault := range f.schedule() {
		f.inject(fault)
	}
	for Long() && f.sound.issued() < minClusterIDs {
		for _, fault := range c.Faults {
			f.inject(fault)
		}
	}
	for n := 0; n < moreForControl && f.control.Tally().Duplicates == 0; n++ {
		f.inject(c.Faults[len(c.Faults)-1])
	}
	f.report()
}

// start returns when all generators hold workers.
func (f *failovers) start() {
	f.t.Helper()
	soundly := FleetConfig{Dial: f.Dial, Window: f.Window, Workers: f.Holders, Clocks: f.Clocks}
	broken := FleetConfig{Dial: f.Dial, Window: controlWindow, Workers: controlHolders, Wrap: f.Control}
	if f.Settles {
		soundly.Settle, broken.Window = f.Window, f.Window
	}
	f.sound, f.control = NewFleet(f.t, soundly), NewFleet(f.t, broken)
	f.holders = f.sound.Start(f.spread, f.addresses(f.Holders)...)
	f.control.AwaitHolding(f.control.Start(f.spread, f.addresses(controlHolders)...))
	if f.Settles { // newcomers whose clocks are behind begin exactly at a bound that is forgotten
		f.control.Clocks = []time.Duration{-time.Minute}
	}
	f.sound.AwaitHolding(f.holders)
	if f.Default {
		const members = 2
		f.steady = NewFleet(f.t, FleetConfig{Dial: f.Dial, Window: time.Minute, Workers: members})
		f.steady.AwaitHolding(f.steady.Start(f.spread, f.addresses(members)...))
	}
}

// spread has generators renew their leases at different times.
func (f *failovers) spread() time.Duration { return rand.N(f.Window / 2) }

// aWhile is between half a window and one and a half.
func (f *failovers) aWhile() {
	if f.Manual {
		pause(f.t.Context(), f.Window/2+rand.N(f.Window))
	}
}

func (c *ClusterConfig) addresses(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = c.address()
	}
	return all
}

func (c *ClusterConfig) address() string {
	if c.Address == nil {
		return strings.Join(c.Cluster.URLs(), ",")
	}
	return c.Address()
}

func (c *ClusterConfig) schedule() (faults []testcluster.Fault) {
	repeat := 1
	if Long() {
		repeat = c.Repeat
	}
	for range repeat {
		faults = append(faults, c.Faults...)
	}
	return faults
}

// A clusterRow is what the sound generators did during the faults of one kind.
type clusterRow struct {
	faults, ids int
	failover    time.Duration // the longest until another led
	halt        time.Duration // the longest without an ID, of any of the holders
	excess      time.Duration // the most by which a halt was longer than its failover
}

// inject breaks the leader, with newcomers that want workers, and heals the cluster.
// Sound newcomers come only where the store forgets: elsewhere they would take the
// workers of holders whose windows have ended, and these would halt until they go.
func (f *failovers) inject(fault testcluster.Fault) {
	f.t.Helper()
	before := f.sound.issued()
	TakeHalt(f.holders)
	f.aWhile()
	f.do(fault, func() error { return f.breakLeader(fault) })
	began := time.Now()
	controlled, soundly := f.control.Start(AtOnce, f.addresses(newcomers)...), []*Member(nil)
	if fault == Lost {
		soundly = f.sound.Start(AtOnce, f.addresses(newcomers)...)
	}
	f.aWhile()
	f.do(fault, f.Cluster.Failover)
	took := time.Since(began)
	if fault == Lost {
		time.Sleep(f.Window + f.Window/4) // newcomers have settled by then, and issue
	}
	if f.Follow && fault != testcluster.StandbyCutOff { // which no failover ends
		f.sound.AwaitIssuing(f.holders)
	}
	f.do(fault, f.heal)
	healed := time.Since(began)
	f.sound.End(soundly)
	f.control.End(controlled)
	f.sound.AwaitIssuing(f.holders)
	halt := TakeHalt(f.holders)
	f.t.Logf("%s: another leads after %v, healed after %v, longest halt %v", fault, took, healed, halt)
	f.record(fault, clusterRow{1, f.sound.issued() - before, took, halt, halt - took})
}

func (f *failovers) record(fault testcluster.Fault, got clusterRow) {
	row := f.rows[fault]
	if row == nil {
		row = new(clusterRow)
		f.rows[fault] = row
	}
	row.faults += got.faults
	row.ids += got.ids
	row.failover, row.halt, row.excess = max(row.failover, got.failover), max(row.halt, got.halt), max(row.excess, got.excess)
}

// heal waits in the long form until the old leader follows, too.
func (f *failovers) heal() error {
	if err := f.Cluster.Heal(); err != nil || !Long() {
		return err
	}
	return f.Cluster.Whole()
}

func (f *failovers) do(fault testcluster.Fault, step func() error) {
	f.t.Helper()
	if err := step(); err != nil {
		f.t.Fatalf("%s: %v", fault, err)
	}
}

func (f *failovers) breakLeader(fault testcluster.Fault) error {
	if fault != Lost {
		return f.Cluster.Break(fault)
	}
	if err := f.Cluster.CutReplicas(); err != nil {
		return err
	}
	time.Sleep(f.Window + f.Window/8) // what the replicas know of has ended by then
	return f.Cluster.Break(testcluster.Killed)
}

func (f *failovers) report() {
	f.t.Helper()
	got, broken := f.sound.Finish(), f.control.Finish()
	faults := 0
	for fault, row := range f.rows {
		f.t.Logf("%s, %d times: %d IDs, another leads after %v at most, longest halt %v, longer than its failover by %v at most",
			fault, row.faults, row.ids, row.failover.Round(time.Millisecond), row.halt.Round(time.Millisecond), row.excess.Round(time.Millisecond))
		faults += row.faults
	}
	f.t.Logf("%d faults: %v; control: %v", faults, got, broken)
	f.judge("", got)
	if broken.Duplicates == 0 {
		f.t.Error("the control has issued no ID twice: want one, or the test finds nothing")
	}
	if f.steady == nil {
		return
	}
	got = f.steady.Finish()
	f.t.Logf("with the default window: %v, longest halt %v", got, TakeHalt(f.steady.members))
	f.judge("with the default window, ", got)
	if got.Refusals > 0 {
		f.t.Errorf("with the default window, %d calls failed, want none: it outlasts the faults", got.Refusals)
	}
}

func (f *failovers) judge(which string, got Tally) {
	f.t.Helper()
	if got.Duplicates > 0 {
		f.t.Errorf("%s%d of %d IDs were issued twice", which, got.Duplicates, got.IDs)
	}
	if got.Regressions > 0 && !f.Settles {
		f.t.Errorf("%s%d regressions, want none: the cluster has kept what it had acknowledged", which, got.Regressions)
	}
}

// CutOffIsMute cuts the leader off, and checks that a client of that member alone
// is neither shown what it holds nor told that it has written.
func CutOffIsMute(t *testing.T, c *testcluster.Cluster, dial leasetest.Dialer) {
	t.Helper()
	whole := open(t, dial, strings.Join(c.URLs(), ","))
	writeSomehow(t, whole, 1, lease.Record{}, First)
	if err := c.Break(testcluster.CutOff); err != nil {
		t.Fatal(err)
	}
	cutOff := open(t, dial, c.Broken().URL())
	if err := c.Failover(); err != nil {
		t.Fatal(err)
	}
	writeSomehow(t, whole, 1, First, Second)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if records, err := cutOff.Load(ctx); err == nil {
		t.Errorf("Load from the member that is cut off = %v, want an error", records)
	}
	if swapped, err := cutOff.CompareAndSwap(ctx, 1, First, Second); err == nil {
		t.Errorf("CompareAndSwap on the member that is cut off = %v, want an error", swapped)
	}
	if err := c.Heal(); err != nil {
		t.Fatal(err)
	}
	Reconnected(t, whole)
	Holds(t, whole, map[int]lease.Record{1: Second})
}

// writeSomehow tries until the record is there: the client may ask the member that
// is cut off in its turn.
func writeSomehow(t *testing.T, store lease.Store, worker int, from, to lease.Record) {
	t.Helper()
	for began := time.Now(); time.Since(began) < fleetPatience; time.Sleep(retryPause) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		swapped, _ := store.CompareAndSwap(ctx, worker, from, to)
		records, err := store.Load(ctx)
		cancel()
		if swapped || err == nil && records[worker] == to {
			return
		}
	}
	t.Fatalf("record %v of worker %d is not written after %v", to, worker, fleetPatience)
}

func open(t *testing.T, dial leasetest.Dialer, address string) lease.Store {
	t.Helper()
	store, closeStore, err := dial(t.Context(), address, "cut-off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	return store
}

// TrustUnanswered is a store that takes a write for done that was not answered.
func TrustUnanswered(store lease.Store) lease.Store { return trusting{store} }

type trusting struct{ lease.Store }

func (s trusting) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped, err := s.Store.CompareAndSwap(ctx, worker, old, to)
	return swapped || err != nil, nil
}

// TortureCluster runs the torture on a cluster whose leader is broken, in another
// way each time, and healed.
func TortureCluster(t *testing.T, c ClusterConfig) {
	t.Helper()
	b := &breaking{ClusterConfig: c}
	config := leasetest.TortureConfig{Server: b, Duration: 6 * time.Second}
	if Long() {
		config.Duration, config.IDs, config.Outages = 4*time.Minute, minClusterIDs, 20
	}
	leasetest.Torture(t, c.address(), config)
	t.Logf("faults: %v", b.counts())
}

// breaking is a cluster as the torture breaks it.
type breaking struct {
	ClusterConfig
	n   int
	err error
}

// Kill waits for a failover, but for every fourth time: the leader then returns
// while the others may be about to elect another. A cluster that the test fails over
// is without a leader until Start.
func (b *breaking) Kill() {
	b.err = b.Cluster.Break(b.Faults[b.n%len(b.Faults)])
	b.n++
	if b.err == nil && b.n%4 != 0 && !b.Manual {
		b.err = b.Cluster.Failover()
	}
}

func (b *breaking) Start() error {
	if b.err == nil && b.Manual {
		b.err = b.Cluster.Failover()
	}
	if b.err != nil {
		return b.err
	}
	return b.Cluster.Heal()
}

func (b *breaking) counts() string {
	var text []string
	for i, fault := range b.Faults {
		text = append(text, fmt.Sprintf("%s %d times", fault, (b.n-i+len(b.Faults)-1)/len(b.Faults)))
	}
	return strings.Join(text, ", ")
}
