package snowflake_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

const (
	day = 24 * time.Hour

	// kept is how long a clock must keep its time until a jump is believed.
	kept = time.Minute
)

// checkRefused checks that all calls fail because the clock has jumped.
func checkRefused(t *testing.T, g *snowflake.Generator) {
	t.Helper()
	_, next := g.Next(ctx)
	_, tryNext := g.TryNext()
	for call, err := range map[string]error{"Next": next, "TryNext": tryNext, "Fill": g.Fill(ctx, make([]id, 10))} {
		if !errors.Is(err, snowflake.ErrClockJumped) {
			t.Fatalf("%s: got %v, want ErrClockJumped", call, err)
		}
	}
}

// checkFollows checks that IDs are issued, at the clock's time.
func checkFollows(t *testing.T, g *snowflake.Generator, s *script, c *checker) {
	t.Helper()
	c.try(g, 1)
	if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
		t.Fatalf("the ID says %v, the clock %v", got, s.now())
	}
	if err := g.Fill(ctx, make([]id, 10)); err != nil {
		t.Fatal(err)
	}
}

// A process that was started with its clock far behind issues again a minute after the
// clock was corrected, even if it is busy.
func TestCorrectedClockIsBelieved(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		c.try(g, 10)
		s.step(60 * day)
		const pause = 10 * time.Millisecond
		for range kept / pause {
			checkRefused(t, g)
			s.pass(pause)
		}
		checkFollows(t, g, s, c)
		if _, err := g.TryNext(); err != nil {
			t.Error(err)
		}
	})
}

// A jump is also believed on the machine's clock, where only some calls compare the clocks,
// mostly the calls that fail. Four callers try at different intervals. Each must get an ID
// soon after the minute.
func TestCorrectedMachineClockIsBelieved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.TwitterLayout()
		l.Epoch = time.UnixMilli(unique.Add(1))
		g := open(t, snowflake.Static(22, 1), snowflake.WithLayout(l))
		var skew atomic.Int64
		snowflake.Skew(g, func() time.Duration { return time.Duration(skew.Load()) })
		newChecker(t).try(g, 1)
		skew.Store(int64(60 * day))
		time.Sleep(time.Hour)
		start := time.Now()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for time.Since(start) < 2*kept {
					time.Sleep(time.Duration(i+1) * 10 * time.Millisecond)
					id, err := g.Next(t.Context())
					if err == nil {
						if at := l.Time(id); time.Since(at) > -60*day+time.Millisecond {
							t.Errorf("the ID says %v, 60 days before the clock", at)
						}
						break
					}
					if !errors.Is(err, snowflake.ErrClockJumped) {
						t.Error(err)
						break
					}
				}
				if took := time.Since(start); took < kept || took > kept+40*time.Millisecond {
					t.Errorf("believed after %v, want %v", took, kept)
				}
			})
		}
		all.Wait()
	})
}

// The error for a jump names its size and the limit, and what to do.
func TestJumpIsReportedWithItsNumbers(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		s.step(60 * day)
		_, err := g.TryNext()
		const want = "snowflake: the clock jumped 1440h0m0s ahead, more than WithMaxJump(720h0m0s): fix the clock; if it is right, it is believed once it has kept this time for 1m0s"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A jump is also believed by two calls that are a minute or more apart. If both find the
// same difference between the wall clock and the monotonic clock, these have run at one
// rate in between.
func TestCorrectedClockIsBelievedByRareCalls(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		c.try(g, 1)
		s.pass(10 * time.Hour)
		s.step(60 * day)
		s.pass(10 * time.Hour) // only calls notice it
		checkRefused(t, g)
		s.pass(kept - time.Millisecond)
		checkRefused(t, g)
		s.pass(time.Millisecond)
		checkFollows(t, g, s, c)
		s.step(60 * day)
		checkRefused(t, g)
		s.pass(time.Hour)
		checkFollows(t, g, s, c)
	})
}

// A jump is believed after a minute in which the difference between the wall clock and
// the monotonic clock has stayed the same, up to a second and a thousandth of the time.
// After a larger change the minute starts again.
func TestWhatAgreementIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		passes time.Duration // on both clocks, after the jump
		apart  time.Duration // a step of the wall clock after that
		agree  bool
	}{
		{"steady", kept, 0, true},
		{"a second ahead", kept, time.Second, true},
		{"a second behind", kept, -time.Second, true},
		{"more than a second ahead", kept, 1100 * time.Millisecond, false},
		{"more than a second behind", kept, -1100 * time.Millisecond, false},
		{"three seconds an hour", time.Hour, 3 * time.Second, true},
		{"five seconds an hour", time.Hour, 5 * time.Second, false},
		{"another jump", time.Hour, 40 * day, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, c := newScript(), newChecker(t)
			g := open(t, grantingSource(s.now(), 1e6*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
			s.step(60 * day)
			checkRefused(t, g)
			s.pass(tt.passes)
			s.step(tt.apart)
			if tt.agree {
				checkFollows(t, g, s, c)
				return
			}
			checkRefused(t, g)
			s.pass(kept - time.Millisecond)
			checkRefused(t, g)
			s.pass(time.Millisecond)
			checkFollows(t, g, s, c)
		})
	}
}

