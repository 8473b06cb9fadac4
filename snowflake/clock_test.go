package snowflake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// eachClock runs the test on both kinds of clock, whose time the test moves by s. The first
// kind has two readings, of a wall clock and a monotonic clock, as a machine has. The
// second kind is the wall clock alone, by WithClock. The test gets a source that is a
// *windows, whose method fixedWorker returns the source of a fixed worker.
func eachClock(t *testing.T, test func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource)) {
	t.Helper()
	t.Parallel()
	for name, option := range map[string]func(*script) snowflake.Option{
		"two readings": func(s *script) snowflake.Option { return snowflake.WithReadings(s.read) },
		"wall clock":   func(s *script) snowflake.Option { return snowflake.WithClock(s.now) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			test(t, s, option(s), newWindows(snowflake.TwitterLayout(), s.now, time.Hour*1000))
		})
	}
}

// IDs stay unique and rise while the wall clock steps as real clocks do: small corrections,
// an hour at once, jitter, a jump ahead, and the suspension of the machine. No call fails.
func TestStepsBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy snowflake.ClockPolicy
		play   func(s *script, issue func(n int))
	}{
		{"1 ms back and return", snowflake.Tolerate(2 * time.Second), func(s *script, issue func(int)) {
			for range 100 {
				issue(10)
				s.step(-time.Millisecond)
				issue(10)
				s.step(time.Millisecond)
				issue(10)
				s.pass(time.Millisecond)
			}
		}},
		{"1 h back", snowflake.Tolerate(2 * time.Hour), func(s *script, issue func(int)) {
			issue(1000)
			s.step(-time.Hour)
			for range 1000 {
				issue(20)
				s.pass(time.Millisecond)
			}
			s.step(time.Hour)
			issue(20)
		}},
		{"back by 30 ticks, walk on", snowflake.Tolerate(2 * time.Second), func(s *script, issue func(int)) {
			for range 40 {
				issue(20)
				s.pass(time.Millisecond)
			}
			s.step(-30 * time.Millisecond)
			for range 50 {
				issue(20)
				s.pass(time.Millisecond)
			}
		}},
		{"jitter", snowflake.Tolerate(2 * time.Second), func(s *script, issue func(int)) {
			r := rand.New(rand.NewPCG(3, 4))
			var off time.Duration
			for range 20000 {
				issue(1)
				s.pass(100 * time.Microsecond)
				s.step(-off)
				off = time.Duration(r.IntN(10_000)-5000) * time.Microsecond
				s.step(off)
			}
		}},
		{"jump ahead", snowflake.Tolerate(2 * time.Second), func(s *script, issue func(int)) {
			issue(100)
			s.step(24 * time.Hour)
			issue(100)
		}},
		{"suspend", snowflake.Tolerate(2 * time.Second), func(s *script, issue func(int)) {
			for range 5 {
				issue(100)
				s.pass(time.Millisecond)
				s.step(8 * time.Hour) // the monotonic clock stands still in a suspended machine
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
				layout := snowflake.TwitterLayout()
				g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.OnClockBackwards(tt.policy))
				c := newChecker(t)
				tt.play(s, func(n int) { c.try(g, n) })
				if lead := layout.Time(c.last).Sub(s.now()); lead > 2*time.Hour {
					t.Errorf("the last ID is %v ahead of the clock", lead)
				}
			})
		})
	}
}

// A generator follows a step of the clock forward at once. The time in its next ID is
// exactly the clock's time.
func TestStepForwardIsTaken(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		c.try(g, 1)
		for _, step := range []time.Duration{time.Millisecond, time.Second, 10 * 24 * time.Hour} {
			s.step(step)
			c.try(g, 1)
			if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
				t.Errorf("after a step of %v the ID says %v, the clock %v", step, got, s.now())
			}
		}
	})
}

