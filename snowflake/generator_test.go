package snowflake_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type id = types.ID

// minKey returns the lowest ID that the checker has seen.
func minKey(c *checker) id {
	first := c.last
	for id := range c.seen {
		first = min(first, id)
	}
	return first
}

// tryAll takes up to n IDs without waiting, until a call fails.
func tryAll(g *snowflake.Generator, n int) (ids []id, err error) {
	for range n {
		id, err := g.TryNext()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// IDs rise, show their worker and the time of their call, and are counted.
func TestNext(t *testing.T) {
	t.Parallel()
	g := open(t, snowflake.Static(11, 12))
	c := newChecker(t)
	for range 50_000 {
		before := time.Now().Truncate(time.Millisecond)
		id, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.add(id)
		p := g.Layout().Decompose(id)
		if p.Datacenter != 11 || p.Worker != 12 {
			t.Fatalf("%d decodes to %+v", id, p)
		}
		if p.Time.Before(before) || p.Time.After(time.Now()) {
			t.Fatalf("%d says %v, the clock %v to %v", id, p.Time, before, time.Now())
		}
	}
	if got := g.Stats(); got.Issued != 50_000 || got.Refusals != 0 {
		t.Errorf("%+v, want 50,000 issued", got)
	}
}

// Every ID of every layout decodes to the worker that issued it.
func TestSampledLayoutsAndWorkers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	s := newScript()
	for range 500 {
		l := sampleLayout(r)
		if !s.now().Before(l.Expires()) {
			continue
		}
		want := snowflake.Parts{
			Datacenter: r.Int64N(1 << l.DatacenterBits),
			Worker:     r.Int64N(1 << l.WorkerBits),
		}
		g, err := snowflake.New(snowflake.Static(want.Datacenter, want.Worker), snowflake.WithLayout(l), snowflake.WithReadings(s.read))
		if err != nil {
			t.Fatalf("%v: %v", l, err)
		}
		c := newChecker(t)
		for range 20 {
			block := make([]id, 1+r.IntN(1<<min(l.SequenceBits, 5)))
			s.pass(l.Tick)
			if err := g.Fill(ctx, block); err != nil {
				t.Fatalf("%v: %v", l, err)
			}
			c.add(block...)
		}
		for id := range c.seen {
			p := l.Decompose(id)
			if p.Datacenter != want.Datacenter || p.Worker != want.Worker || id <= 0 || id > l.Max(l.Expires()) || p.Time.After(s.now()) {
				t.Fatalf("%v: datacenter %d worker %d issued %d: %+v", l, want.Datacenter, want.Worker, id, p)
			}
		}
		if err := g.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TryNext fails instead of waiting if the tick is used up. A tick with a random start has
// at least half of its 4,096 sequence numbers, and the tick after a full tick has all of
// them.
func TestTryNextNeverWaits(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, snowflake.Static(13, 1), snowflake.WithReadings(s.read))
	s.pass(time.Millisecond)
	ids, err := tryAll(g, 5000)
	if !errors.Is(err, snowflake.ErrSequenceExhausted) || len(ids) < 2048 || len(ids) > 4096 {
		t.Fatalf("%d IDs, then %v, want 2048 to 4096, then ErrSequenceExhausted", len(ids), err)
	}
	s.pass(time.Millisecond)
	ids, err = tryAll(g, 5000)
	if !errors.Is(err, snowflake.ErrSequenceExhausted) || len(ids) != 4096 {
		t.Errorf("%d IDs in the tick after a full one, then %v, want all 4096", len(ids), err)
	}
}

// Fill reserves slots of future ticks, and its context ends while it waits for them. These
// slots are lost: no later call gets them, and Stats does not count them as issued.
func TestTryNextBehindReservation(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	g := open(t, snowflake.Static(13, 2), snowflake.WithReadings(s.read))
	c.try(g, 1)
	abandonReservation(t, g, 100_000)
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Fatalf("TryNext: %v, want ErrSequenceExhausted", err)
	}
	if lead := g.Stats().Lead; lead < 20*time.Millisecond {
		t.Errorf("Lead = %v, want the 24 ticks of the reservation", lead)
	}
	if got := g.Stats().Issued; got != 1 {
		t.Errorf("%d issued, want 1", got)
	}
	s.pass(time.Second)
	c.try(g, 1)
}

// abandonReservation lets Fill reserve so many slots, and cancels it while it waits for
// their ticks.
func abandonReservation(t *testing.T, g *snowflake.Generator, slots int) {
	t.Helper()
	canceled, cancel := context.WithCancel(ctx)
	go func() {
		for g.Stats().Lead == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := g.Fill(canceled, make([]id, slots)); !errors.Is(err, context.Canceled) {
		t.Fatalf("Fill: %v, want context.Canceled", err)
	}
}

// Fill fails at once if its slots are due after its deadline: 50 million IDs, at 4,096 in
// a millisecond, need 12.2 seconds, and the deadline is in 10. Fill takes no slots then,
// because under overload the calls that give up would delay all other calls.
func TestDeadlineTooCloseIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, snowflake.Static(13, 3), snowflake.WithReadings(s.read))
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	start := time.Now()
	err := g.Fill(short, make([]id, 100_000_000/2))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the next free slot is 12.") {
		t.Fatalf("got %v, want DeadlineExceeded with the wait", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := tryAll(g, 2000); err != nil {
		t.Errorf("the refused call took slots: %v", err)
	}
}

// A call whose context has ended takes no slots.
func TestEndedContextCostsNoSlots(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, snowflake.Static(13, 4), snowflake.WithReadings(s.read))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := g.Fill(canceled, make([]id, 100_000)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want Canceled", err)
	}
	if _, err := tryAll(g, 2000); err != nil {
		t.Errorf("the refused call took slots: %v", err)
	}
}

