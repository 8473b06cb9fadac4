package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// openSkewed returns a generator on the machine's clock, to which the duration in skew is
// added. The generator compares the clocks every 10 ms instead of every second.
func openSkewed(t *testing.T, src snowflake.WorkerSource, opts ...snowflake.Option) (g *snowflake.Generator, skew *atomic.Int64) {
	t.Helper()
	g, skew = open(t, src, opts...), new(atomic.Int64)
	snowflake.Skew(g, func() time.Duration { return time.Duration(skew.Load()) })
	snowflake.Compare(g, 10*time.Millisecond)
	return g, skew
}

// uncompared is longer than the 10 ms for which a generator of openSkewed trusts a
// comparison.
const uncompared = 11 * time.Millisecond

// step steps the wall clock, and waits so long that the next call compares the clocks.
func step(skew *atomic.Int64, d time.Duration) {
	skew.Add(int64(d))
	time.Sleep(uncompared)
}

// checkShows takes an ID, and checks that it shows the time of the skewed wall clock
// during its call.
func checkShows(t *testing.T, g *snowflake.Generator, skew *atomic.Int64, c *checker) {
	t.Helper()
	offset := time.Duration(skew.Load())
	before := time.Now().Add(offset - g.Layout().Tick)
	c.try(g, 1)
	if at := g.Layout().Time(c.last); at.Before(before) || at.After(time.Now().Add(offset)) {
		t.Fatalf("an ID of %v, asked for at %v", at, before.Add(g.Layout().Tick))
	}
}

// On the machine's clock the first ID of a tick takes the fast path, which is
// Generator.next without nextSlow. It follows a step forward after the next comparison of
// the clocks.
func TestFirstOfATickFollowsAStepForward(t *testing.T) {
	t.Parallel()
	g, skew := openSkewed(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()))
	c := newChecker(t)
	for _, ahead := range []time.Duration{0, time.Millisecond, time.Second, time.Hour, 24 * time.Hour} {
		step(skew, ahead)
		checkShows(t, g, skew, c)
		checkShows(t, g, skew, c)
	}
}

// Next and Fill follow a step forward within a second, as the package comment promises.
func TestStepIsFollowedWithinASecond(t *testing.T) {
	t.Parallel()
	const promise = time.Second
	for name, fill := range map[string]bool{"Next": false, "Fill": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()))
			var skew atomic.Int64
			snowflake.Skew(g, func() time.Duration { return time.Duration(skew.Load()) })
			block := make([]id, 1)
			for range 2 {
				for range 50 { // Fill trusts a comparison by Clock.Trust, and Next by Clock.Reconfirm
					must(t, g.Fill(ctx, block))
					_, err := g.Next(ctx)
					must(t, err)
					time.Sleep(time.Millisecond)
				}
				skew.Add(int64(time.Hour))
				time.Sleep(promise)
				if fill {
					must(t, g.Fill(ctx, block))
				} else {
					next, err := g.Next(ctx)
					must(t, err)
					block[0] = next
				}
				want := time.Now().Add(time.Duration(skew.Load()) - time.Minute)
				if at := g.Layout().Time(block[0]); at.Before(want) {
					t.Fatalf("a second after a step to %v: an ID of %v", want, at)
				}
			}
		})
	}
}

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Without a step of the clock, the wall clock is read once a second, however many ticks
// have an ID.
func TestWallClockIsReadOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond, WorkerBits: 10, SequenceBits: 12}
		g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l))
		var readings int
		snowflake.Skew(g, func() time.Duration {
			readings++
			return 0
		})
		c := newChecker(t)
		time.Sleep(l.Tick)
		for range 10_000 {
			c.try(g, 2)
			time.Sleep(l.Tick)
		}
		if readings < 9 || readings > 12 {
			t.Errorf("%d readings of the wall clock in 10 s, want one a second", readings)
		}
	})
}

// The fields that Next needs for an ID are on two cache lines.
func TestTwoCacheLines(t *testing.T) {
	t.Parallel()
	const line = 64
	for range 100 {
		state, besideState, base, besideBase := snowflake.Lines(open(t, grantingSource(time.Now(), time.Hour)))
		if state%line != 0 || state/line != besideState/line || base != state+line || base/line != besideBase/line {
			t.Fatalf("the state is at %#x to %#x, the clock at %#x to %#x; want two lines of %d bytes", state, besideState, base, besideBase, line)
		}
	}
}

