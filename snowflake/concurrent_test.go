package snowflake_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A bitmap of the slots of one worker finds duplicates among many millions of IDs.
type bitmap struct {
	bits  []uint64
	first int64 // the slot of the first bit
}

// set marks a slot, and reports whether it was marked before.
func (b *bitmap) set(slot int64) (twice bool) {
	i := slot - b.first
	for int(i/64) >= len(b.bits) {
		b.bits = append(b.bits, make([]uint64, 1<<16)...)
	}
	old := b.bits[i/64]
	b.bits[i/64] |= 1 << (i % 64)
	return old == b.bits[i/64]
}

// slotOf returns the tick and the sequence of an ID of Twitter's layout, without its
// worker.
func slotOf(id id) int64 { return int64(id)>>22<<12 | int64(id)&4095 }

// issueInParallel issues n IDs by Next in eight goroutines, and fails the test if an ID
// is a duplicate, or not above the previous ID of its goroutine.
func issueInParallel(t *testing.T, g *snowflake.Generator, n int) {
	t.Helper()
	const goroutines = 8
	issued := make([][]id, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			ids := make([]id, n/goroutines)
			for j := range ids {
				var err error
				if ids[j], err = g.Next(ctx); err != nil {
					t.Error(err)
					return
				}
			}
			issued[i] = ids
		})
	}
	wg.Wait()
	countFaults(t, issued)
	if got := g.Stats().Issued; !t.Failed() && got != uint64(n) {
		t.Errorf("%d issued, want %d", got, n)
	}
}

// countFaults counts the duplicates among the IDs of all goroutines, and the IDs that are
// not above the previous ID of their goroutine. Any fails the test.
func countFaults(t *testing.T, issued [][]id) {
	t.Helper()
	seen := bitmap{first: slotOf(issued[0][0]) - 1<<24} // another goroutine may have got a lower ID
	duplicates, inversions := 0, 0
	for _, ids := range issued {
		var last id
		for _, id := range ids {
			if id <= last {
				inversions++
			}
			if seen.set(slotOf(id)) {
				duplicates++
			}
			last = id
		}
	}
	if duplicates+inversions > 0 {
		t.Errorf("%d duplicates, %d inversions", duplicates, inversions)
	}
}

// No ID is issued twice, or below an earlier ID of its goroutine, while eight goroutines
// compete for the slots of one generator.
func TestEightGoroutines(t *testing.T) {
	t.Parallel()
	issueInParallel(t, open(t, snowflake.Static(20, 1)), 2_000_000)
}

// No ID is issued twice, or below an earlier ID of its goroutine, while blocks of 1 to 701
// IDs compete for the slots of one generator.
func TestNextAndFillTogether(t *testing.T) {
	t.Parallel()
	g := open(t, snowflake.Static(20, 2))
	issued := make([][]id, 8)
	var wg sync.WaitGroup
	for i := range issued {
		wg.Go(func() {
			ids := make([]id, 50_000)
			for rest := ids; len(rest) > 0; {
				n := min(len(rest), 1+i*100)
				if err := g.Fill(ctx, rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
			}
			issued[i] = ids
		})
	}
	wg.Wait()
	countFaults(t, issued)
}

// The wall clock steps in both directions while eight goroutines issue. No ID may be
// repeated, or be below the previous ID of its goroutine.
func TestStepsUnderLoad(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, newWindows(snowflake.TwitterLayout(), s.now, 1e6*time.Hour), snowflake.WithReadings(s.read))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 4000 {
			time.Sleep(100 * time.Microsecond)
			s.pass(time.Millisecond)
			s.step([]time.Duration{-time.Hour, 0, time.Hour, -time.Millisecond, 20 * time.Millisecond}[i%5])
		}
	}()
	issued := make([][]id, 8)
	var wg sync.WaitGroup
	for i := range issued {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if id, err := g.TryNext(); err == nil {
					issued[i] = append(issued[i], id)
				}
				runtime.Gosched() // otherwise the clock would wait for a processor
			}
		})
	}
	wg.Wait()
	seen := make(map[id]bool)
	for _, ids := range issued {
		c := checker{t: t, seen: seen}
		c.add(ids...)
	}
}

// Calls must wait for a tick by sleeping, without a lock. In this test the time only
// moves while all goroutines sleep. If a call would spin, or wait for a mutex, the test
// would hang. A tick has 4,096 IDs, so the 65,536 IDs must take 16 ticks.
func TestWaitsInFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.TwitterLayout()
		l.Epoch = time.UnixMilli(unique.Add(1))
		g, err := snowflake.New(snowflake.Static(21, 1), snowflake.WithLayout(l))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(ctx) }()
		start := time.Now()
		issued := make([][]id, 16)
		var wg sync.WaitGroup
		for i := range issued {
			wg.Go(func() {
				for range 4096 {
					id, err := g.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					issued[i] = append(issued[i], id)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < 15*time.Millisecond || took > 17*time.Millisecond {
			t.Errorf("65,536 IDs took %v of fake time, want 16 ticks", took)
		}
		countFaults(t, issued)
	})
}

// deadlineContext is a context that has a deadline but never ends.
type deadlineContext struct {
	context.Context
	at time.Time
}

func (d deadlineContext) Deadline() (time.Time, bool) { return d.at, true }

// A call whose deadline is the start of the next tick still gets a slot of that tick. With
// a deadline one nanosecond earlier, the call fails at once, without waiting.
func TestDeadlineAtTheNextTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Second, SequenceBits: 2}
		g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l), snowflake.WithSequenceStart(snowflake.StartZero))
		newChecker(t).try(g, 4)
		next := time.Now().Add(l.Tick)
		if id, err := g.Next(deadlineContext{ctx, next.Add(-1)}); !errors.Is(err, context.DeadlineExceeded) || time.Now().Equal(next) {
			t.Errorf("got %d, %v, want DeadlineExceeded at once", id, err)
		}
		if id, err := g.Next(deadlineContext{ctx, next}); err != nil || !l.Time(id).Equal(next) {
			t.Errorf("got %d of %v, %v, want one of %v", id, l.Time(id), err, next)
		}
	})
}

// A call that waits for its slots returns as soon as its context ends, with the cause. The
// slots that it had reserved are not issued. A later call with the ended context would have
// to wait behind these slots, and so it returns the cause too.
func TestCancelInFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.TwitterLayout()
		l.Epoch = time.UnixMilli(unique.Add(1))
		g, err := snowflake.New(snowflake.Static(21, 2), snowflake.WithLayout(l))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(ctx) }()
		cause := errors.New("the user went away")
		canceled, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		err = g.Fill(canceled, make([]id, 4_096_000))
		if !errors.Is(err, cause) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("got %v after %v, want the cause after 100ms", err, time.Since(start))
		}
		if _, err := g.Next(canceled); !errors.Is(err, cause) {
			t.Errorf("Next behind the reservation: %v, want the cause", err)
		}
	})
}