// Fill returns sorted IDs, for blocks that are smaller than, equal to and larger than the
// 4,096 IDs of a tick. It does not return before the tick of the last ID has begun. Stats
// counts every ID.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 100, 4095, 4096, 4097, 20_000} {
		g := open(t, snowflake.Static(14, int64(min(n, 31))), snowflake.WithLayout(freshLayout()))
		dst := make([]id, n)
		if err := g.Fill(ctx, dst); err != nil {
			t.Fatal(err)
		}
		newChecker(t).add(dst...)
		if !slices.IsSorted(dst) {
			t.Errorf("Fill(%d) is not sorted", n)
		}
		if got := g.Stats().Issued; got != uint64(n) {
			t.Errorf("Fill(%d): %d issued", n, got)
		}
		if n > 0 && g.Layout().Time(dst[n-1]).After(time.Now()) {
			t.Errorf("Fill(%d) returned before its last tick had come", n)
		}
	}
}

// A fixed worker has one generator at a time in a process. Another worker of this layout or
// another layout is free, and so is a worker whose generator was closed.
func TestWorkerInUse(t *testing.T) {
	t.Parallel()
	g := open(t, snowflake.Static(15, 1))
	_, err := snowflake.New(snowflake.Static(15, 1))
	if !errors.Is(err, snowflake.ErrWorkerInUse) || !strings.Contains(err.Error(), "datacenter 15 worker 1") {
		t.Fatalf("got %v, want ErrWorkerInUse that names the worker", err)
	}
	open(t, snowflake.Static(15, 2))
	open(t, snowflake.Static(0, 1), snowflake.WithLayout(snowflake.JSSafeLayout()))
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
	open(t, snowflake.Static(15, 1))
}

// A second generator is rejected even if its layout divides the bits of datacenter and
// worker differently, because both generators would issue the same IDs. Here datacenter 1
// worker 1 of 5+5 bits is worker 33 of 0+10 bits.
func TestWorkerInUseUnderAnotherSplit(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	open(t, snowflake.Static(1, 1), snowflake.WithLayout(l))
	l.DatacenterBits, l.WorkerBits, l.TotalBits = 0, 10, 62
	if g, err := snowflake.New(snowflake.Static(0, 33), snowflake.WithLayout(l)); !errors.Is(err, snowflake.ErrWorkerInUse) {
		t.Errorf("got %v, %v, want ErrWorkerInUse", g, err)
	}
	open(t, snowflake.Static(0, 34), snowflake.WithLayout(l))
}

// After Close all calls fail. A second Close returns the result of the first.
func TestClose(t *testing.T) {
	t.Parallel()
	g := open(t, snowflake.Static(15, 3))
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	before := g.Stats().Issued
	for range 2 {
		if err := g.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrClosed) {
		t.Errorf("Next: %v, want ErrClosed", err)
	}
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClosed) {
		t.Errorf("TryNext: %v, want ErrClosed", err)
	}
	if err := g.Fill(ctx, make([]id, 3)); !errors.Is(err, snowflake.ErrClosed) {
		t.Errorf("Fill: %v, want ErrClosed", err)
	}
	if got := g.Stats().Issued; got != before {
		t.Errorf("%d issued after Close, %d before", got, before)
	}
}

