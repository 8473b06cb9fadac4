package snowflake_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

var ctx = context.Background()

// A script is a wall clock and a monotonic clock that a test moves.
type script struct {
	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
}

// unique makes scripts and layouts distinct, even under -count.
var unique atomic.Int64

// newScript starts in 2026, later than every earlier script, so that no fixed worker
// remembers a generator in the future.
func newScript() *script {
	return &script{wall: date("2026-11-20T12:00:00Z").Add(time.Duration(unique.Add(1)) * 1000 * time.Hour)}
}

// read returns both clocks, for WithReadings.
func (s *script) read() (time.Time, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wall, s.elapsed
}

// now returns the wall clock.
func (s *script) now() time.Time {
	wall, _ := s.read()
	return wall
}

// pass moves both clocks, as if time passed.
func (s *script) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall, s.elapsed = s.wall.Add(d), s.elapsed+d
}

// step moves the wall clock only, as if somebody set it.
func (s *script) step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall = s.wall.Add(d)
}

// open creates a generator and closes it at the end of the test.
func open(t testing.TB, src snowflake.WorkerSource, opts ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	g, err := snowflake.New(src, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return g
}

// A checker fails the test at an ID that is a duplicate or not above the previous ID.
type checker struct {
	t    testing.TB
	seen map[types.ID]bool
	last types.ID
}

func newChecker(t testing.TB) *checker { return &checker{t: t, seen: make(map[types.ID]bool)} }

// add checks IDs in the order in which they were issued.
func (c *checker) add(ids ...types.ID) {
	c.t.Helper()
	for _, id := range ids {
		if c.seen[id] {
			c.t.Fatalf("%d was issued twice", id)
		}
		if id <= c.last {
			c.t.Fatalf("%d was issued after %d", id, c.last)
		}
		c.seen[id], c.last = true, id
	}
}

// try takes n IDs without waiting.
func (c *checker) try(g *snowflake.Generator, n int) {
	c.t.Helper()
	for range n {
		id, err := g.TryNext()
		if err != nil {
			c.t.Fatal(err)
		}
		c.add(id)
	}
}

// freshLayout returns a layout that no other test has, so that no other test has a generator for
// its fixed workers.
func freshLayout() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.Epoch = l.Epoch.Add(time.Duration(unique.Add(1)) * time.Millisecond)
	return l
}

// Next returns an error if the clock of WithClock stands still for more than ten seconds
// while the call waits for it, because a program's test that never moves its clock would
// otherwise hang. The second generator must wait, because it has the same fixed worker as
// the first generator, and starts after the last tick of that generator. The ten seconds
// take no time, because they pass on the fake clock of synctest.
func TestClockThatStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		layout := freshLayout()
		still := date("2026-11-20T12:00:00Z")
		stopped := snowflake.WithClock(func() time.Time { return still })
		first, err := snowflake.New(snowflake.Static(0, 1), snowflake.WithLayout(layout), stopped)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first.Next(ctx); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(ctx); err != nil {
			t.Fatal(err)
		}
		second := open(t, snowflake.Static(0, 1), snowflake.WithLayout(layout), stopped)
		start := time.Now()
		_, err = second.Next(ctx)
		if err == nil || !strings.Contains(err.Error(), "the clock of WithClock has stood still at 2026-11-20 12:00:00") {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// A call waits for a clock that moves, even if it moves slowly.
func TestClockThatMovesSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		layout := snowflake.Layout{Epoch: time.Unix(0, 0).Add(time.Duration(unique.Add(1)) * time.Hour), Tick: time.Minute, WorkerBits: 1, SequenceBits: 1}
		start := time.Now()
		began := layout.Epoch.Add(100 * 24 * time.Hour)
		slow := func() time.Time { return began.Add(time.Since(start).Truncate(9 * time.Second)) }
		for range 2 {
			g, err := snowflake.New(snowflake.Static(0, 1), snowflake.WithLayout(layout), snowflake.WithClock(slow))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Next(ctx); err != nil {
				t.Fatal(err)
			}
			if err := g.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}
