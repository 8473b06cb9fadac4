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

// Lost is a fault that a [testcluster.Cluster] does not have. The replicas are cut off,
// the leader acknowledges writes for a window and more, and is then killed.
const Lost testcluster.Fault = "replicas cut off, leader killed"

// A ClusterConfig configures [Failovers] and [TortureCluster]. In its comments, the sound
// generators are those that keep the rules. The control is a set of generators that break a
// rule on purpose.
type ClusterConfig struct {
	Cluster *testcluster.Cluster
	Dial    leasetest.Dialer // opens the store of a generator
	Address func() string    // address to dial; nil means all URLs of the cluster

	// Faults are injected in turn, each once, or at least Repeat times in the long
	// form.
	Faults []testcluster.Fault
	Repeat int

	// Manual is for clusters that elect no leader on their own. The test then waits for a
	// random time of at least half a window before it breaks the leader, and again before
	// the failover.
	Manual bool

	// Follow makes the test wait until all sound generators issue before it heals the
	// cluster.
	Follow bool

	// Window is the window of the sound generators and, with Settles, of the control.
	// The default is two seconds. Holders is the number of sound generators, by default
	// four. Clocks are the errors of their clocks, in turn.
	Window  time.Duration
	Holders int
	Clocks  []time.Duration

	// Default adds sound generators with the default window of a minute. Every fault is
	// shorter than this window, so that no call of these generators may fail.
	Default bool

	// Settles makes the sound generators wait for a window before they issue under a
	// worker. The control does not wait.
	Settles bool

	// Control breaks the store of the control's generators, which then have to issue
	// IDs twice.
	Control func(lease.Store) lease.Store
}

const (
	// controlWindow is shorter than a failover, so that windows end during it.
	controlWindow = time.Second

	// The control has a worker for each holder. Newcomers therefore take workers that
	// the store shows as free.
	controlHolders = 4
	newcomers      = 3

	// moreForControl is the largest number of additional faults until the control has
	// issued an ID twice.
	moreForControl = 5

	// minClusterIDs is how many IDs the long form issues, with further faults if
	// needed.
	minClusterIDs = 1_000_000
)

// Long reports whether GORMFLAKE_TEST_TORTURE asks for the long form.
func Long() bool { return os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" }

// failovers is one run of [Failovers].
type failovers struct {
	ClusterConfig
	t              *testing.T
	sound, control *Fleet                            // generators that keep the rules, and generators that break one
	withDefaults   *Fleet                            // with the default window; may be nil
	holders        []*Member                         // the members of sound from the start
	rows           map[testcluster.Fault]*clusterRow // the results by kind of fault
}

// Failovers has generators issue IDs while the leader of their cluster is broken, and fails
// the test if an ID is issued twice. At the same time it runs the control, which is a set of
// generators on the same cluster that break a rule. In the long form the test also fails if
// the control issues no ID twice, because the test could then not find a mistake.
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
	// The control may need more faults until it shows its mistake.
	for n := 0; n < moreForControl && f.control.Tally().Duplicates == 0; n++ {
		f.inject(c.Faults[len(c.Faults)-1])
	}
	f.report()
}

// start starts the generators, and returns when all of them hold workers.
func (f *failovers) start() {
	f.t.Helper()
	soundConfig := FleetConfig{Dial: f.Dial, Window: f.Window, Workers: f.Holders, Clocks: f.Clocks}
	controlConfig := FleetConfig{Dial: f.Dial, Window: controlWindow, Workers: controlHolders, Wrap: f.Control}
	if f.Settles {
		soundConfig.Settle, controlConfig.Window = f.Window, f.Window
	}
	f.sound, f.control = NewFleet(f.t, soundConfig), NewFleet(f.t, controlConfig)
	f.holders = f.sound.Start(f.spread, f.addresses(f.Holders)...)
	f.control.AwaitHolding(f.control.Start(f.spread, f.addresses(controlHolders)...))
	if f.Settles { // newcomers whose clocks are behind begin exactly at the bound that the store shows
		f.control.Clocks = []time.Duration{-time.Minute}
	}
	f.sound.AwaitHolding(f.holders)
	if f.Default {
		const members = 2
		f.withDefaults = NewFleet(f.t, FleetConfig{Dial: f.Dial, Window: time.Minute, Workers: members})
		f.withDefaults.AwaitHolding(f.withDefaults.Start(f.spread, f.addresses(members)...))
	}
}

