package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// Follow makes logical time follow a step back only if the function commit, its argument,
// returns true. Otherwise calls that have read the old time and calls that have read the new
// time could issue the same ID.
func TestFollow(t *testing.T) {
	t.Parallel()
	const back = 10 * time.Minute
	for name, test := range map[string]struct {
		commits         bool
		logical, offset time.Duration
	}{
		"committed": {true, time.Hour - back, 0},
		"not":       {false, time.Hour, -back},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			epoch := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
			wall := epoch.Add(time.Hour)
			var c clock.Clock
			c.Init(clock.Config{
				Epoch: epoch, Tick: time.Millisecond, MaxJump: time.Hour,
				Read: func() (time.Time, time.Duration) { return wall, time.Minute },
			})
			wall = wall.Add(-back)
			c.Lock()
			defer c.Unlock()
			if now, offset := c.Compare(); !now.Equal(wall) || offset != -back {
				t.Fatalf("Compare = %v, %v, want %v, %v", now, offset, wall, -back)
			}
			c.Follow(-back, func() bool {
				if got := c.Now().Logical; got != time.Hour-back {
					t.Errorf("logical time is %v during the commit, want %v", got, time.Hour-back)
				}
				return test.commits
			})
			if got := c.Now().Logical; got != test.logical || c.Offset() != test.offset {
				t.Errorf("logical time is %v, the offset %v, want %v, %v", got, c.Offset(), test.logical, test.offset)
			}
			if steps, largest := c.StepsBack(); steps != 1 || largest != back {
				t.Errorf("%d steps back, the largest %v, want 1, %v", steps, largest, back)
			}
		})
	}
}

// The process may have been paused between the two clocks of a reading. Compare uses
// the best of three readings. One reading without a pause is enough.
func TestCompareTakesTheBestReading(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		pauses []time.Duration // of the readings, in turn
		want   time.Duration   // the offset that Compare returns
		reads  int
		moves  time.Duration // of logical time
	}{
		// pauses, want, reads, moves
		"none":   {[]time.Duration{0}, 0, 1, 0},
		"noise":  {[]time.Duration{49_999}, 0, 1, 0},
		"a step": {[]time.Duration{50_000, 50_000, 50_000}, -50_000, 3, 0},
		"first":  {[]time.Duration{9 * ms, 0}, 0, 2, 0},
		"worst":  {[]time.Duration{9 * ms, 3 * ms, 5 * ms}, -3 * ms, 3, 0},
		"rising": {[]time.Duration{2 * ms, 3 * ms, 5 * ms}, -2 * ms, 3, 0},
		"ahead":  {[]time.Duration{-2 * ms, 2 * ms, 3 * ms}, 0, 3, 2 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			epoch := time.Now().Add(-time.Hour)
			var c clock.Clock
			c.Init(clock.Config{Epoch: epoch, Tick: ms, MaxJump: time.Hour})
			logical, base := c.Now().Logical, c.Base()
			reads := 0
			c.Read = func() (time.Time, time.Duration) {
				pause := test.pauses[reads]
				reads++
				return epoch.Add(logical), logical - c.Base() + pause
			}
			c.Lock()
			defer c.Unlock()
			if _, offset := c.Compare(); offset != test.want || reads != test.reads {
				t.Errorf("offset %v after %d readings, want %v after %d", offset, reads, test.want, test.reads)
			}
			if got := c.Base() - base; got != test.moves {
				t.Errorf("logical time has moved by %v, want %v", got, test.moves)
			}
		})
	}
}

// A comparison reads a scripted clock only once, and treats no step of it as noise.
func TestCompareReadsAScriptedClockOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Minute, 1, 0, -1, -49_999, -50_000, -time.Minute} {
		c, wall, _ := newScripted()
		*wall += step
		read, reads := c.Read, 0
		c.Read = func() (time.Time, time.Duration) {
			reads++
			return read()
		}
		c.Lock()
		want := min(step, 0) // a step forward is followed
		if _, offset := c.Compare(); offset != want || reads != 1 {
			t.Errorf("offset %v after %d readings, want %v after one", offset, reads, want)
		}
		if got := c.Now().Logical; got != *wall-want {
			t.Errorf("logical time is %v, want %v", got, *wall-want)
		}
		c.Unlock()
	}
}