// A source may revoke a grant once more after it has replaced the grant. This must not stop the
// generator, and the method Last of the replaced grant returns the zero time.
func TestReplacedGrantMovesNothing(t *testing.T) {
	t.Parallel()
	src := newReplacing(freshLayout(), time.Now)
	g := open(t, src)
	c := newChecker(t)
	first, err := g.Next(ctx)
	must(t, err)
	c.add(first)
	old, _ := src.current()
	old.Revoke()
	second, err := g.Next(ctx)
	must(t, err)
	c.add(second)
	old.Revoke()
	time.Sleep(2 * time.Millisecond)
	if id, err := g.TryNext(); err != nil {
		t.Errorf("%d, %v after the replaced grant was revoked again", id, err)
	}
	if last := old.Last(); !last.IsZero() {
		t.Errorf("the replaced grant's last tick is %v, want the zero time", last)
	}
}

// A source may extend a grant that it has replaced. This must not change the end of the
// current grant's window.
func TestReplacedGrantIsExtended(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	var grants []*snowflake.Grant
	grant := func(until time.Time) (*snowflake.Grant, error) {
		g, err := snowflake.NewGrant(l, 0, int64(len(grants)), time.Now(), until)
		grants = append(grants, g)
		return g, err
	}
	src := &faultySource{
		grant: func(snowflake.Layout) (*snowflake.Grant, error) { return grant(time.Now().Add(300 * time.Millisecond)) },
		extend: func(context.Context, *snowflake.Grant, time.Time) (*snowflake.Grant, error) {
			if len(grants) > 1 {
				return nil, errDown
			}
			return grant(time.Now().Add(500 * time.Millisecond))
		},
	}
	g := open(t, src, snowflake.WithLayout(l))
	for len(grants) < 2 {
		_, err := g.Next(ctx)
		must(t, err)
	}
	grants[0].Extend(time.Now().Add(time.Hour))
	until := grants[1].Until()
	for end := until.Add(10 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if id, err := g.TryNext(); err == nil && !l.Time(id).Before(until) {
			t.Fatalf("issued at %v, the window ends at %v", l.Time(id), until)
		}
	}
}

// The fast path applies the clock policy too: after a step back, calls fail under Fail.
func TestFirstOfATickFailsAfterAStepBack(t *testing.T) {
	t.Parallel()
	g, skew := openSkewed(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.OnClockBackwards(snowflake.Fail()))
	c := newChecker(t)
	for steps := range uint64(3) { // the number of earlier steps
		checkShows(t, g, skew, c)
		step(skew, -time.Hour)
		if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
			t.Fatalf("got %d, %v, want ErrClockBackwards", id, err)
		}
		step(skew, time.Hour)
		checkShows(t, g, skew, c)
		if got := g.Stats().BackwardSteps; got != steps+1 {
			t.Errorf("%d steps back, want %d", got, steps+1)
		}
	}
}

// The fast path follows a step back to a time after the last ID, even under Fail.
func TestFirstOfATickFollowsAStepBack(t *testing.T) {
	t.Parallel()
	g, skew := openSkewed(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.OnClockBackwards(snowflake.Fail()))
	c := newChecker(t)
	for range 5 {
		checkShows(t, g, skew, c)
		time.Sleep(30 * time.Millisecond)
		step(skew, -10*time.Millisecond)
		checkShows(t, g, skew, c)
	}
}

// The fast path issues the same IDs, and counts the same, as the slow path, which a
// scripted clock always uses.
func TestFirstOfATickIsTheSameOnAScriptedClock(t *testing.T) {
	t.Parallel()
	epoch := time.UnixMilli(0)
	for name, l := range map[string]snowflake.Layout{
		"12 bits": {Epoch: epoch, Tick: time.Millisecond, DatacenterBits: 5, WorkerBits: 5, SequenceBits: 12},
		"1 bit":   {Epoch: epoch, Tick: time.Millisecond, WorkerBits: 10, SequenceBits: 1},
		"32 bits": {Epoch: epoch, Tick: time.Second, SequenceBits: 32},
	} {
		for start, lag := range map[snowflake.SequenceStart]time.Duration{snowflake.StartRandom: 0, snowflake.StartZero: 5 * l.Tick} {
			t.Run(fmt.Sprintf("%s, lag %v", name, lag), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					read := func() (time.Time, time.Duration) { return time.Now(), time.Since(begun) }
					opts := []snowflake.Option{snowflake.WithLayout(l), snowflake.WithSequenceStart(start), snowflake.WithLag(lag)}
					machine := open(t, grantingSource(begun, time.Hour), opts...)
					script := open(t, grantingSource(begun, time.Hour), append(opts, snowflake.WithReadings(read))...)
					sameIDs(t, machine, script)
				})
			})
		}
	}
}