// A generator issues up to the last ID of its layout, and then fails for good. New fails
// too.
func TestExpired(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	s := newScript()
	s.wall = l.Expires().Add(-2 * time.Millisecond)
	c := newChecker(t)
	g := open(t, snowflake.Static(16, 1), snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	s.pass(time.Millisecond)
	ids, err := tryAll(g, 5000)
	c.add(ids...)
	if !errors.Is(err, snowflake.ErrExpired) || !strings.Contains(err.Error(), l.Expires().String()) {
		t.Fatalf("got %v, want ErrExpired with the date", err)
	}
	if c.last != 1<<63-1-(31-16)<<17-(31-1)<<12 { // with datacenter 16 and worker 1 instead of 31 and 31
		t.Errorf("the last ID is %d, want the last slot of the worker", c.last)
	}
	s.pass(time.Hour)
	if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrExpired) {
		t.Errorf("Next: %v, want ErrExpired", err)
	}
	if _, err := snowflake.New(snowflake.Static(16, 2), snowflake.WithLayout(l), snowflake.WithReadings(s.read)); !errors.Is(err, snowflake.ErrExpired) {
		t.Errorf("New: %v, want ErrExpired", err)
	}
}

// captureLog returns a buffer that receives the log messages of the default logger until
// the test ends. It is not for parallel tests.
func captureLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return &log
}

// Under WithLogicalTime the warning that the layout expires depends on the last ID, not on
// the clock. This test is not parallel, because it replaces the default logger.
func TestExpiryWarningInLogicalTime(t *testing.T) {
	log, s, l := captureLog(t), newScript(), freshLayout()
	s.wall = l.Expires().Add(-5*365*24*time.Hour - 2*time.Millisecond)
	g := open(t, grantingSource(s.now(), time.Hour), snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithLogicalTime())
	if _, err := g.Next(ctx); err != nil || log.Len() > 0 {
		t.Fatalf("before the notice: %v, %q, want silence", err, log)
	}
	for range 3 {
		if err := g.Fill(ctx, make([]id, 3*4096)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "the layout expires"); n != 1 {
		t.Errorf("%d warnings, want one: %s", n, log)
	}
}

// A generator logs one warning, from the first tick that is less than five years before the
// layout's end. This test is not parallel, because it replaces the default logger.
func TestExpiryWarning(t *testing.T) {
	log := captureLog(t)
	s := newScript()
	s.wall = snowflake.TwitterLayout().Expires().Add(-6 * 365 * 24 * time.Hour)
	g := open(t, snowflake.Static(16, 3), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read), snowflake.WithMaxJump(2*365*24*time.Hour))
	if _, err := g.Next(ctx); err != nil || log.Len() > 0 {
		t.Fatalf("six years before: %v, %q, want silence", err, log)
	}
	s.wall = g.Layout().Expires().Add(-5*365*24*time.Hour - time.Millisecond)
	if _, err := g.Next(ctx); err != nil || log.Len() > 0 {
		t.Fatalf("a tick before the notice: %v, %q, want silence", err, log)
	}
	for range 3 {
		s.pass(time.Millisecond)
		if _, err := g.Next(ctx); err != nil {
			t.Fatal(err)
		}
		if log.Len() == 0 {
			t.Fatal("no warning in the first tick of the notice")
		}
	}
	if n := strings.Count(log.String(), "the layout expires"); n != 1 || !strings.Contains(log.String(), "2080-07-10") {
		t.Errorf("%d warnings, want one with the date: %s", n, log)
	}
}

// A generator warns from five years before its layout expires. If the layout lasts for less
// than five years, the generator warns from the first tick on. This test is not parallel,
// because it replaces the default logger.
func TestExpiryWarningOfAShortLayout(t *testing.T) {
	log, s := captureLog(t), newScript()
	l := snowflake.Layout{Epoch: s.now(), Tick: time.Hour, SequenceBits: 2, TotalBits: 4}
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	for range 2 {
		if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
			t.Fatalf("in tick zero: %v, want ErrSequenceExhausted", err)
		}
		if n := strings.Count(log.String(), "the layout expires"); n != 1 {
			t.Errorf("%d warnings, want one: %s", n, log)
		}
	}
}