// Calls fail after a jump ahead that is larger than the limit, until the clock is back.
func TestMaxJump(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.WithMaxJump(time.Hour))
		c := newChecker(t)
		c.try(g, 10)
		s.step(2 * time.Hour)
		_, err := g.TryNext()
		if err == nil || !strings.Contains(err.Error(), "the clock jumped 2h0m0s ahead, more than WithMaxJump(1h0m0s)") {
			t.Fatalf("got %v", err)
		}
		s.step(-2 * time.Hour)
		s.pass(time.Millisecond)
		c.try(g, 10)
		if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
			t.Errorf("the ID says %v, the clock %v", got, s.now())
		}
	})
}

// A step forward of exactly WithMaxJump is followed.
func TestMaxJumpItself(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.WithMaxJump(time.Hour))
		c := newChecker(t)
		c.try(g, 10)
		s.step(time.Hour)
		c.try(g, 10)
		if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
			t.Errorf("the ID says %v, the clock %v", got, s.now())
		}
	})
}

// Under the policy Fail, a call is refused, and a step back is counted, only if the step is
// at least a tick.
func TestStepBackOfATick(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		back  time.Duration
		steps uint64
	}{{time.Millisecond - 1, 0}, {time.Millisecond, 1}} {
		s := newScript()
		g := open(t, snowflake.Static(19, int64(i)), snowflake.WithReadings(s.read), snowflake.OnClockBackwards(snowflake.Fail()))
		newChecker(t).try(g, 1)
		s.step(-tt.back)
		_, err := g.TryNext()
		if refused := errors.Is(err, snowflake.ErrClockBackwards); refused != (tt.steps > 0) || g.Stats().BackwardSteps != tt.steps {
			t.Errorf("%v back: %v and %d steps, want %d", tt.back, err, g.Stats().BackwardSteps, tt.steps)
		}
	}
}

// A lag is rounded up to whole ticks. A lag of a nanosecond is therefore one tick, and
// the next ID may still use a free sequence number of the tick before.
func TestLagIsRoundedUp(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	g := open(t, snowflake.Static(19, 2), snowflake.WithReadings(s.read), snowflake.WithLag(1))
	c.try(g, 1)
	first := g.Layout().Time(c.last)
	s.pass(time.Millisecond)
	if c.try(g, 1); !g.Layout().Time(c.last).Equal(first) {
		t.Errorf("the ID says %v, want the tick before, %v", g.Layout().Time(c.last), first)
	}
}

// Under Fail all calls fail while the clock is behind. The step counts once, and each
// call as a refusal.
func TestFail(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.OnClockBackwards(snowflake.Fail()))
		c := newChecker(t)
		c.try(g, 10)
		s.step(-time.Hour)
		for range 3 {
			s.pass(time.Millisecond)
			if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
				t.Fatalf("got %v, want ErrClockBackwards", err)
			}
			if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrClockBackwards) {
				t.Fatalf("got %v, want ErrClockBackwards", err)
			}
		}
		s.step(time.Hour)
		c.try(g, 10)
		stats := g.Stats()
		if stats.BackwardSteps != 1 || stats.LargestBackwardStep.Round(time.Second) != time.Hour || stats.Refusals != 6 {
			t.Errorf("%+v, want one step of 1h and 6 refusals", stats)
		}
	})
}

// By default a generator of a fixed worker continues after a step back of two seconds.
// While the clock is a millisecond further behind, TryNext fails.
func TestDefaultToleratesTwoSeconds(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		c.try(g, 10)
		s.step(-2 * time.Second)
		c.try(g, 10)
		s.step(-time.Millisecond)
		_, err := g.TryNext()
		if !errors.Is(err, snowflake.ErrClockBackwards) || !strings.Contains(err.Error(), "it is 2.001s behind, OnClockBackwards allows 2s") {
			t.Fatalf("got %v", err)
		}
	})
}

