package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Every step back counts once, even if many calls read the clock.
func TestStepsBackCountOnceUnderLoad(t *testing.T) {
	t.Parallel()
	const steps, step = 200, 10 * time.Millisecond
	s := newScript()
	g := open(t, grantingSource(s.now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 8 {
		wg.Go(func() {
			for !stop.Load() {
				_, _ = g.TryNext()
			}
		})
	}
	for i := range steps {
		s.pass(time.Millisecond)
		s.step(-step)
		for deadline := time.Now().Add(time.Minute); g.Stats().BackwardSteps <= uint64(i) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Microsecond)
		}
	}
	stop.Store(true)
	wg.Wait()
	if got := g.Stats(); got.BackwardSteps != steps || got.LargestBackwardStep != step {
		t.Errorf("%d steps, the largest %v, want %d of %v", got.BackwardSteps, got.LargestBackwardStep, steps, step)
	}
}

// A step back is over once the wall clock has overtaken the last ID, even if that ID
// took the window's last slot.
func TestStepBackAtTheWindowsEnd(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]snowflake.ClockPolicy{"fail": snowflake.Fail(), "wait": snowflake.Wait(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := newScript(), freshLayout()
			l.SequenceBits = 0
			src := grantingSource(s.now(), 10*time.Millisecond)
			src.extend = func(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
				held.Extend(need.Add(time.Minute))
				return held, nil
			}
			g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.OnClockBackwards(policy))
			c := newChecker(t)
			for i := range 10 {
				if i > 0 {
					s.pass(time.Millisecond)
				}
				c.try(g, 1)
			}
			s.step(-5 * time.Millisecond)
			s.pass(time.Hour)
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			id, err := g.Next(short)
			if err != nil {
				t.Fatalf("an hour later: %v", err)
			}
			c.add(id)
			if got := g.Stats(); got.Issued != 11 {
				t.Errorf("%d issued, want 11", got.Issued)
			}
		})
	}
}

// When the generator follows a step back, it takes (burns) a slot that no call gets. Stats
// must not count this slot as issued.
func TestStepsBackAreNotIssued(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, grantingSource(s.now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				g.Stats()
			}
		})
	}
	c := newChecker(t)
	for range 3000 {
		s.pass(10 * time.Millisecond)
		s.step(-2 * time.Millisecond)
		c.try(g, 1)
	}
	stop.Store(true)
	wg.Wait()
	if got := g.Stats().Issued; got != 3000 {
		t.Errorf("%d issued, want 3000", got)
	}
}