// spread returns a random delay, so that generators renew their leases at different
// times.
func (f *failovers) spread() time.Duration { return rand.N(f.Window / 2) }

// waitIfManual waits between half a window and one and a half, if the test breaks the
// leader manually.
func (f *failovers) waitIfManual() {
	if f.Manual {
		pause(f.t.Context(), f.Window/2+rand.N(f.Window))
	}
}

// addresses returns addresses for n members.
func (c *ClusterConfig) addresses(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = c.address()
	}
	return all
}

// address returns the address for a member.
func (c *ClusterConfig) address() string {
	if c.Address == nil {
		return strings.Join(c.Cluster.URLs(), ",")
	}
	return c.Address()
}

// schedule returns the faults in the order in which they are injected.
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

// A clusterRow describes the sound generators during all faults of one kind.
type clusterRow struct {
	faults, ids int
	failover    time.Duration // the longest time until another leader
	halt        time.Duration // the longest time of any holder without an ID
	excess      time.Duration // the most by which the halt of a fault was longer than its failover
}

// inject breaks the leader, starts newcomers that want workers, and heals the cluster.
// Newcomers of the control start with every fault. Sound newcomers start only with the fault
// Lost, after which the store forgets. With other faults they would take workers whose windows
// have ended, and the holders of these workers would stop until the newcomers leave.
func (f *failovers) inject(fault testcluster.Fault) {
	f.t.Helper()
	before := f.sound.issued()
	TakeHalt(f.holders)
	f.waitIfManual()
	f.do(fault, func() error { return f.breakLeader(fault) })
	began := time.Now()
	controlNewcomers, soundNewcomers := f.control.Start(AtOnce, f.addresses(newcomers)...), []*Member(nil)
	if fault == Lost {
		soundNewcomers = f.sound.Start(AtOnce, f.addresses(newcomers)...)
	}
	f.waitIfManual()
	f.do(fault, f.Cluster.Failover)
	took := time.Since(began)
	if fault == Lost {
		time.Sleep(f.Window + f.Window/4) // until newcomers have settled and issue
	}
	if f.Follow && fault != testcluster.StandbyCutOff { // no failover ends this fault
		f.sound.AwaitIssuing(f.holders)
	}
	f.do(fault, f.heal)
	healed := time.Since(began)
	f.sound.End(soundNewcomers)
	f.control.End(controlNewcomers)
	f.sound.AwaitIssuing(f.holders)
	halt := TakeHalt(f.holders)
	f.t.Logf("%s: another leads after %v, healed after %v, longest halt %v", fault, took, healed, halt)
	// The fields are faults, ids, failover, halt and excess.
	f.record(fault, clusterRow{1, f.sound.issued() - before, took, halt, halt - took})
}

// record adds the results of one fault to the row of its kind.
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

// heal heals the cluster. In the long form it waits until the old leader follows too.
func (f *failovers) heal() error {
	if err := f.Cluster.Heal(); err != nil || !Long() {
		return err
	}
	return f.Cluster.Whole()
}

// do calls a step of a fault, and ends the test if it fails.
func (f *failovers) do(fault testcluster.Fault, step func() error) {
	f.t.Helper()
	if err := step(); err != nil {
		f.t.Fatalf("%s: %v", fault, err)
	}
}

// breakLeader breaks the leader. For the fault Lost it first cuts the replicas off, and
// lets the leader acknowledge writes that they lack.
func (f *failovers) breakLeader(fault testcluster.Fault) error {
	if fault != Lost {
		return f.Cluster.Break(fault)
	}
	if err := f.Cluster.CutReplicas(); err != nil {
		return err
	}
	time.Sleep(f.Window + f.Window/8) // until the windows that the replicas know of have ended
	return f.Cluster.Break(testcluster.Killed)
}

