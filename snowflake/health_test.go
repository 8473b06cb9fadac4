package snowflake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// checkHealth checks that Health returns want and issues no ID, and that Next then returns
// an error of the same kind, or an ID if want is nil.
func checkHealth(t *testing.T, g *snowflake.Generator, want error) {
	t.Helper()
	before := g.Stats().Issued
	for range 3 {
		if err := g.Health(); !errors.Is(err, want) {
			t.Fatalf("Health: %v, want %v", err, want)
		}
	}
	if after := g.Stats().Issued; after != before {
		t.Errorf("Health has issued %d IDs", after-before)
	}
	if _, err := g.Next(ctx); !errors.Is(err, want) {
		t.Errorf("Next: %v, and Health is %v", err, want)
	}
}

// Health returns the error for a clock that is too far behind or ahead, and nil once the
// clock is right again.
func TestHealthOfTheClock(t *testing.T) {
	eachClock(t, func(t *testing.T, s *script, clock snowflake.Option, src snowflake.WorkerSource) {
		g := open(t, src.(*windows).fixedWorker(t), clock, snowflake.OnClockBackwards(snowflake.Fail()), snowflake.WithMaxJump(time.Hour))
		checkHealth(t, g, nil)
		s.step(-time.Minute)
		checkHealth(t, g, snowflake.ErrClockBackwards)
		s.step(time.Minute)
		checkHealth(t, g, nil)
		s.step(2 * time.Hour)
		checkHealth(t, g, snowflake.ErrClockJumped)
		s.step(-2 * time.Hour)
		checkHealth(t, g, nil)
	})
}

// After a step back to a time after its last ID, an idle generator must not fail its
// readiness probe. Health makes logical time follow the clock, as Next does.
func TestHealthOfAnIdleGenerator(t *testing.T) {
	t.Parallel()
	s := newScript()
	g := open(t, snowflake.Static(23, 0), snowflake.WithReadings(s.read), snowflake.OnClockBackwards(snowflake.Fail()))
	newChecker(t).try(g, 1)
	s.pass(time.Hour)
	s.step(-time.Minute)
	checkHealth(t, g, nil)
	if s := g.Stats(); s.Lead != 0 || s.Refusals != 0 {
		t.Errorf("%+v, want no lead and no refusal", s)
	}
}

// A wait that ends on its own is not an error, for example for the next tick.
func TestHealthWhileWaiting(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := freshLayout()
	l.SequenceBits = 2
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero),
		snowflake.OnClockBackwards(snowflake.Wait(time.Second)))
	newChecker(t).try(g, 4)
	if err := g.Health(); err != nil {
		t.Errorf("the tick is full: %v, want nil", err)
	}
	s.step(-500 * time.Millisecond)
	if err := g.Health(); err != nil {
		t.Errorf("a step back that Wait allows: %v, want nil", err)
	}
	s.step(-time.Second)
	if err := g.Health(); !errors.Is(err, snowflake.ErrClockBackwards) {
		t.Errorf("a step back that Wait does not allow: %v, want ErrClockBackwards", err)
	}
}

// Health returns ErrExpired at the layout's end, and ErrClosed after Close.
func TestHealthAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newScript()
	l := snowflake.Layout{Epoch: s.now(), Tick: time.Hour, SequenceBits: 2, TotalBits: 4}
	g, err := snowflake.New(snowflake.Static(0, 0), snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	s.pass(time.Hour)
	checkHealth(t, g, nil)
	s.pass(3 * time.Hour)
	checkHealth(t, g, snowflake.ErrExpired)
	_ = g.Close(ctx)
	checkHealth(t, g, snowflake.ErrClosed)
}

// Without a method Health of the source, Health checks the window and does not call the
// source.
func TestHealthOfTheWindow(t *testing.T) {
	t.Parallel()
	s := newScript()
	w := newWindows(snowflake.TwitterLayout(), s.now, time.Second)
	g := open(t, w, snowflake.WithReadings(s.read))
	checkHealth(t, g, nil)
	s.pass(2 * time.Second)
	w.set(func() { w.refuse = errDown })
	checkHealth(t, g, snowflake.ErrFenced)
	w.set(func() { w.refuse = nil })
	if err := g.Health(); !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("before a call has asked: %v, want ErrFenced", err)
	}
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	checkHealth(t, g, nil)
}

// reportingSource is a source with a method Health.
type reportingSource struct {
	*windows
	health error
}

func (r *reportingSource) Health() error { return r.health }

// If the source has a method Health, its result decides, even where the window has ended. A
// lease extends its window on its own, so that the end of the window is not an error yet.
func TestHealthOfTheSource(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := &reportingSource{windows: newWindows(snowflake.TwitterLayout(), s.now, time.Second)}
	g := open(t, src, snowflake.WithReadings(s.read))
	if err := g.Health(); err != nil {
		t.Errorf("%v, want nil", err)
	}
	src.health = errors.New("the store has failed for a week")
	if err := g.Health(); !errors.Is(err, src.health) {
		t.Errorf("%v, want %v", err, src.health)
	}
	src.health = nil
	if s.pass(2 * time.Second); g.Health() != nil {
		t.Errorf("%v: want the source to judge its own window", g.Health())
	}
	src.health = errDown
	if _ = g.Close(ctx); !errors.Is(g.Health(), snowflake.ErrClosed) {
		t.Errorf("closed: %v, want ErrClosed", g.Health())
	}
}

// Worker returns the next worker once the source has replaced the first.
func TestWorker(t *testing.T) {
	t.Parallel()
	g := open(t, snowflake.Static(23, 1))
	if datacenter, worker := g.Worker(); datacenter != 23 || worker != 1 {
		t.Errorf("datacenter %d worker %d, want 23 and 1", datacenter, worker)
	}
	s := newScript()
	w := newWindows(snowflake.TwitterLayout(), s.now, time.Second)
	g = open(t, w, snowflake.WithReadings(s.read))
	w.set(func() { w.loseWorker = true })
	for want := range int64(2) {
		if _, worker := g.Worker(); worker != want {
			t.Errorf("worker %d, want %d", worker, want)
		}
		s.pass(2 * time.Second)
		if _, err := g.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