// When the generator follows a step back, it takes (burns) the next slot and issues no ID in
// it. Another call may take this slot first. The generator then does not follow the step,
// and must not count the slot as skipped. The test lets another call take a slot at each
// reading of the clock in turn.
func TestSlotThatIsNotBurntIsNotSkipped(t *testing.T) {
	t.Parallel()
	for reading := 1; reading <= 6; reading++ {
		t.Run(fmt.Sprintf("reading %d", reading), func(t *testing.T) {
			t.Parallel()
			s, c := newScript(), newChecker(t)
			var g *snowflake.Generator
			readingsLeft := 0 // until another call takes a slot
			g = open(t, grantingSource(s.now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(func() (time.Time, time.Duration) {
				if readingsLeft--; readingsLeft == 0 {
					c.try(g, 1)
				}
				return s.read()
			}))
			c.try(g, 1)
			s.pass(10 * time.Millisecond)
			s.step(-2 * time.Millisecond)
			readingsLeft = reading
			c.try(g, 1)
			readingsLeft = 0
			if got := g.Stats().Issued; got != uint64(len(c.seen)) {
				t.Errorf("%d issued, want %d", got, len(c.seen))
			}
		})
	}
}

// A call that has read the time before the generator followed a step back must not
// issue at that time, because all other calls would then wait until the clock reaches that
// time again. The test delays the call at each of its readings in turn.
func TestStepBackOvertakesACall(t *testing.T) {
	t.Parallel()
	for held := 1; held <= 4; held++ {
		t.Run(fmt.Sprintf("reading %d", held), func(t *testing.T) {
			t.Parallel()
			s, l := newScript(), freshLayout()
			l.SequenceBits = 0
			var readings atomic.Int64
			entered, resume := make(chan struct{}), make(chan struct{})
			read := func() (time.Time, time.Duration) {
				wall, elapsed := s.read()
				if readings.Add(1) == 0 { // the reading at which the test holds the call
					close(entered)
					<-resume
				}
				return wall, elapsed
			}
			g := open(t, grantingSource(s.now(), 1000*time.Hour), snowflake.WithLayout(l), snowflake.WithReadings(read))
			newChecker(t).try(g, 1)
			s.pass(10 * time.Minute)
			readings.Store(-int64(held))
			issued := make(chan time.Time, 1)
			go func() {
				id, err := g.TryNext()
				if err != nil {
					t.Error(err)
				}
				issued <- g.Layout().Time(id)
			}()
			select {
			case <-entered:
				s.step(-9 * time.Minute)
				// This call detects the step and takes no slot, because it would wait
				// too long.
				short, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if err := g.Fill(short, make([]id, 100_000)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Fill: %v, want DeadlineExceeded", err)
				}
				noticed := g.Stats().BackwardSteps == 1 // false while the other call is comparing
				close(resume)
				if at := <-issued; noticed && at.After(s.now()) {
					t.Errorf("issued at %v, the clock shows %v", at, s.now())
				}
			case <-issued: // the call has fewer readings than held
			}
		})
	}
}

// The bound that a previous process has left may be ahead of the wall clock, because the
// clock was set back. The generator starts at the bound, and at once counts one step back.
func TestStartAheadCountsAsOneStep(t *testing.T) {
	t.Parallel()
	s := newScript()
	from := s.now().Add(time.Hour)
	src := &faultySource{grant: func(l snowflake.Layout) (*snowflake.Grant, error) {
		return snowflake.NewGrant(l, 0, 0, from, from.Add(time.Hour))
	}}
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	for range 3 {
		if got := g.Stats(); got.BackwardSteps != 1 || got.LargestBackwardStep != time.Hour {
			t.Errorf("%+v, want one step of 1h", got)
		}
		newChecker(t).try(g, 1)
	}
}

// With a tick of more than a year, 1,000 ticks take longer than a time.Duration can hold.
// The time until the last tick must not overflow to a deadline that seems near.
func TestWaitForCenturies(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Duration(10_000+unique.Add(1)) * time.Hour}
	src := &faultySource{grant: func(l snowflake.Layout) (*snowflake.Grant, error) {
		return snowflake.NewGrant(l, 0, 0, l.Epoch, time.Time{})
	}}
	g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := g.Fill(short, make([]id, 1000))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "h0m0s away") {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
}

// A call that has lost its slot to another call checks its context before it tries
// again.
func TestContextEndsWhileASlotIsLost(t *testing.T) {
	t.Parallel()
	s := newScript()
	var g *snowflake.Generator
	var taken func() // runs at a reading, between the load of the state and the commit
	g = open(t, snowflake.Static(24, 0), snowflake.WithReadings(func() (time.Time, time.Duration) {
		if take := taken; take != nil {
			taken = nil
			take()
		}
		return s.read()
	}))
	other := func() { // another call takes the slot
		if _, err := g.TryNext(); err != nil {
			t.Error(err)
		}
	}
	taken = other
	if _, err := g.Next(ctx); err != nil {
		t.Fatalf("a context that lasts: %v", err)
	}
	before := g.Stats().Refusals
	canceled, cancel := context.WithCancel(ctx)
	taken = func() { other(); cancel() }
	if id, err := g.Next(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v, want context.Canceled", id, err)
	}
	if after := g.Stats().Refusals; after != before+1 {
		t.Errorf("%d refusals are counted, want one", after-before)
	}
}

// A wait that its caller ends counts as one refusal.
func TestCanceledWaitIsRefused(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := freshLayout()
	l.SequenceBits = 0
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for g.Stats().Waits == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if id, err := g.Next(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v, want context.Canceled", id, err)
	}
	if got := g.Stats(); got.Refusals != 1 || got.Waits != 1 {
		t.Errorf("%d refusals and %d waits are counted, want one of each", got.Refusals, got.Waits)
	}
}

// A call that waits for the tick of its slots counts once, even if it waits long. A
// call that need not wait does not count.
func TestWaitsAreCounted(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := freshLayout()
	l.SequenceBits = 2
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
	c := newChecker(t)
	c.try(g, 4)
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Fatalf("got %v, want a full tick", err)
	}
	if got := g.Stats().Waits; got != 0 {
		t.Errorf("%d waits of calls that have not waited", got)
	}
	stop := ticking(s)
	defer stop()
	dst := make([]id, 20) // five ticks
	if err := g.Fill(ctx, dst); err != nil {
		t.Fatal(err)
	}
	c.add(dst...)
	if got := g.Stats().Waits; got != 1 {
		t.Errorf("%d waits, want 1", got)
	}
}