// If a clock returns from a jump that was not believed, it has made a step back only as
// far as it is behind logical time.
func TestStepBackFromAJump(t *testing.T) {
	t.Parallel()
	const tick = time.Millisecond
	for behind, want := range map[time.Duration]uint64{0: 0, tick - 1: 0, tick: 1} {
		c, wall, _ := newScripted()
		c.Lock()
		*wall += 2 * time.Hour
		if _, offset := c.Compare(); offset != 2*time.Hour {
			t.Fatalf("offset %v, want that the jump is not believed", offset)
		}
		*wall -= 2*time.Hour + behind
		c.Compare()
		if steps, largest := c.StepsBack(); steps != want || steps > 0 && largest != behind {
			t.Errorf("%v behind: %d steps back, the largest %v, want %d", behind, steps, largest, want)
		}
		c.Unlock()
	}
}

// The first caller that sleeps is the leader. When its sleep is over, it wakes the callers
// that would wait longer. A caller for whom that would be too late sleeps alone. The first
// caller after the leader's sleep is the next leader.
func TestSleepTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c clock.Clock
		c.Init(clock.Config{Epoch: time.Now(), Tick: time.Millisecond, MaxJump: time.Hour})
		start := time.Now()
		slept := func(left time.Duration) <-chan time.Duration {
			done := make(chan time.Duration, 1)
			go func() {
				if err := c.Sleep(t.Context(), left); err != nil {
					t.Error(err)
				}
				done <- time.Since(start)
			}()
			synctest.Wait()
			return done
		}
		leader := slept(30 * time.Millisecond)
		follower, early := slept(time.Second), slept(5*time.Millisecond)
		if got := <-early; got >= 10*time.Millisecond {
			t.Errorf("the one whose tick comes first has slept for %v of 5ms", got)
		}
		first, second := <-leader, <-follower
		if first != second || first > 30*time.Millisecond {
			t.Errorf("the leader has slept for %v, the follower for %v, want the same, up to 30ms", first, second)
		}
		if got := <-slept(time.Second); got <= first {
			t.Errorf("the next one has slept until %v, as if the previous leader were there", got)
		}
	})
}

// A caller sleeps with the leader if the caller's tick comes at most 70 µs before the
// leader's tick, because any sleeper may wake up 70 µs late. Otherwise the caller sleeps
// alone. The two cases are 70 µs, and a nanosecond more. A leader, and a caller that sleeps
// alone, wakes up a millisecond before its tick.
func TestSleepUntilALateLeader(t *testing.T) {
	t.Parallel()
	const due, late = 30 * time.Millisecond, 70 * time.Microsecond
	for _, test := range []struct{ left, want time.Duration }{
		{due - late, due - time.Millisecond},                // with the leader
		{due - late - 1, due - late - 1 - time.Millisecond}, // alone
	} {
		t.Run(test.left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				c.Init(clock.Config{Epoch: time.Now(), Tick: time.Millisecond, MaxJump: time.Hour})
				start := time.Now()
				go func() { _ = c.Sleep(t.Context(), due) }()
				synctest.Wait()
				if err := c.Sleep(t.Context(), test.left); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != test.want {
					t.Errorf("slept for %v, want %v", got, test.want)
				}
			})
		})
	}
}

// A scripted clock may move at any time, so Sleep reads it every millisecond.
func TestSleepOnAScriptedClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newScripted()
		for left, want := range map[time.Duration]time.Duration{1: 1, time.Millisecond: time.Millisecond, time.Hour: time.Millisecond} {
			start := time.Now()
			if err := c.Sleep(t.Context(), left); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("slept for %v of %v, want %v", got, left, want)
			}
		}
	})
}

// A caller stops waiting as soon as its context ends, whether it waits for the leader or
// sleeps alone.
func TestCanceledSleepWithALeader(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"with the leader": time.Second, "alone": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				c.Init(clock.Config{Epoch: time.Now(), Tick: time.Millisecond, MaxJump: time.Hour})
				start := time.Now()
				go func() { _ = c.Sleep(t.Context(), 30*time.Millisecond) }()
				synctest.Wait()
				short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if err := c.Sleep(short, left); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
					t.Errorf("got %v after %v, want DeadlineExceeded after 1ms", err, time.Since(start))
				}
			})
		})
	}
}

// A sleep of any length ends with the error of the context, if the context has ended.
func TestCanceledSleep(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{50 * time.Microsecond, 500 * time.Microsecond, 30 * time.Millisecond} {
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				c.Init(clock.Config{Epoch: time.Now(), Tick: time.Millisecond, MaxJump: time.Hour})
				canceled, cancel := context.WithCancel(t.Context())
				cancel()
				if err := c.Sleep(canceled, left); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want context.Canceled", err)
				}
			})
		})
	}
}

