package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
)

// A Client is a store with its own connections.
type Client struct {
	Store lease.Store
	Close func() // closes the connections
}

const (
	clockSkew   = 4 * time.Second // WithMaxSkew of processes whose clocks are wrong
	clockWindow = 4 * time.Second // the window of these processes

	// clockBlock is how long a process whose clock is wrong may block a worker. Its bound is
	// at most clockSkew and a window ahead. The second window is for a busy machine.
	clockBlock = clockSkew + 2*clockWindow

	day = 24 * time.Hour
)

// A wrongClock is the clock of a process. Each duration is how far this clock is ahead of the
// right time at some point of the test. It is negative if the clock is behind.
type wrongClock struct {
	name     string
	start    time.Duration // when the process starts
	early    time.Duration // once it has a worker, before it has a generator
	later    time.Duration // added to start once it has issued an ID
	defaults bool          // the options have their defaults instead of short times
	refused  bool          // the process must be refused when it starts
}

// wrongClocks returns the clocks that the test tries.
func wrongClocks() []wrongClock {
	until := func(year int) time.Duration {
		return time.Until(time.Date(year, time.January, 1, 1, 0, 0, 0, time.UTC))
	}
	return []wrongClock{
		{name: "starts in 1970", start: until(1970), defaults: true},
		{name: "starts in 2050", start: until(2050), defaults: true, refused: true},
		{name: "starts in 2200", start: until(2200), defaults: true, refused: true},
		{name: "starts 20 days ahead", start: 20 * day, refused: true},
		{name: "jumps 20 days ahead", later: 20 * day},
		{name: "jumps 20 days ahead before it issues", early: 20 * day},
		{name: "jumps 60 days ahead", later: 60 * day},
		{name: "starts 60 days behind", start: -60 * day},
		{name: "falls 60 days behind", later: -60 * day},
		{name: "starts within the limit", start: clockSkew - 100*time.Millisecond},
	}
}

// options returns the options of a lease with this clock. They are short, so that the test
// need not wait for the defaults.
func (w wrongClock) options() []lease.Option {
	if w.defaults {
		return nil
	}
	return []lease.Option{lease.WithMaxSkew(clockSkew), lease.WithWindow(clockWindow)}
}

// WrongClocks runs processes whose clocks are wrong next to processes whose clocks are
// right, on a store that has the clock of this machine. For each wrong clock, one process
// is killed, and another process must get its worker soon. A second process with this clock
// must issue IDs again after its clock was corrected.
func WrongClocks(t *testing.T, open func() Client) {
	t.Helper()
	f, wrong := newClockFleet(t, open), wrongClocks()
	// A client for each process that is killed, because the kill closes the connections of its
	// client, which other processes must not share.
	doomed := make([]Client, len(wrong))
	for i := range doomed {
		doomed[i] = open()
	}
	defer f.stop()
	for worker := range int64(2) {
		f.addHealthy(worker).issue()
	}
	var wg sync.WaitGroup
	for i, w := range wrong {
		worker := int64(2 + 2*i) // two workers for each clock, after those of the healthy processes
		killed := f.add(w.name, doomed[i], worker, w.options()...).withOwnClock()
		corrected := f.add(w.name, f.client, worker+1, w.options()...).withOwnClock()
		successor := f.addHealthy(worker)
		wg.Go(func() { killed.beKilled(w, successor) })
		wg.Go(func() { corrected.beCorrected(w) })
	}
	wg.Wait()
}

// beKilled lets the process run with the wrong clock and kills it. The successor, whose
// clock is right, must get the worker of the killed process within clockBlock.
func (p *clockProcess) beKilled(w wrongClock, successor *clockProcess) {
	t := p.fleet.t
	p.goWrong(w)
	p.client.Close()
	bound := p.fleet.boundAhead(p.worker)
	took, err := successor.retry(clockBlock)
	if err != nil || bound > clockBlock {
		t.Errorf("%s: the bound is %v ahead, nobody else gets the worker after %v, want at most %v: %v", w.name, bound, took, clockBlock, err)
		return
	}
	t.Logf("%-36s bound %8v ahead, after a kill others get the worker after %v", w.name, bound, took)
	successor.issue()
}

// beCorrected lets the process run with the wrong clock and sets the clock right. The
// process must then issue IDs of the right time.
func (p *clockProcess) beCorrected(w wrongClock) {
	t := p.fleet.t
	p.goWrong(w)
	limit := p.setRight()
	took, err := p.retry(limit)
	if err != nil {
		t.Errorf("%s: does not issue %v after the correction: %v", w.name, took, err)
		return
	}
	if off := time.Until(p.fleet.layout.Time(p.ids[len(p.ids)-1])); off.Abs() > clockBlock {
		t.Errorf("%s: after the correction an ID is %v ahead", w.name, off)
	}
	t.Logf("%-36s issues %v after the correction", w.name, took)
	p.keepTrying(clockWindow)
	// With the default window, the bound may be further ahead.
	if bound := p.fleet.boundAhead(p.worker); bound > clockBlock && !w.defaults {
		t.Errorf("%s: after the correction the bound is %v ahead, want at most %v", w.name, bound, clockBlock)
	}
}