// A wall clock that has jumped, and runs at twice the speed, is never believed. Each
// change is small, but the changes add up over the minute.
func TestFastClockIsNeverBelieved(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, grantingSource(s.now(), 1e6*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	s.step(60 * day)
	for range 10 * kept / (100 * time.Millisecond) {
		checkRefused(t, g)
		s.pass(100 * time.Millisecond)
		s.step(100 * time.Millisecond)
	}
}

// A wall clock that has jumped, and keeps jumping, is never believed. Calls get IDs again
// once the clock is back at the right time.
func TestUnsteadyClockIsNeverBelieved(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		c.try(g, 10)
		s.step(60 * day)
		for i := range 400 {
			for range 5 {
				checkRefused(t, g)
				s.pass(kept / 6)
			}
			s.step([]time.Duration{40 * day, -40 * day}[i%2])
		}
		s.step(-60 * day)
		checkFollows(t, g, s, c)
	})
}

// After a jump the wall clock must keep its new time for a minute. A step back of ten
// seconds starts this minute again.
func TestStepBackStartsTheMinuteAgain(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		s.step(60 * day)
		checkRefused(t, g)
		s.pass(kept - time.Second)
		checkRefused(t, g)
		s.step(-10 * time.Second)
		checkRefused(t, g)
		s.pass(kept - time.Second)
		checkRefused(t, g)
		s.pass(time.Second)
		checkFollows(t, g, s, newChecker(t))
	})
}

// A clock jumps and is not believed. It keeps its wrong time for half of the time after
// which it would be believed, and returns. The generator then follows the clock at once.
// When the clock jumps again, this half must not count, or the second jump would be
// believed too early.
func TestJumpAndReturn(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		for range 5 {
			s.step(60 * day)
			checkRefused(t, g)
			s.pass(kept / 2)
			checkRefused(t, g)
			s.step(-60 * day)
			s.pass(time.Millisecond)
			checkFollows(t, g, s, c)
		}
	})
}

// Once the generator has believed a jump ahead, a step back to the time before the jump
// is an error, as any large step back is. It does not count as the end of the jump.
func TestStepBackFromABelievedJump(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock)
		c := newChecker(t)
		s.step(60 * day)
		checkRefused(t, g)
		s.pass(kept)
		checkFollows(t, g, s, c)
		s.step(-60 * day)
		if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
			t.Errorf("got %v, want ErrClockBackwards", err)
		}
	})
}

// openWithGrant returns a generator and its grant.
func openWithGrant(t *testing.T, s *script, opts ...snowflake.Option) (*snowflake.Generator, *snowflake.Grant) {
	t.Helper()
	src := &keepingSource{windows: newWindows(snowflake.TwitterLayout(), s.now, 1e6*time.Hour)}
	return open(t, src, opts...), src.grant
}

// checkBelieves checks that the grant's Now returns the clock's time.
func checkBelieves(t *testing.T, grant *snowflake.Grant, s *script) {
	t.Helper()
	if now, err := grant.Now(); err != nil || !now.Equal(s.now()) {
		t.Fatalf("Now = %v, %v, want %v", now, err, s.now())
	}
}

// checkDisbelieves checks that the grant's Now returns the error for a jump.
func checkDisbelieves(t *testing.T, grant *snowflake.Grant) {
	t.Helper()
	if now, err := grant.Now(); !errors.Is(err, snowflake.ErrClockJumped) || !now.IsZero() {
		t.Fatalf("Now = %v, %v, want ErrClockJumped", now, err)
	}
}

// Grant.Now shows the source the clock that the generator follows, with the same limit for
// jumps.
func TestNow(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, _ snowflake.WorkerSource) {
		g, grant := openWithGrant(t, s, clock, snowflake.WithMaxJump(time.Hour))
		c := newChecker(t)
		checkBelieves(t, grant, s)
		c.try(g, 10)
		s.step(30 * time.Minute)
		checkBelieves(t, grant, s)
		checkFollows(t, g, s, c)
		s.step(2 * time.Hour)
		checkDisbelieves(t, grant)
		checkRefused(t, g)
		s.pass(kept)
		checkBelieves(t, grant, s)
		checkFollows(t, g, s, c)
		s.step(-30 * time.Minute)
		checkBelieves(t, grant, s)
		c.try(g, 10)
	})
}