// A long sleep ends before its time, so that the caller notices a step of the clock and
// can sleep precisely for the last millisecond. At the very end the caller yields
// instead of sleeping, for a limited time if the clock stands still.
func TestSleepEndsEarly(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{1, 69_999, 70_000, 70_001, 500_000, 1_070_000, 1_070_001, 2_000_000, 50_999_999, 51_000_000, 51_000_001, time.Hour} {
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				c.Init(clock.Config{Epoch: time.Now(), Tick: time.Millisecond, MaxJump: time.Hour})
				want := left
				switch {
				case left > time.Millisecond+70*time.Microsecond:
					want = min(left-time.Millisecond, 50*time.Millisecond)
				case left > 70*time.Microsecond:
					want = left - 70*time.Microsecond
				}
				for _, ctx := range []context.Context{t.Context(), context.Background()} {
					start := time.Now()
					if err := c.Sleep(ctx, left); err != nil {
						t.Fatal(err)
					}
					if got := time.Since(start); got != want {
						t.Errorf("slept for %v, want %v", got, want)
					}
				}
			})
		})
	}
}

// newStarted returns a clock on the machine's clock, an hour after its epoch.
func newStarted() *clock.Clock {
	c := new(clock.Clock)
	c.Init(clock.Config{Epoch: time.Now().Add(-time.Hour).Round(0), Tick: time.Millisecond, MaxJump: time.Hour})
	return c
}

// A comparison of logical time with the wall clock is trusted for MaxUncompared. The moment
// of the comparison is between before and after, so the test uses before for the times at
// which it must still be trusted, and after for the other times.
func TestTrust(t *testing.T) {
	t.Parallel()
	c := newStarted()
	if !c.Due(c.Now()) {
		t.Error("the first call does not compare the clocks")
	}
	c.Lock()
	defer c.Unlock()
	before := c.Now()
	c.Compare()
	c.Trust()
	after := c.Now()
	for late, want := range map[time.Duration]bool{-1: true, 0: false, time.Hour: false} {
		if got := c.Trusts(c.Elapsed(before.Logical) + clock.MaxUncompared + late); got != want && late < 0 {
			t.Errorf("%v after the comparison: trusted %v, want %v", clock.MaxUncompared+late, got, want)
		}
		if got := c.Trusts(c.Elapsed(after.Logical) + clock.MaxUncompared + late); got != want && late >= 0 {
			t.Errorf("%v after the comparison: trusted %v, want %v", clock.MaxUncompared+late, got, want)
		}
	}
	if c.Distrust(); !c.Due(after) {
		t.Error("trusted after Distrust")
	}
}

// A test moves a scripted clock at any time, so that no comparison is trusted.
func TestScriptedClockIsNeverTrusted(t *testing.T) {
	t.Parallel()
	c, _, _ := newScripted()
	c.Lock()
	defer c.Unlock()
	c.Compare()
	for range 2 {
		c.Trust()
		if _, ok := c.Reconfirm(); ok || !c.Due(c.Now()) {
			t.Error("trusted")
		}
		c.Distrust()
	}
}

// Reconfirm, which compares the clocks without the lock, renews the trust only if the wall
// clock shows logical time, or is a little behind.
func TestReconfirm(t *testing.T) {
	t.Parallel()
	c := newStarted()
	var skew time.Duration
	c.Skewed = func() time.Duration { return skew }
	for step, want := range map[time.Duration]bool{
		0: true, -10 * time.Microsecond: true, -60 * time.Microsecond: false, -time.Hour: false, time.Millisecond: false, time.Hour: false,
	} {
		c.Distrust()
		skew = step
		logical, ok := false, false
		for range 1000 { // a reading may be interrupted
			before := uint64(c.Now().Logical)
			now, agrees := c.Reconfirm()
			if ok = ok || agrees; agrees {
				logical = now >= before && now <= uint64(c.Now().Logical)
			}
		}
		if ok != want || ok && !logical || c.Due(c.Now()) == want {
			t.Errorf("a step of %v: reconfirmed %v, the time is right %v, due %v; want it reconfirmed: %v", step, ok, logical, c.Due(c.Now()), want)
		}
	}
}

// The clock has recorded the offset of a step back, and the wall clock has caught up since.
// Reconfirm, which compares the clocks without the lock, must not renew the trust, because
// only a comparison under the lock sets the offset back to zero.
func TestReconfirmAfterAStepBack(t *testing.T) {
	t.Parallel()
	c := newStarted()
	c.Lock()
	defer c.Unlock()
	c.StartAt(c.TickAt(c.Now().Logical) + 10_000)
	skew := -c.Offset() - 10*time.Microsecond // the wall clock shows logical time
	c.Skewed = func() time.Duration { return skew }
	for range 1000 {
		if _, ok := c.Reconfirm(); ok {
			t.Fatal("a step back is left over: want a comparison under the lock, which records its end")
		}
	}
}