// report ends all generators, logs the results, and fails the test if they are wrong.
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
	if broken.Duplicates == 0 && Long() { // a few faults on a busy machine may show none
		f.t.Error("the control has issued no ID twice: want one, or the test finds nothing")
	}
	if f.withDefaults == nil {
		return
	}
	got = f.withDefaults.Finish()
	f.t.Logf("with the default window: %v, longest halt %v", got, TakeHalt(f.withDefaults.members))
	f.judge("with the default window, ", got)
	if got.Refusals > 0 {
		f.t.Errorf("with the default window, %d calls failed, want none: it outlasts the faults", got.Refusals)
	}
}

// judge fails the test if a fleet that keeps the rules has issued an ID twice. It also fails
// the test if a lease of the fleet found that the cluster has forgotten a write, unless
// Settles is set, because the faults then make the cluster forget. The prefix of the messages
// names the fleet.
func (f *failovers) judge(prefix string, got Tally) {
	f.t.Helper()
	if got.Duplicates > 0 {
		f.t.Errorf("%s%d of %d IDs were issued twice", prefix, got.Duplicates, got.IDs)
	}
	if got.Regressions > 0 && !f.Settles {
		f.t.Errorf("%s%d regressions, want none: the cluster has kept what it had acknowledged", prefix, got.Regressions)
	}
}

// CutOffIsMute cuts the leader off from the other members. It checks that a client that
// reaches only this leader can no longer read records, and gets no write acknowledged.
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

// writeSomehow writes the record, and tries again until the store shows or acknowledges it. An
// attempt may fail, because the client may send a request to the member that is cut off.
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

// open opens a store on an address.
func open(t *testing.T, dial leasetest.Dialer, address string) lease.Store {
	t.Helper()
	store, closeStore, err := dial(t.Context(), address, "cut-off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	return store
}

// TrustUnanswered returns a store that treats an unanswered write as acknowledged.
func TrustUnanswered(store lease.Store) lease.Store { return trusting{store} }

// trusting is the store that TrustUnanswered returns.
type trusting struct{ lease.Store }

func (s trusting) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped, err := s.Store.CompareAndSwap(ctx, worker, old, to)
	return swapped || err != nil, nil
}

// TortureCluster runs the torture on a cluster. In place of a killed server it breaks
// the leader, by another fault each time, and heals the cluster.
func TortureCluster(t *testing.T, c ClusterConfig) {
	t.Helper()
	b := &breakableCluster{ClusterConfig: c}
	config := leasetest.TortureConfig{Server: b, Duration: 6 * time.Second}
	if Long() {
		config.Duration, config.IDs, config.Outages = 4*time.Minute, minClusterIDs, 20
	}
	leasetest.Torture(t, c.address(), config)
	t.Logf("faults: %v", b.counts())
}

// breakableCluster is a cluster in the form of a torture's Server. Its Kill breaks the
// leader by the next fault, and its Start heals the cluster.
type breakableCluster struct {
	ClusterConfig
	injected int   // number of faults so far
	err      error // of Kill, which cannot return it
}

// Kill breaks the leader and waits until the cluster has another leader. Every fourth time it
// does not wait, so that Start heals the old leader while the other members may be about to
// elect a new leader. With Manual it never waits, and the cluster has no leader until Start.
func (b *breakableCluster) Kill() {
	b.err = b.Cluster.Break(b.Faults[b.injected%len(b.Faults)])
	b.injected++
	if b.err == nil && b.injected%4 != 0 && !b.Manual {
		b.err = b.Cluster.Failover()
	}
}

// Start waits for a new leader, if Kill has not, and heals the cluster.
func (b *breakableCluster) Start() error {
	if b.err == nil && b.Manual {
		b.err = b.Cluster.Failover()
	}
	if b.err != nil {
		return b.err
	}
	return b.Cluster.Heal()
}

// counts returns how often each fault was injected.
func (b *breakableCluster) counts() string {
	var text []string
	for i, fault := range b.Faults { // in turn, so that the first faults may have had one turn more than the last
		text = append(text, fmt.Sprintf("%s %d times", fault, (b.injected-i+len(b.Faults)-1)/len(b.Faults)))
	}
	return strings.Join(text, ", ")
}