// New returns an error for each wrong option or combination of options, and for a layout
// that has expired or whose epoch is still to come. The error names the wrong value, and
// the value that is wanted.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	s := newScript()
	future := snowflake.TwitterLayout()
	future.Epoch = s.now().Add(time.Hour)
	far := snowflake.TwitterLayout()
	far.Epoch = date("2262-01-01T00:00:00Z")
	for _, tt := range []struct {
		name string
		src  snowflake.WorkerSource
		opts []snowflake.Option
		want string
	}{
		{"no source", nil, nil, "snowflake: no worker source: pass Static, FromEnv"},
		{"worker", snowflake.Static(0, 32), nil, "snowflake: worker 32 out of range [0, 31]"},
		{"datacenter", snowflake.Static(-1, 0), nil, "snowflake: datacenter -1 out of range [0, 31]"},
		{"lag", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLag(-1)}, "snowflake: WithLag(-1ns): want at least 0"},
		{"jump", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithMaxJump(0)}, "snowflake: WithMaxJump(0s): want more than 0"},
		{"policy", snowflake.Static(17, 0), []snowflake.Option{snowflake.OnClockBackwards(snowflake.Wait(-1))}, "snowflake: OnClockBackwards limit -1ns: want at least 0"},
		{"start", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithSequenceStart(7)}, "snowflake: WithSequenceStart(7): want StartRandom or StartZero"},
		{"clock", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithClock(nil)}, "snowflake: WithClock(nil): want a clock"},
		{"nil option", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLag(0), nil}, "snowflake: option 2 is nil"},
		{"all mistakes", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLag(-1), snowflake.WithMaxJump(0)}, "WithLag(-1ns): want at least 0\nsnowflake: WithMaxJump"},
		{"layout and lag", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLayout(snowflake.Layout{Tick: 1}), snowflake.WithLag(-1)}, "layout's tick 1ns: want whole milliseconds, at least 1ms\nsnowflake: WithLag(-1ns)"},
		{"no layout of the source", newWindows(snowflake.Layout{WorkerBits: 1}, s.now, time.Second), nil, "snowflake: layout's tick 0s: want whole milliseconds"},
		{"epoch", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLayout(future), snowflake.WithReadings(s.read)}, "is after the clock's"},
		{"epoch too far for a Duration", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLayout(far), snowflake.WithClock(func() time.Time { return time.UnixMilli(-1e14) })}, "snowflake: layout's epoch 2262-01-01 00:00:00 +0000 UTC is after the clock's -1199-"},
		{"clock too far for a Duration", snowflake.Static(17, 0), []snowflake.Option{snowflake.WithLayout(snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond}), snowflake.WithClock(func() time.Time { return date("2500-01-01T00:00:00Z") })}, "snowflake: layout expired at 2262-04-11"},
		{
			"layout of the source", newWindows(snowflake.JSSafeLayout(), s.now, time.Second),
			[]snowflake.Option{snowflake.WithLayout(snowflake.TwitterLayout())},
			"conflicts with the source's layout",
		},
		{
			"logical time and lag", newWindows(snowflake.TwitterLayout(), s.now, time.Second),
			[]snowflake.Option{snowflake.WithLogicalTime(), snowflake.WithLag(1)},
			"snowflake: WithLag with WithLogicalTime",
		},
		{
			"logical time and all else", newWindows(snowflake.TwitterLayout(), s.now, time.Second),
			[]snowflake.Option{snowflake.WithLag(time.Second), snowflake.OnClockBackwards(snowflake.Fail()), snowflake.WithLogicalTime()},
			"snowflake: WithLag, OnClockBackwards with WithLogicalTime",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := snowflake.New(tt.src, tt.opts...)
			if g != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %q", g, err, tt.want)
			}
		})
	}
}

// CheckOptions returns the layout or the error of New, without a source. So it accepts
// WithLogicalTime, which New rejects for some sources.
func TestCheckOptions(t *testing.T) {
	t.Parallel()
	future := snowflake.TwitterLayout()
	future.Epoch = time.Now().Add(time.Hour).Truncate(time.Hour)
	for _, tt := range []struct {
		name   string
		opts   []snowflake.Option
		layout snowflake.Layout
		want   string // part of the error, or empty for no error
	}{
		{"no options", nil, snowflake.TwitterLayout(), ""},
		{"layout", []snowflake.Option{snowflake.WithLayout(snowflake.JSSafeLayout())}, snowflake.JSSafeLayout(), ""},
		{"logical time", []snowflake.Option{snowflake.WithLogicalTime()}, snowflake.TwitterLayout(), ""},
		{"lag", []snowflake.Option{snowflake.WithLag(-1)}, snowflake.Layout{}, "snowflake: WithLag(-1ns): want at least 0"},
		{"epoch", []snowflake.Option{snowflake.WithLayout(future)}, snowflake.Layout{}, "is after the clock's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			layout, err := snowflake.CheckOptions(tt.opts...)
			if layout != tt.layout || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %v, %q", layout, err, tt.layout, tt.want)
			}
		})
	}
}

