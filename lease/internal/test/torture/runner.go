package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A runner is one run of Torture.
type runner struct {
	*torture
	t                *testing.T
	address          string
	namespace        string
	dir              string // of the journals
	began            time.Time
	fail             context.CancelFunc // ends the run early
	startedProcesses atomic.Int64       // processes that were started

	mu       sync.Mutex
	children []*child
	injected faultCounts
}

// faultCounts count the faults that were injected.
type faultCounts struct {
	pauses, kills, ends, outages int           // only pauses longer than the window count
	longest                      time.Duration // of the pauses
}

// runTorture runs the processes, ends them all, and reads their journals.
func runTorture(t *testing.T, address string, c *torture) *findings {
	t.Helper()
	requireSignals(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &runner{
		torture:   c,
		t:         t,
		address:   address,
		namespace: FreshNamespace("torture"),
		dir:       t.TempDir(),
		began:     time.Now(),
		fail:      cancel,
	}
	t.Logf("torture with Seed %d, namespace %s", c.Seed, r.namespace)
	t.Cleanup(r.killAll)
	var wg sync.WaitGroup
	for n := range c.Processes {
		wg.Go(func() { r.newSlot(n).run(ctx) })
	}
	if c.Server != nil {
		wg.Go(func() { r.breakServer(ctx) })
	}
	r.awaitEnough(ctx)
	cancel()
	wg.Wait()
	return r.examine()
}

// awaitEnough returns when as much has happened as the config asks for, or when the limit
// has passed.
func (r *runner) awaitEnough(ctx context.Context) {
	for ctx.Err() == nil {
		nap(ctx, 100*time.Millisecond)
		took := time.Since(r.began)
		if took > r.limit || took >= r.Duration && r.enough() {
			return
		}
	}
}

// enough reports whether as many faults and IDs have happened as the config asks for. It
// estimates the number of IDs by the size of the journals.
func (r *runner) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.injected.pauses < r.Pauses || r.Server != nil && r.injected.outages < r.Outages {
		return false
	}
	var size int64
	for _, c := range r.children {
		if info, err := os.Stat(c.journal); err == nil {
			size += info.Size()
		}
	}
	return size/entryBytes >= int64(r.IDs)*101/100 // because some entries are markers
}

// note counts a fault, by calling change with the counts while it holds mu.
func (r *runner) note(change func(*faultCounts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.injected)
}

// failf fails the test, and ends the run.
func (r *runner) failf(format string, args ...any) {
	r.t.Helper()
	r.t.Errorf(format, args...)
	r.fail()
}

// breakServer kills the store and starts it again, until ctx ends. The store runs for 1.5 to 3
// windows each time, and is down for 0.2 to 1.5 windows.
func (r *runner) breakServer(ctx context.Context) {
	random := rand.New(rand.NewPCG(r.Seed, 1<<32)) // not the stream of a slot, which is its number
	for {
		nap(ctx, r.windows(random, 1.5, 3))
		if ctx.Err() != nil {
			return
		}
		r.Server.Kill()
		nap(ctx, r.windows(random, 0.2, 1.5))
		if err := r.Server.Start(); err != nil {
			r.failf("starting the store again: %v", err)
			return
		}
		r.note(func(d *faultCounts) { d.outages++ })
	}
}

// windows returns a random time between from and to windows.
func (r *runner) windows(random *rand.Rand, from, to float64) time.Duration {
	return time.Duration((from + random.Float64()*(to-from)) * float64(r.Window))
}

// A slot runs one process after another. A torture has as many slots as Config.Processes. Each
// slot has its own random numbers, and an error for the clocks of its processes.
type slot struct {
	*runner
	random *rand.Rand
	skew   time.Duration // the error of its clocks
	child  *child        // the process that runs
}

// newSlot returns the nth slot, without a process.
func (r *runner) newSlot(n int) *slot {
	s := &slot{runner: r, random: rand.New(rand.NewPCG(r.Seed, uint64(n)))}
	s.skew = s.within(r.Skew)
	return s
}

// within returns a random time between -d and d.
func (s *slot) within(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(2*d)+1)) - d
}

// run starts the slot's first process, and injects faults, half of which replace the process
// by another. When ctx ends, it ends the process that runs. If a process ends on its own, run
// fails the test.
func (s *slot) run(ctx context.Context) {
	if !s.start() {
		return
	}
	for {
		select {
		case <-s.child.gone:
			s.failf("%v has ended without being told to: %v", s.child, s.child.outcome())
			return
		case <-ctx.Done():
			s.end()
			return
		case <-time.After(s.windows(s.random, 0.3, 2)):
		}
		if !s.injectFault(ctx) {
			return
		}
	}
}

// injectFault pauses, kills or ends the process, and reports whether a process is running
// after that. Of eight faults on average, four are pauses, one is a pause and a kill, one is
// a kill, and two are ends in order.
func (s *slot) injectFault(ctx context.Context) bool {
	switch n := s.random.IntN(8); {
	case n < 4:
		s.pause(ctx)
		return true
	case n < 5:
		s.pause(ctx)
		s.kill()
	case n < 6:
		s.kill()
	default:
		if !s.end() {
			return false
		}
		s.note(func(d *faultCounts) { d.ends++ })
	}
	if s.random.IntN(2) == 0 { // sometimes the next process starts late
		nap(ctx, s.windows(s.random, 0, 1))
	}
	return s.start()
}

// pause pauses the process for 0.7 to 3 windows.
func (s *slot) pause(ctx context.Context) {
	if err := s.child.pause(); err != nil {
		s.failf("stopping %v: %v", s.child, err)
		return
	}
	began := time.Now()
	nap(ctx, s.windows(s.random, 0.7, 3))
	took := time.Since(began)
	s.child.resume()
	if took > s.Window {
		s.note(func(d *faultCounts) {
			d.pauses++
			d.longest = max(d.longest, took)
		})
	}
}

// kill kills the process. It fails the test if the process had exited by itself before.
func (s *slot) kill() {
	s.child.kill()
	if s.child.command.ProcessState.Exited() {
		s.failf("%v had ended without being told to: %v", s.child, s.child.outcome())
	}
	s.note(func(d *faultCounts) { d.kills++ })
}

// end ends the process in order, so that it releases its worker, and reports whether the
// process did.
func (s *slot) end() bool {
	if err := s.child.end(); err != nil {
		s.failf("ending %v: %v", s.child, err)
		return false
	}
	return true
}

// start starts the slot's next process, and reports whether that has succeeded.
func (s *slot) start() bool {
	number := int(s.startedProcesses.Add(1)) - 1
	next := script{
		Address:   s.address,
		Namespace: s.namespace,
		Journal:   filepath.Join(s.dir, fmt.Sprintf("process%d", number)),
		Workers:   s.Workers,
		Window:    s.Window,
		Offset:    s.clockOffset(),
		Skew:      s.Skew,
		Seed:      s.random.Uint64(),
		LoseOneIn: s.LoseOneIn,
	}
	c, err := startChild(next, number)
	if err != nil {
		s.failf("starting process %d: %v", number, err)
		return false
	}
	s.child = c
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children = append(s.children, c)
	return true
}

// clockOffset returns how far the clock of the slot's next process is ahead. Of eight
// processes on average, one is an hour further ahead than the slot's skew, and one an hour
// behind it.
func (s *slot) clockOffset() time.Duration {
	switch s.random.IntN(8) {
	case 0:
		return s.skew + time.Hour
	case 1:
		return s.skew - time.Hour
	}
	return s.skew
}

// killAll kills the processes that are left, at the end of the test.
func (r *runner) killAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.children {
		c.kill()
	}
}