// An idle generator follows a step back to a time after its last ID even under Fail,
// because no ID can repeat then.
func TestStepBackBehindLastID(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.OnClockBackwards(snowflake.Fail()))
		c := newChecker(t)
		c.try(g, 1)
		s.pass(10 * time.Minute)
		s.step(-9 * time.Minute)
		c.try(g, 1)
		s.pass(time.Millisecond)
		c.try(g, 1)
		if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
			t.Errorf("the ID says %v, the clock %v", got, s.now())
		}
	})
}

// A step back is over when the wall clock reaches the tick after the tick of the last ID, or
// one tick later if that ID took the last slot of its tick. Under the policy Wait, calls wait
// until then and no longer.
func TestWhenAStepBackIsOver(t *testing.T) {
	t.Parallel()
	const tick = time.Millisecond
	for name, test := range map[string]struct {
		issued int // number of issued IDs of the tick, which has four
		over   time.Duration
	}{
		"one ID":           {1, tick},
		"all but the last": {3, tick},
		"the last":         {4, 2 * tick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := func(policy snowflake.ClockPolicy) (*script, *snowflake.Generator, *checker) {
				s, c, l := newScript(), newChecker(t), freshLayout()
				l.SequenceBits = 2
				g := open(t, grantingSource(s.now(), time.Hour), snowflake.WithLayout(l), snowflake.WithReadings(s.read),
					snowflake.OnClockBackwards(policy), snowflake.WithSequenceStart(snowflake.StartZero))
				c.try(g, test.issued)
				return s, g, c
			}
			t.Run("fail", func(t *testing.T) {
				t.Parallel()
				s, g, c := start(snowflake.Fail())
				s.pass(10 * tick)
				s.step(test.over - tick - 10*tick)
				if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
					t.Errorf("a tick too early: got %d, %v, want ErrClockBackwards", id, err)
				}
				s.pass(tick)
				c.try(g, 1)
			})
			t.Run("wait", func(t *testing.T) {
				t.Parallel()
				s, g, c := start(snowflake.Wait(time.Second))
				s.step(-100 * tick)
				want := fmt.Sprintf("it will have caught up in %v", 100*tick+test.over)
				if _, err := g.TryNext(); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				s.pass(100*tick + test.over)
				c.try(g, 1)
			})
		})
	}
}

// Under Wait, Next waits until the clock has caught up. TryNext fails instead.
func TestWait(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, snowflake.Static(1, 1), snowflake.WithLayout(freshLayout()),
		snowflake.WithReadings(s.read), snowflake.OnClockBackwards(snowflake.Wait(time.Second)))
	c := newChecker(t)
	c.try(g, 10)
	s.step(-100 * time.Millisecond)
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
		t.Fatalf("TryNext: got %v, want ErrClockBackwards", err)
	}
	stop := ticking(s)
	defer stop()
	id, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.add(id)
	if lead := g.Layout().Time(id).Sub(s.now()); lead > 0 {
		t.Errorf("after the wait the ID is %v ahead of the clock", lead)
	}
}

// ticking moves both clocks of s forward by a millisecond in about every millisecond, until
// stop is called, so that a call of Next that waits for these clocks can end.
func ticking(s *script) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				s.pass(time.Millisecond)
			}
		}
	}()
	return func() { close(done) }
}