// sameIDs checks that both generators return the same IDs, errors and counts, at random
// distances of up to four ticks.
func sameIDs(t *testing.T, one, other *snowflake.Generator) {
	t.Helper()
	snowflake.SetSecret(one, 7)
	snowflake.SetSecret(other, 7)
	r, tick := rand.New(rand.NewPCG(5, 6)), one.Layout().Tick
	for issued := uint64(0); issued < 500; {
		id, err := one.TryNext()
		if want, wanted := other.TryNext(); id != want || !errors.Is(err, wanted) {
			t.Fatalf("got %d, %v, want %d, %v", id, err, want, wanted)
		}
		if err == nil {
			issued++
		}
		if got, want := one.Stats().Issued, other.Stats().Issued; got != issued || want != issued {
			t.Fatalf("%d and %d issued, want %d", got, want, issued)
		}
		if r.IntN(2) == 0 {
			time.Sleep(time.Duration(r.Int64N(int64(4 * tick))))
		}
	}
}

// A call that has read the clock before the generator followed a step back must not
// issue at that time, because another call has changed the state since.
func TestStepBackOvertakesTheFirstOfATick(t *testing.T) {
	t.Parallel()
	src := &keepingSource{windows: newWindows(freshLayout(), time.Now, 1000*time.Hour)}
	g := open(t, src)
	snowflake.Compare(g, 10*time.Millisecond)
	var skew, readingsLeft atomic.Int64 // the test holds the call at its last reading
	entered, resume := make(chan struct{}), make(chan struct{})
	snowflake.Skew(g, func() time.Duration {
		now := skew.Load()
		if readingsLeft.Add(-1) == 0 {
			close(entered)
			<-resume
		}
		return time.Duration(now)
	})
	if _, err := g.Next(ctx); err != nil { // the window's first tick begins in a moment
		t.Fatal(err)
	}
	skew.Store(int64(time.Hour))
	for range 1000 { // each comparison brings logical time closer to the clock; no ID is issued
		if _, err := src.grant.Now(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(uncompared)
	readingsLeft.Store(1)
	issued := make(chan time.Time, 1)
	go func() {
		id, err := g.TryNext()
		if err != nil {
			t.Error(err)
		}
		issued <- g.Layout().Time(id)
	}()
	<-entered
	skew.Store(int64(30 * time.Minute))
	if _, err := src.grant.Now(); err != nil {
		t.Fatal(err)
	}
	close(resume)
	if at := <-issued; at.After(time.Now().Add(30 * time.Minute)) {
		t.Errorf("issued at %v, the clock shows %v", at, time.Now().Add(30*time.Minute))
	}
}

// The fast path issues no ID at or after the end of the window, and fails with ErrFenced.
func TestFirstOfATickStopsAtTheBound(t *testing.T) {
	t.Parallel()
	w := newWindows(freshLayout(), time.Now, 500*time.Millisecond) // long enough for a busy machine
	g := open(t, w)
	bound := w.bounds[0]
	w.set(func() { w.refuse = errDown })
	for end := bound.Add(20 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		before := time.Now()
		id, err := g.TryNext()
		if err == nil && !g.Layout().Time(id).Before(bound) {
			t.Fatalf("issued at %v, the bound is %v", g.Layout().Time(id), bound)
		}
		if before.After(bound) && !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("after the bound: %d, %v, want ErrFenced", id, err)
		}
	}
}

// After a call has reserved the slots of the next minute, and given up, the fast path finds
// no slot, because the last ID is ahead of the clock.
func TestFirstOfATickBehindAReservation(t *testing.T) {
	t.Parallel()
	l := wideLayout()
	l.SequenceBits = 4
	g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l))
	c := newChecker(t)
	c.try(g, 1)
	abandonReservation(t, g, 1<<4*60_000)
	for range 5 {
		if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
			t.Fatalf("got %d, %v, want ErrSequenceExhausted for a minute", id, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A generator that issues IDs logs one warning when the end of its layout is less than
// five years away. The epoch of the layout is such that this moment comes 50 ms after the
// start of the test, and before it the generator must log nothing. The layout has 38 bits
// of time, because with the 41 bits of Twitter's layout this epoch would be before 1970,
// which is invalid. This test is not parallel, because it replaces the default logger.
func TestExpiryWarningOnTheMachinesClock(t *testing.T) {
	log, l := captureLog(t), freshLayout()
	begins := time.Now().Add(50 * time.Millisecond).Truncate(time.Millisecond)
	l.TotalBits = 22 + 38
	l.Epoch = begins.Add(5*365*24*time.Hour - 1<<38*time.Millisecond)
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
	for range 3 {
		newChecker(t).try(g, 1)
		time.Sleep(2 * time.Millisecond)
	}
	if time.Now().Before(begins) && log.Len() > 0 {
		t.Fatalf("before the notice: %s", log)
	}
	time.Sleep(time.Until(begins.Add(2 * time.Millisecond)))
	for range 3 {
		newChecker(t).try(g, 1)
		time.Sleep(2 * time.Millisecond)
	}
	if n := strings.Count(log.String(), "the layout expires"); n != 1 {
		t.Errorf("%d warnings, want one: %s", n, log)
	}
}

// The first ID within five years of the layout's end logs the warning, although the IDs
// before it took the fast path. This test is not parallel, because it replaces the default
// logger.
func TestExpiryWarningInItsFirstTick(t *testing.T) {
	log := captureLog(t)
	synctest.Test(t, func(t *testing.T) {
		begins := time.Now().Add(10 * time.Millisecond)
		l := snowflake.TwitterLayout()
		l.TotalBits = 22 + 38
		l.Epoch = begins.Add(5*365*24*time.Hour - 1<<38*time.Millisecond)
		g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l))
		for time.Now().Before(begins) {
			if newChecker(t).try(g, 1); log.Len() > 0 {
				t.Fatalf("before the notice: %s", log)
			}
			time.Sleep(l.Tick)
		}
		if newChecker(t).try(g, 1); log.Len() == 0 {
			t.Error("no warning in the first tick of the notice")
		}
	})
}

