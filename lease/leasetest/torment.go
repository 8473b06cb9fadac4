package leasetest

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

// A tormentor is one run of Torture.
type tormentor struct {
	*torture
	t         *testing.T
	address   string
	namespace string
	dir       string
	began     time.Time
	fail      context.CancelFunc
	numbers   atomic.Int64 // of processes

	mu    sync.Mutex
	lives []*child
	done  deeds
}

// deeds are what was done to the processes.
type deeds struct {
	pauses, kills, ends, outages int // pauses: those longer than the window
	longest                      time.Duration
}

// torment runs the processes, ends them all, and reads what they have written.
func torment(t *testing.T, address string, c *torture) *findings {
	t.Helper()
	requireSignals(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tm := &tormentor{
		torture:   c,
		t:         t,
		address:   address,
		namespace: freshNamespace("torture"),
		dir:       t.TempDir(),
		began:     time.Now(),
		fail:      cancel,
	}
	t.Logf("torture with WithSeed(%d), namespace %s", c.seed, tm.namespace)
	t.Cleanup(tm.killAll)
	var wg sync.WaitGroup
	for n := range c.processes {
		wg.Go(func() { tm.newSlot(n).run(ctx) })
	}
	if c.server != nil {
		wg.Go(func() { tm.breakServer(ctx) })
	}
	tm.awaitEnough(ctx)
	cancel()
	wg.Wait()
	return tm.examine()
}

// awaitEnough returns when all that was asked for has happened, or will not.
func (tm *tormentor) awaitEnough(ctx context.Context) {
	for ctx.Err() == nil {
		nap(ctx, 100*time.Millisecond)
		took := time.Since(tm.began)
		if took > tm.limit || took >= tm.duration && tm.enough() {
			return
		}
	}
}

func (tm *tormentor) enough() bool {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	if tm.done.pauses < tm.pauses || tm.server != nil && tm.done.outages == 0 {
		return false
	}
	var size int64
	for _, c := range tm.lives {
		if info, err := os.Stat(c.journal); err == nil {
			size += info.Size()
		}
	}
	return size/entryBytes >= int64(tm.ids)*101/100 // some entries are markers
}

func (tm *tormentor) note(change func(*deeds)) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	change(&tm.done)
}

// problem fails the test, and ends the run.
func (tm *tormentor) problem(format string, args ...any) {
	tm.t.Helper()
	tm.t.Errorf(format, args...)
	tm.fail()
}

// breakServer kills the store every few windows, for up to one and a half.
func (tm *tormentor) breakServer(ctx context.Context) {
	random := rand.New(rand.NewPCG(tm.seed, 1<<32))
	for {
		nap(ctx, tm.windows(random, 1.5, 3))
		if ctx.Err() != nil {
			return
		}
		tm.server.Kill()
		nap(ctx, tm.windows(random, 0.2, 1.5))
		if err := tm.server.Start(); err != nil {
			tm.problem("starting the store again: %v", err)
			return
		}
		tm.note(func(d *deeds) { d.outages++ })
	}
}

// windows is a random time between so many windows.
func (tm *tormentor) windows(random *rand.Rand, from, to float64) time.Duration {
	return time.Duration((from + random.Float64()*(to-from)) * float64(tm.window))
}

// A slot is a place for one process after another.
type slot struct {
	*tormentor
	random *rand.Rand
	skew   time.Duration
	child  *child
}

func (tm *tormentor) newSlot(n int) *slot {
	s := &slot{tormentor: tm, random: rand.New(rand.NewPCG(tm.seed, uint64(n)))}
	s.skew = s.within(tm.skew)
	return s
}

// within is a random time of at most d, either way.
func (s *slot) within(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(2*d)+1)) - d
}

func (s *slot) run(ctx context.Context) {
	if !s.start() {
		return
	}
	for {
		select {
		case <-s.child.gone:
			s.problem("%v has ended by itself: %v", s.child, s.child.verdict())
			return
		case <-ctx.Done():
			s.end()
			return
		case <-time.After(s.windows(s.random, 0.3, 2)):
		}
		if !s.harm(ctx) {
			return
		}
	}
}

// harm does something to the process, and reports whether one is running after
// that.
func (s *slot) harm(ctx context.Context) bool {
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
		s.note(func(d *deeds) { d.ends++ })
	}
	if s.random.IntN(2) == 0 {
		nap(ctx, s.windows(s.random, 0, 1))
	}
	return s.start()
}

func (s *slot) pause(ctx context.Context) {
	if err := s.child.stop(); err != nil {
		s.problem("stopping %v: %v", s.child, err)
		return
	}
	began := time.Now()
	nap(ctx, s.windows(s.random, 0.7, 3))
	took := time.Since(began)
	s.child.goOn()
	if took > s.window {
		s.note(func(d *deeds) {
			d.pauses++
			d.longest = max(d.longest, took)
		})
	}
}

func (s *slot) kill() {
	s.child.kill()
	if s.child.command.ProcessState.Exited() {
		s.problem("%v had ended by itself: %v", s.child, s.child.verdict())
	}
	s.note(func(d *deeds) { d.kills++ })
}

// end lets the process give its worker back.
func (s *slot) end() bool {
	if err := s.child.end(); err != nil {
		s.problem("ending %v: %v", s.child, err)
		return false
	}
	return true
}

func (s *slot) start() bool {
	number := int(s.numbers.Add(1)) - 1
	l := life{
		Address:   s.address,
		Namespace: s.namespace,
		Journal:   filepath.Join(s.dir, fmt.Sprintf("life%d", number)),
		Workers:   s.workers,
		Window:    s.window,
		Offset:    s.clockOffset(),
		Skew:      s.torture.skew,
		Seed:      s.random.Uint64(),
		LoseOneIn: s.loseOneIn,
		Breaker:   s.breaker,
	}
	c, err := startChild(l, number)
	if err != nil {
		s.problem("starting process %d: %v", number, err)
		return false
	}
	s.child = c
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, c)
	return true
}

// clockOffset is that of the slot, but now and then a life is an hour off.
func (s *slot) clockOffset() time.Duration {
	switch s.random.IntN(8) {
	case 0:
		return s.skew + time.Hour
	case 1:
		return s.skew - time.Hour
	}
	return s.skew
}

func (tm *tormentor) killAll() {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	for _, c := range tm.lives {
		c.kill()
	}
}