// An idle generator believes a jump without a call of its own, because each call of
// Grant.Now compares the clocks. The first ID then comes at once.
func TestNowLetsAnIdleGeneratorBelieve(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, _ snowflake.WorkerSource) {
		g, grant := openWithGrant(t, s, clock)
		c := newChecker(t)
		s.step(60 * day)
		for range 3 {
			checkDisbelieves(t, grant)
			s.pass(kept / 3)
		}
		checkBelieves(t, grant, s)
		checkFollows(t, g, s, c)
	})
}

// Like Next, Now makes an idle generator follow a step back.
func TestNowFollowsAStepBack(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, _ snowflake.WorkerSource) {
		g, grant := openWithGrant(t, s, clock, snowflake.OnClockBackwards(snowflake.Fail()))
		c := newChecker(t)
		c.try(g, 1)
		s.pass(10 * time.Minute)
		s.step(-9 * time.Minute)
		checkBelieves(t, grant, s)
		s.pass(time.Millisecond)
		c.try(g, 1)
		if got := g.Layout().Time(c.last); !got.Equal(s.now()) {
			t.Errorf("the ID says %v, the clock %v", got, s.now())
		}
	})
}

// Under WithLogicalTime, Now of the grant does not believe a jump that is larger than
// WithMaxJump until the clock has kept its new time. The generator issues IDs meanwhile.
func TestNowInLogicalTime(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, _ snowflake.WorkerSource) {
		g, grant := openWithGrant(t, s, clock, snowflake.WithLogicalTime(), snowflake.WithMaxJump(time.Hour))
		c := newChecker(t)
		c.try(g, 10)
		s.step(2 * time.Hour)
		checkDisbelieves(t, grant)
		c.try(g, 10_000)
		s.pass(kept)
		checkBelieves(t, grant, s)
		s.step(-time.Hour)
		checkBelieves(t, grant, s)
		c.try(g, 10_000)
		if got := g.Layout().Time(c.last).Sub(g.Layout().Time(minKey(c))); got > 10*time.Millisecond {
			t.Errorf("20,010 IDs took %v of logical time, want 5 ticks", got)
		}
	})
}

// Grant.Now returns the machine's time until a generator holds the grant. After that it
// returns the time of the generator's clock, also after Revoke, and after the generator is
// closed. It must then still reject a jump that is larger than the generator allowed.
func TestNowBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := &keepingSource{windows: newWindows(snowflake.TwitterLayout(), s.now, time.Hour)}
	before := time.Now()
	grant, err := src.Grant(ctx, src.layout)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := grant.Now(); err != nil || now.Before(before.Round(0)) || time.Since(now) > time.Minute {
		t.Errorf("Now = %v, %v, want the machine's time", now, err)
	}
	g, err := snowflake.New(src, snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	checkBelieves(t, src.grant, s)
	src.grant.Revoke()
	checkBelieves(t, src.grant, s)
	if err := g.Close(ctx); err != nil && !strings.Contains(err.Error(), "is not below the bound") {
		t.Fatal(err)
	}
	checkBelieves(t, src.grant, s)
	s.step(60 * day)
	checkDisbelieves(t, src.grant)
}

// TestNowUnderLoad checks that Grant.Now, which a worker source calls, never fails while
// other goroutines issue IDs, and that no ID is issued twice. It runs on the machine's
// clock and on a scripted clock that steps.
func TestNowUnderLoad(t *testing.T) {
	t.Parallel()
	s := newScript()
	for name, opts := range map[string][]snowflake.Option{"machine": nil, "script": {snowflake.WithReadings(s.read)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &keepingSource{windows: newWindows(snowflake.TwitterLayout(), time.Now, 1e6*time.Hour)}
			g := open(t, src, opts...)
			var stop atomic.Bool
			var wg sync.WaitGroup
			issued := make([][]id, 4)
			for i := range issued {
				wg.Go(func() {
					for !stop.Load() {
						if id, err := g.TryNext(); err == nil && len(issued[i]) < 10_000 {
							issued[i] = append(issued[i], id)
						}
					}
				})
			}
			for range 2 {
				wg.Go(func() {
					for !stop.Load() {
						if _, err := src.grant.Now(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for i := range 50 {
				time.Sleep(100 * time.Microsecond)
				s.pass(time.Millisecond)
				s.step([]time.Duration{-time.Hour, 0, time.Hour, -time.Millisecond, 20 * time.Millisecond}[i%5])
			}
			stop.Store(true)
			wg.Wait()
			seen := make(map[id]bool)
			for _, ids := range issued {
				c := checker{t: t, seen: seen}
				c.add(ids...)
			}
		})
	}
}