// Two calls want to take the first slot of a new tick, and one of them gets it. The other
// call has already counted slots as skipped, and must take that back, or Stats would show
// too few IDs.
func TestIssuedWhereTwoCallsOpenATick(t *testing.T) {
	t.Parallel()
	g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(freshLayout()))
	snowflake.Compare(g, 10*time.Millisecond)
	var readingsLeft atomic.Int64 // the test holds the first call at its last reading
	entered, resume := make(chan struct{}), make(chan struct{})
	snowflake.Skew(g, func() time.Duration {
		if readingsLeft.Add(-1) == 0 {
			close(entered)
			<-resume
		}
		return 0
	})
	issued := uint64(100)
	for range issued { // until the clocks are compared as closely as possible
		newChecker(t).try(g, 1)
		time.Sleep(time.Millisecond)
	}
	time.Sleep(uncompared)
	readingsLeft.Store(1)
	done := make(chan error)
	go func() {
		_, err := g.TryNext()
		done <- err
	}()
	<-entered
	newChecker(t).try(g, 1)
	close(resume)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := g.Stats().Issued; got != issued+2 {
		t.Errorf("%d issued, want %d", got, issued+2)
	}
}

// After a block has used up a tick, the next slot is in the next tick. The last ID plus one
// would belong to the next worker.
func TestNextAfterAFullTick(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	l.SequenceBits = 4
	g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l), snowflake.WithSequenceStart(snowflake.StartZero))
	c, block := newChecker(t), make([]id, 16)
	for range 100 {
		time.Sleep(time.Millisecond)
		for _, half := range [][]id{block[:8], block[8:]} { // two calls use up a tick
			if err := g.Fill(ctx, half); err != nil {
				t.Fatal(err)
			}
		}
		c.add(block...)
		id, err := g.TryNext()
		if errors.Is(err, snowflake.ErrSequenceExhausted) {
			continue
		}
		if c.add(id); err != nil || l.Decompose(id).Worker != 0 {
			t.Fatalf("%+v, %v, want worker 0", l.Decompose(id), err)
		}
	}
}

// A scripted clock that shows the machine's time is still read at every call.
func TestScriptedClockIsAlwaysRead(t *testing.T) {
	t.Parallel()
	var skew atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	g := open(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithClock(now))
	for range 20 {
		time.Sleep(2 * time.Millisecond)
		if _, err := g.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		skew.Add(int64(time.Hour))
		before := now()
		id, err := g.Next(ctx)
		if at := g.Layout().Time(id); err != nil || at.Before(before.Add(-time.Millisecond)) {
			t.Errorf("an ID of %v, %v, asked for at %v", at, err, before)
		}
	}
}