// WithLayout with the source's own layout is not an error.
func TestLayoutOfTheSourceByName(t *testing.T) {
	t.Parallel()
	s := newScript()
	open(t, newWindows(snowflake.TwitterLayout(), s.now, time.Second), snowflake.WithLayout(snowflake.TwitterLayout()), snowflake.WithReadings(s.read))
}

// If a layout starts in the current tick, the generator must not return the ID zero.
func TestNeverZero(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := snowflake.Layout{Epoch: s.now(), Tick: time.Millisecond, SequenceBits: 2, TotalBits: 40}
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
	if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Errorf("in tick zero: %d, %v, want ErrSequenceExhausted", id, err)
	}
	s.pass(time.Millisecond)
	if id, err := g.TryNext(); err != nil || id < 1 {
		t.Errorf("in tick one: %d, %v", id, err)
	}
}

// No call allocates memory.
func TestAllocations(t *testing.T) {
	wideLayout := snowflake.Layout{Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, SequenceBits: 22}
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(wideLayout))
	dst := make([]id, 1000)
	for name, call := range map[string]func(){
		"Next":    func() { _, _ = g.Next(ctx) },
		"TryNext": func() { _, _ = g.TryNext() },
		"Fill":    func() { _ = g.Fill(ctx, dst) },
		"Stats":   func() { g.Stats() },
		"Health":  func() { _ = g.Health() },
	} {
		if got := testing.AllocsPerRun(1000, call); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

// A process must not issue in the tick of its start, because the previous process may
// have died in that tick.
func TestNothingInTheTickOfTheStart(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	l.Epoch, l.Tick = time.UnixMilli(0), time.Duration(10_000+unique.Add(1))*time.Hour
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
	if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Errorf("got %d, %v, want ErrSequenceExhausted until the next tick", id, err)
	}
}

// Under WithClock the generator also issues in the tick in which the process was started,
// because the test's clock says nothing about a previous process.
func TestScriptedClockInTheTickOfTheStart(t *testing.T) {
	t.Parallel()
	l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Duration(10_000+unique.Add(1)) * time.Hour, WorkerBits: 1}
	g := open(t, snowflake.Static(0, 1), snowflake.WithLayout(l), snowflake.WithClock(time.Now))
	if id, err := g.TryNext(); err != nil {
		t.Errorf("got %d, %v, want an ID", id, err)
	}
}

// A new process issues no ID in the tick of its start. New waits for the next tick if
// it is near, so that a first TryNext finds a slot.
func TestNewSleepsOutTheTickOfTheStart(t *testing.T) {
	t.Parallel()
	// The ticks are decades, and the second tick begins in a moment.
	next := time.Now().Add(15 * time.Millisecond)
	l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Duration(next.UnixMilli()) * time.Millisecond}
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
	if id, err := g.TryNext(); err != nil {
		t.Errorf("got %d, %v, want an ID", id, err)
	}
}

// New does not sleep for longer than 20 ms. Instead the first Next waits.
func TestNewDoesNotSleepOutALongTick(t *testing.T) {
	t.Parallel()
	for range 20 { // on a busy machine New may take that long
		next := time.Now().Add(35 * time.Millisecond)
		l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Duration(next.UnixMilli()) * time.Millisecond, WorkerBits: 1}
		open(t, snowflake.Static(0, 1), snowflake.WithLayout(l))
		if time.Now().Before(next.Truncate(time.Millisecond)) {
			return
		}
	}
	t.Error("New has slept until a tick that was 35ms away, want at most 20ms")
}

// clockedSource is a source with its own clock.
type clockedSource struct {
	*windows
	clock func() time.Time
}

func (c clockedSource) Clock() func() time.Time { return c.clock }

// The generator uses the clock of its source. If WithClock is given too, New returns an
// error.
func TestClockOfTheSource(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := clockedSource{newWindows(snowflake.TwitterLayout(), s.now, time.Hour), s.now}
	if _, err := snowflake.New(src, snowflake.WithClock(s.now)); err == nil || !strings.Contains(err.Error(), "WithClock with a source that has its own clock") {
		t.Errorf("two clocks: %v", err)
	}
	g := open(t, src)
	for range 3 { // in the first round, the clock shows the start of the window
		id, err := g.TryNext()
		if err != nil || !g.Layout().Time(id).Equal(s.now()) {
			t.Errorf("issued at %v, %v, want %v, by the source's clock", g.Layout().Time(id), err, s.now())
		}
		s.pass(time.Minute)
	}
}
