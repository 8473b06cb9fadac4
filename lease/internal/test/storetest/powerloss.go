package storetest

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// A Durability is how a store treats a setting of its server.
type Durability string

// Under a durable setting, no acknowledged write may be lost with the power. Under any
// other setting the test must see that the server forgets.
const (
	Durable Durability = "durable"
	Warned  Durability = "warned"
	Refused Durability = "refused" // unless AllowVolatile accepts it
)

// A PowerLoss is a store on a machine whose power fails.
type PowerLoss struct {
	Setting Durability
	Disk    *testserver.Disk
	Server  *testserver.Server // nil if the processes themselves write the store's file
	Address string             // address of the store; the server's URL if it is empty
	Started func()             // called whenever the server has started; may be nil

	// Open returns a dialer of stores that log to the logger. If volatile is true, the
	// stores accept a setting that they would otherwise refuse.
	Open func(log *slog.Logger, volatile bool) leasetest.Dialer
}

const (
	powerWorkers = 4
	powerWindow  = 6 * time.Second

	// powerBehind is the error of the clocks of the generators that take workers after
	// the loss. They are behind, so that a generator starts exactly at the bound that the
	// store shows, and repeats IDs if the bound was forgotten.
	powerBehind = -30 * time.Second
)

// LosesPower starts and ends generators, copies the disk while all processes are paused,
// and starts the server from the copy. The copy, called an image, is what a loss of power
// at this moment would leave. Other generators then take all workers. The first generators
// continue, like processes on other machines that do not know of the failure. Without a server,
// the first generators end before the others start, because they write the store's file.
//
// An ID may be issued twice only under a setting that the store warns of or refuses. Under
// such a setting an ID must be issued twice in at least one of several images, because the
// test could otherwise not find a loss.
func LosesPower(t *testing.T, p PowerLoss) {
	t.Helper()
	if p.Address == "" {
		p.Address = p.Server.URL()
	}
	p.start(t)
	p.checkWarning(t)
	var sum Tally
	var halt time.Duration
	images := 0
	for ; p.wantsImage(images, sum); images++ {
		got, halted := p.losePower(t)
		sum, halt = sum.Plus(got), max(halt, halted)
	}
	t.Logf("%s: %d images, %d IDs, %d issued twice, %d alarms, longest halt %v",
		p.Setting, images, sum.IDs, sum.Duplicates, sum.Regressions, halt.Round(10*time.Millisecond))
	switch forgets := sum.Duplicates > 0; {
	case forgets && p.Setting == Durable:
		t.Error("IDs were issued twice: want none, or a warning of the setting")
	case !forgets && p.Setting != Durable:
		t.Error("no ID was issued twice: want one, or the test finds nothing")
	}
}

// wantsImage reports whether to take another image. For a durable setting, one image is
// enough, or 20 in the long form. For any other setting, images are taken until an ID is
// issued twice, at most 20, and at least 5 in the long form.
func (p *PowerLoss) wantsImage(images int, sum Tally) bool {
	switch {
	case p.Setting == Durable && Long():
		return images < 20
	case p.Setting == Durable:
		return images < 1
	case Long() && images < 5:
		return true
	}
	return images < 20 && sum.Duplicates == 0
}

// start starts the server if it is not running, and calls Started.
func (p *PowerLoss) start(t *testing.T) {
	t.Helper()
	if p.Server != nil && !p.Server.Running() {
		if err := p.Server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if p.Started != nil {
		p.Started()
	}
}

// checkWarning checks that a process that starts is refused or warned because of the
// setting, and that a durable setting brings no refusal or warning.
func (p *PowerLoss) checkWarning(t *testing.T) {
	t.Helper()
	var log journal
	// The store is not volatile, so that it refuses the settings that AllowVolatile accepts.
	store, closeStore, err := p.Open(log.logger(), false)(t.Context(), p.Address, "named")
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore()
	l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err == nil {
		shut(l.Release)
	}
	got := Durable
	switch {
	case err != nil && strings.Contains(err.Error(), "AllowVolatile"):
		got = Refused
	case err != nil:
		t.Fatal(err)
	case log.count("level=WARN") > 0:
		got = Warned
	}
	if got != p.Setting {
		t.Errorf("at the start the setting is %s, with error %v and log %q: want it %s", got, err, &log, p.Setting)
	}
}

// losePower loses power once. It returns the counts of all generators, and the longest time
// that one of the first generators was without an ID.
func (p *PowerLoss) losePower(t *testing.T) (Tally, time.Duration) {
	t.Helper()
	// A setting that the store refuses is accepted here, to see what it forgets.
	f := NewFleet(t, FleetConfig{
		Dial: p.Open(slog.New(slog.DiscardHandler), p.Setting == Refused), Workers: powerWorkers, Window: powerWindow,
	})
	holders := p.comeAndGo(t, f)
	began := time.Now()
	p.copyAndEnd(t, func() { f.End(holders) }) // without a server, the holders write the disk
	p.start(t)
	down := time.Since(began)
	f.Clocks = []time.Duration{powerBehind}
	takers := f.Start(AtOnce, p.addresses()...)
	f.AwaitHolding(takers)
	time.Sleep(powerWindow/3 + powerWindow/12) // until holders have extended their windows, and so have noticed whether the store has forgotten
	got := f.Finish()
	t.Logf("down for %v: %v", down.Round(10*time.Millisecond), got)
	return got, TakeHalt(holders)
}

// comeAndGo returns members that have just acquired workers which earlier members have
// released. It makes sure that the releases of the first generation are on the disk. The
// writes of the later generations may be lost with the power. If they are, a new generator
// finds the bound of such a release. It starts there, as a later member did, and repeats the
// IDs of that member.
func (p *PowerLoss) comeAndGo(t *testing.T, f *Fleet) []*Member {
	t.Helper()
	f.End(f.ComeAndGo(1, p.addresses()...))
	time.Sleep(1100 * time.Millisecond) // the longest time that a server delays its writes to the disk
	if err := p.Disk.Sync(); err != nil {
		t.Fatal(err)
	}
	return f.ComeAndGo(4, p.addresses()...)
}

// copyAndEnd copies the disk while the processes that write it are paused, ends these
// processes, and puts the copy in place of the disk. Without a server, the function end ends
// these processes.
func (p *PowerLoss) copyAndEnd(t *testing.T, end func()) {
	t.Helper()
	copyDisk := p.Disk.CopyFrozen // which pauses the processes that write the file
	if p.Server != nil {
		p.Server.Pause()
		copyDisk, end = p.Disk.Copy, p.Server.Kill
	}
	if err := copyDisk(); err != nil {
		t.Fatal(err)
	}
	end()
	if err := p.Disk.Revert(); err != nil {
		t.Fatal(err)
	}
}

// addresses returns the store's address once for each worker.
func (p *PowerLoss) addresses() []string { return slices.Repeat([]string{p.Address}, powerWorkers) }