// Under WithLogicalTime IDs start at the time of the machine's clock. They do not follow
// the clock, so they are consecutive although the clock moves on.
func TestLogicalTimeOnTheMachinesClock(t *testing.T) {
	t.Parallel()
	w := newWindows(freshLayout(), time.Now, time.Hour)
	g := open(t, w, snowflake.WithLogicalTime())
	var last id
	for i := range 20 {
		id, err := g.TryNext()
		if err != nil || i > 0 && id != last+1 {
			t.Fatalf("%d, %v, want the one after %d", id, err, last)
		}
		last = id
		time.Sleep(time.Millisecond)
	}
}

// With a lag the first call of a tick continues after the last ID, as long as that ID
// is not too old.
func TestFirstOfATickWithALag(t *testing.T) {
	t.Parallel()
	const lag = 20 * time.Millisecond
	g := open(t, snowflake.Static(20, 4), snowflake.WithLayout(freshLayout()), snowflake.WithLag(lag))
	c := newChecker(t)
	for range 40 {
		time.Sleep(rand.N(2 * lag))
		last, before := c.last, time.Now()
		c.try(g, 1)
		at := g.Layout().Time(c.last)
		if at.After(time.Now()) || at.Before(before.Add(-lag-2*time.Millisecond)) {
			t.Fatalf("an ID of %v at %v, want one of the last %v", at, before, lag)
		}
		if since := time.Since(g.Layout().Time(last)); since < lag && c.last != last+1 {
			t.Fatalf("%d follows %d, which is %v old", c.last, last, since)
		}
	}
}

// After a tolerated step back the wall clock stays behind until the generator is idle.
// During this time a busy generator must not compare the clocks at each of its calls.
func TestOneComparisonATickAfterAStepBack(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	l.Epoch, l.Tick = l.Epoch.Truncate(time.Second), time.Second
	l.WorkerBits, l.SequenceBits = 4, 20
	g := open(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(l))
	var step, readings atomic.Int64
	snowflake.Skew(g, func() time.Duration {
		readings.Add(1)
		return time.Duration(step.Load())
	})
	c := newChecker(t)
	for _, back := range []time.Duration{0, -time.Minute} {
		if _, err := g.Next(ctx); err != nil { // the window's first tick may be the next tick
			t.Fatal(err)
		}
		step.Store(int64(back))
		time.Sleep(20 * time.Millisecond)
		readings.Store(0)
		c.try(g, 10_000)
		if n := readings.Load(); n > 2000 {
			t.Errorf("%d readings of the wall clock for 10000 calls at %v", n, back)
		}
	}
}

// Calls that find the tick full do not all compare the clocks, because a comparison is slow.
func TestOneComparisonInAFullTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond, SequenceBits: 4}
		g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(l), snowflake.WithSequenceStart(snowflake.StartZero))
		var readings atomic.Int64
		snowflake.Skew(g, func() time.Duration {
			readings.Add(1)
			return 0
		})
		for range 3 {
			for range 2 { // two calls use up a tick
				if err := g.Fill(ctx, make([]id, 1<<l.SequenceBits/2)); err != nil {
					t.Fatal(err)
				}
			}
			readings.Store(0)
			for range 1000 {
				if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
					t.Fatalf("got %d, %v, want ErrSequenceExhausted", id, err)
				}
			}
			if n := readings.Load(); n > 10 {
				t.Errorf("%d readings of the wall clock for 1000 calls", n)
			}
			time.Sleep(l.Tick)
		}
	})
}

// If the clock steps forward while a call waits for the tick of its slots, the call gets
// the IDs that it has reserved, which show the time before the step. The next ID shows the
// new time.
func TestStepForwardDuringAWait(t *testing.T) {
	t.Parallel()
	l := wideLayout()
	l.Tick, l.SequenceBits = 500*time.Millisecond, 2
	g, skew := openSkewed(t, grantingSource(time.Now(), 1000*time.Hour), snowflake.WithLayout(l), snowflake.WithSequenceStart(snowflake.StartZero))
	c := newChecker(t)
	time.Sleep(time.Until(time.Now().Truncate(l.Tick).Add(l.Tick + 10*time.Millisecond)))
	c.try(g, 1)
	reserved := make([]id, 4) // three in the current tick, one in the next
	done := make(chan error, 1)
	go func() { done <- g.Fill(ctx, reserved) }()
	for g.Stats().Waits == 0 && len(done) == 0 {
		time.Sleep(time.Millisecond)
	}
	skew.Store(int64(time.Hour))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	c.add(reserved...)
	if at := l.Time(c.last); at.After(time.Now().Add(l.Tick)) {
		t.Fatalf("got an ID of %v, want one of the tick that was waited for", at)
	}
	checkShows(t, g, skew, c)
}