// Generators of one fixed worker follow each other within a tick. No ID is repeated,
// because each generator starts above the last tick of the closed generator.
func TestCloseAndReopenWithinOneTick(t *testing.T) {
	for _, lag := range []time.Duration{0, 10 * time.Millisecond} {
		t.Run(lag.String(), func(t *testing.T) {
			t.Parallel()
			s, c, layout := newScript(), newChecker(t), freshLayout()
			for range 20 {
				g, err := snowflake.New(snowflake.Static(2, 2), snowflake.WithLayout(layout),
					snowflake.WithReadings(s.read), snowflake.WithLag(lag))
				if err != nil {
					t.Fatal(err)
				}
				stop := ticking(s)
				for range 10 {
					id, err := g.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					c.add(id)
				}
				stop()
				if err := g.Close(ctx); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// The clock is set back between generators of the same fixed worker, first by a second and
// then by an hour. The default policy, which tolerates a step back of up to two seconds,
// applies to the next generator as if it had existed before the step. So the generator
// after the first step issues IDs, and the generator after the second step fails. No ID is
// repeated.
func TestReopenAfterStepBack(t *testing.T) {
	t.Parallel()
	s, c, layout := newScript(), newChecker(t), freshLayout()
	reopen := func(play func(g *snowflake.Generator)) {
		g, err := snowflake.New(snowflake.Static(3, 3), snowflake.WithLayout(layout), snowflake.WithReadings(s.read))
		if err != nil {
			t.Fatal(err)
		}
		play(g)
		if err := g.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	reopen(func(g *snowflake.Generator) { c.try(g, 100) })
	s.step(-time.Second)
	reopen(func(g *snowflake.Generator) { c.try(g, 100) })
	s.step(-time.Hour)
	reopen(func(g *snowflake.Generator) {
		if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
			t.Fatalf("got %v, want ErrClockBackwards", err)
		}
	})
	s.step(time.Hour + 2*time.Second)
	reopen(func(g *snowflake.Generator) { c.try(g, 100) })
}

// The previous process's window ends a minute after the present, as it does if the clock was
// set back. So the generator starts ahead of the clock, and under Fail its very first call
// must fail. That call must not succeed on the fast path of next.
func TestReopenAfterStepBackOnMachineClock(t *testing.T) {
	t.Parallel()
	w := newWindows(snowflake.TwitterLayout(), time.Now, time.Hour)
	w.bounds[0] = time.Now().Add(time.Minute)
	g := open(t, w, snowflake.OnClockBackwards(snowflake.Fail()))
	if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
		t.Errorf("got %d, %v, want ErrClockBackwards: the previous process's window ends in a minute", id, err)
	}
}

// With a lag of 10 ms a burst can use the sequence numbers of the last ten ticks, but no
// number of an older tick, of a tick before the start, or of a tick in the future.
func TestLag(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	g := open(t, snowflake.Static(4, 4), snowflake.WithLayout(freshLayout()),
		snowflake.WithReadings(s.read), snowflake.WithLag(10*time.Millisecond))
	start := s.now()
	s.pass(10 * time.Millisecond)
	c.try(g, 40_000)
	if got := g.Layout().Time(c.last); got.After(s.now()) {
		t.Errorf("the last ID of the burst says %v, the clock %v", got, s.now())
	}
	if first := g.Layout().Time(minKey(c)); first.Before(start) {
		t.Errorf("the first ID says %v, before the start %v", first, start)
	}
	if _, err := tryAll(g, 6000); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Errorf("got %v, want ErrSequenceExhausted", err)
	}
	s.pass(time.Second)
	id, err := g.TryNext()
	if age := s.now().Sub(g.Layout().Time(id)); err != nil || age > 10*time.Millisecond {
		t.Errorf("%v, %v: the ID is %v old, want at most 10ms", id, err, age)
	}
}

// The unused time of the lag absorbs a small step back. The policy does not apply, so calls
// succeed even under Fail.
func TestLagTakesStepBack(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	g := open(t, snowflake.Static(5, 5), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read),
		snowflake.WithLag(10*time.Millisecond), snowflake.OnClockBackwards(snowflake.Fail()))
	s.pass(time.Second)
	c.try(g, 10)
	s.step(-5 * time.Millisecond)
	c.try(g, 10)
	if got := g.Layout().Time(c.last); got.After(s.now()) {
		t.Errorf("the ID says %v, the clock %v", got, s.now())
	}
}

// Under WithClock the policy applies to small steps back too. After a tolerated small
// step, time stands still until the clock has made up for it.
func TestSmallStepsBackOfTheOnlyClock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy snowflake.ClockPolicy
		back   time.Duration
		refuse bool // whether TryNext fails after the step
		moves  bool // whether time moves while the clock makes up for the step
	}{
		// name, policy, back, refuse, moves
		{"fail", snowflake.Fail(), 5 * time.Millisecond, true, false},
		{"wait for less", snowflake.Wait(2 * time.Millisecond), 5 * time.Millisecond, true, false},
		{"wait", snowflake.Wait(10 * time.Millisecond), 5 * time.Millisecond, true, false}, // TryNext does not wait
		{"tolerate less", snowflake.Tolerate(2 * time.Millisecond), 5 * time.Millisecond, true, false},
		{"tolerate", snowflake.Tolerate(20 * time.Millisecond), 5 * time.Millisecond, false, false},
		{"tolerate 20 ticks", snowflake.Tolerate(time.Second), 20 * time.Millisecond, false, false},
		{"tolerate more", snowflake.Tolerate(time.Second), 21 * time.Millisecond, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			g := open(t, newWindows(snowflake.TwitterLayout(), s.now, time.Hour).fixedWorker(t), snowflake.WithClock(s.now), snowflake.OnClockBackwards(tt.policy))
			c := newChecker(t)
			c.try(g, 1)
			before := g.Layout().Time(c.last)
			s.step(-tt.back)
			if _, err := g.TryNext(); errors.Is(err, snowflake.ErrClockBackwards) != tt.refuse {
				t.Fatalf("got %v, refused: want %v", err, tt.refuse)
			}
			if tt.refuse {
				return
			}
			s.step(4 * time.Millisecond)
			c.try(g, 1)
			if moved := g.Layout().Time(c.last).After(before); moved != tt.moves {
				t.Errorf("time has moved from %v to %v, want that: %v", before, g.Layout().Time(c.last), tt.moves)
			}
		})
	}
}