// goWrong lets the process run with the wrong clock, and restarts it like a supervisor if
// it is refused.
func (p *clockProcess) goWrong(w wrongClock) {
	p.ahead.Store(int64(w.start))
	switch err := p.acquire(); {
	case w.refused:
		p.wantBothTimes(err, w.start, 0)
	case err != nil:
		p.fleet.t.Errorf("%s: %v", w.name, err)
	case w.early != 0: // the clock jumps while the process has a lease and no generator
		p.ahead.Store(int64(w.early))
	default: // the clock jumps once the process has issued an ID
		if _, err := p.retry(clockBlock); err != nil {
			p.fleet.t.Errorf("%s: %v", w.name, err)
		}
		p.ahead.Store(int64(w.start + w.later))
	}
	p.keepTrying(clockWindow * 3 / 2) // so that it extends its window by the wrong clock
}

// setRight corrects the clock, and returns how long a generator may take to trust it. After a
// large jump, a generator trusts the clock once it has run on from its new time for a minute.
// The long form waits for this minute. The short form simulates it. The clock first shows the
// time a minute ago, and the generator reads it once. Then the clock steps by the minute to
// the right time, which is within the limit for jumps.
func (p *clockProcess) setRight() time.Duration {
	const minute = 61 * time.Second
	if Long() {
		p.ahead.Store(0)
		return minute + clockBlock
	}
	p.ahead.Store(-int64(minute))
	_ = p.next() // shows the generator the time before the step
	p.ahead.Store(0)
	return clockBlock
}

// WrongServerClock restarts the server with wrong clocks, like a failover to a machine whose
// clock is wrong. Processes whose clocks are right issue IDs all the time. They must continue,
// and must log a warning while the server's clock is behind. A process that starts must be
// refused while the server's clock is behind, and must start once that clock is right.
func WrongServerClock(t *testing.T, server *testserver.Server, open func() Client) {
	t.Helper()
	const wrong = 2 * time.Hour
	server.SetClock(0) // skips the test if the server cannot have another clock
	f := newClockFleet(t, open)
	defer f.stop()
	running := []*clockProcess{f.addStarted(0)}

	// A clock that is ahead keeps no process from starting, and is not warned of.
	f.restart(server, wrong)
	running = append(running, f.addStarted(1))
	f.wantWarnings(running, 0, 0)

	f.restart(server, -wrong)
	starting := f.addHealthy(2)
	starting.wantBothTimes(starting.acquire(), 0, -wrong)
	f.wantWarnings(running, 1, 0)

	f.restart(server, 0)
	took, err := starting.retry(clockBlock)
	if err != nil {
		t.Fatalf("no process starts %v after the correction: %v", took, err)
	}
	t.Logf("a process starts %v after the correction", took)
	starting.issue()
	f.wantWarnings(running, 1, 1)
}

// addStarted adds a process that must acquire its worker at once.
func (f *clockFleet) addStarted(worker int64) *clockProcess {
	f.t.Helper()
	p := f.addHealthy(worker)
	if err := p.acquire(); err != nil {
		f.t.Fatal(err)
	}
	p.issue()
	return p
}

// restart restarts the server with a clock that is ahead by this time.
func (f *clockFleet) restart(server *testserver.Server, ahead time.Duration) {
	f.t.Helper()
	began := time.Now()
	server.Stop()
	server.SetClock(ahead)
	if err := server.Start(); err != nil {
		f.t.Fatal(err)
	}
	took := time.Since(began)
	now, err := f.serverTime()
	if off := time.Until(now); err != nil || (off-ahead).Abs() > 10*time.Second {
		f.t.Fatalf("the server's clock is %v ahead, %v, want %v", off, err, ahead)
	}
	f.t.Logf("restarted in %v, %v ahead", took.Round(time.Millisecond), ahead)
}

// serverTime returns the server's time. It tries several times, because connections
// fail that the restart has cut.
func (f *clockFleet) serverTime() (now time.Time, err error) {
	for range 10 {
		if now, err = f.client.Store.(lease.Clock).Now(f.t.Context()); err == nil {
			break
		}
	}
	return now, err
}

// wantWarnings waits until all processes have extended their windows. The arguments behind and
// agrees are how often the log of each process must then contain the warning that the server's
// clock is behind, and the warning that it agrees again.
func (f *clockFleet) wantWarnings(all []*clockProcess, behind, agrees int) {
	f.t.Helper()
	f.awaitExtensions(all)
	for _, p := range all {
		for text, want := range map[string]int{
			"lease: the store's clock is behind this process's":         behind,
			"lease: the store's clock agrees with this process's again": agrees,
		} {
			if got := p.log.count(text); got != want {
				f.t.Errorf("worker %d has logged %d times %q, want %d", p.worker, got, text, want)
			}
		}
		if s := p.lease.Stats(); s.Losses+s.Regressions > 0 || s.Failure != nil {
			f.t.Errorf("worker %d: %+v, want neither a loss nor a failure", p.worker, s)
		}
		if bound := f.boundAhead(p.worker); bound > healthyWindow {
			f.t.Errorf("worker %d: the bound is %v ahead, want at most a window", p.worker, bound)
		}
	}
}

// awaitExtensions waits until all processes have extended their windows without a failure.
func (f *clockFleet) awaitExtensions(all []*clockProcess) {
	f.t.Helper()
	before := map[*clockProcess]uint64{}
	for _, p := range all {
		before[p] = p.lease.Stats().Extensions
	}
	began := time.Now()
	for _, p := range all {
		// Stats reports a failure until a moment after the extension is counted.
		for s := p.lease.Stats(); s.Extensions == before[p] || s.Failure != nil; s = p.lease.Stats() {
			if time.Since(began) > 2*healthyWindow {
				f.t.Fatalf("worker %d: no extension within two windows: %v", p.worker, p.lease.Stats().Failure)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