// When the generator follows a step back, it takes a slot and issues no ID in it. A call
// that has read the old time then fails to commit. At the window's end there is no such
// slot. In this test, the source extends the window before that call continues. The call
// must not get a slot of the extended window at the old time either.
func TestStepBackBeforeAnExtension(t *testing.T) {
	t.Parallel()
	l, s := freshLayout(), newScript()
	l.SequenceBits = 2
	var grant *snowflake.Grant
	src := &faultySource{grant: func(l snowflake.Layout) (g *snowflake.Grant, err error) {
		grant, err = snowflake.NewGrant(l, 0, 0, s.now(), s.now().Add(10*time.Millisecond))
		return grant, err
	}}
	var readingsLeft atomic.Int64 // until the reading at which the test holds the call
	entered, resume := make(chan struct{}), make(chan struct{})
	read := func() (time.Time, time.Duration) {
		wall, elapsed := s.read()
		if readingsLeft.Add(-1) == 0 {
			close(entered)
			<-resume
		}
		return wall, elapsed
	}
	g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(read), snowflake.OnClockBackwards(snowflake.Fail()))
	s.pass(9 * time.Millisecond)
	if err := g.Fill(ctx, make([]id, 1<<l.SequenceBits)); err != nil {
		t.Fatal(err)
	}
	s.pass(100 * time.Millisecond)
	readingsLeft.Store(3) // the reading of the time, after the comparison
	done := make(chan id)
	go func() {
		id, _ := g.TryNext()
		done <- id
	}()
	<-entered
	s.step(-50 * time.Millisecond)
	if _, err := grant.Now(); err != nil {
		t.Fatal(err)
	}
	grant.Extend(s.now().Add(time.Second))
	close(resume)
	if id := <-done; id > 0 && l.Time(id).After(s.now()) {
		t.Errorf("issued at %v, the clock shows %v", l.Time(id), s.now())
	}
	if _, err := g.TryNext(); err != nil {
		t.Error(err)
	}
}
