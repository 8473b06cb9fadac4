package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// windows is a source that grants a window at a time, like a lease, with faults that a
// test sets. Like a lease in its store, it keeps the bound of each worker, below which
// every tick may have been issued.
type windows struct {
	layout snowflake.Layout
	now    func() time.Time
	width  time.Duration

	mu         sync.Mutex
	bounds     []time.Time // by worker
	held       int         // the worker of the last grant
	refuse     error       // the error of Extend
	loseWorker bool        // Extend finds the worker lost and takes another
	retired    []string
	granted    int
}

// newWindows returns a source whose windows have this width and whose workers all have
// bound zero.
func newWindows(layout snowflake.Layout, now func() time.Time, width time.Duration) *windows {
	return &windows{layout: layout, now: now, width: width, bounds: make([]time.Time, 32)}
}

func (w *windows) Layout() snowflake.Layout { return w.layout }
func (w *windows) Clock() func() time.Time  { return nil }

// fixedWorker returns a source of a fixed worker, 7, with this source's layout and without
// windows. Unlike the worker of Static it is not registered in the process, so that several
// tests can use it.
func (w *windows) fixedWorker(t *testing.T) snowflake.WorkerSource {
	t.Helper()
	return fixedGrant{w}
}

func (w *windows) Grant(context.Context, snowflake.Layout) (*snowflake.Grant, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.take(0, w.now())
}

// take grants a window of the worker that starts at its bound, or at from if that is later.
// The caller holds mu.
func (w *windows) take(worker int, from time.Time) (*snowflake.Grant, error) {
	if w.bounds[worker].After(from) {
		from = w.bounds[worker]
	}
	w.held, w.bounds[worker] = worker, from.Add(w.width)
	w.granted++
	return snowflake.NewGrant(w.layout, 0, int64(worker), from, w.bounds[worker])
}

// Extend extends the window beyond need, or grants the next worker if the test has set
// loseWorker.
func (w *windows) Extend(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return nil, w.refuse
	}
	if w.loseWorker {
		w.loseWorker = false
		return w.take(w.held+1, need)
	}
	w.bounds[w.held] = need.Add(w.width)
	held.Extend(w.bounds[w.held])
	return held, nil
}

// Retire sets the worker's bound to the tick after the last, as a lease releases its
// worker. A last tick at or after the end of the window is an error.
func (w *windows) Retire(_ context.Context, held *snowflake.Grant, last time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !last.Before(held.Until()) {
		return fmt.Errorf("the last tick %v is not below the bound %v", last, held.Until())
	}
	w.bounds[held.Worker()] = last.Add(w.layout.Tick)
	w.retired = append(w.retired, held.String())
	return nil
}

// set changes fields under mu.
func (w *windows) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// fixedGrant grants all ticks of a worker without the process's registry.
type fixedGrant struct{ w *windows }

func (f fixedGrant) Layout() snowflake.Layout { return f.w.layout }
func (f fixedGrant) Clock() func() time.Time  { return nil }

func (f fixedGrant) Grant(_ context.Context, l snowflake.Layout) (*snowflake.Grant, error) {
	return snowflake.NewGrant(l, 0, 7, l.Epoch, time.Time{})
}

func (f fixedGrant) Extend(_ context.Context, held *snowflake.Grant, _ time.Time) (*snowflake.Grant, error) {
	return held, nil
}

func (f fixedGrant) Retire(context.Context, *snowflake.Grant, time.Time) error { return nil }

var errDown = fmt.Errorf("%w: the store is down", snowflake.ErrFenced)

// At the end of its window a generator extends the window, and continues under the same
// grant. No ID is past the bound that the source has at that moment.
func TestWindowIsExtendedAtItsEnd(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, 10*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read))
	for range 100 {
		for range 3 {
			id, err := g.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			c.add(id)
			if end := w.bounds[0]; !g.Layout().Time(id).Before(end) {
				t.Fatalf("issued at %v, the window ended at %v", g.Layout().Time(id), end)
			}
		}
		s.pass(time.Millisecond)
	}
	if w.granted != 1 {
		t.Errorf("%d grants, want the first one only", w.granted)
	}
}

// countingSource counts the calls of Extend, and answers them once the test closes answer.
type countingSource struct {
	*windows
	asked  atomic.Int64
	answer chan struct{}
}

func (c *countingSource) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	c.asked.Add(1)
	<-c.answer
	return c.windows.Extend(ctx, held, need)
}

// If several calls wait for the next window, the generator asks the source once, and the
// answer serves all of them.
func TestSourceIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &countingSource{windows: newWindows(snowflake.TwitterLayout(), time.Now, 3*time.Minute), answer: make(chan struct{})}
		src.layout.Epoch = time.UnixMilli(0)
		gen, err := snowflake.New(src)
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close(t.Context())
		time.Sleep(time.Hour)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := gen.Next(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(src.answer)
		all.Wait()
		if n := src.asked.Load(); n != 1 {
			t.Errorf("asked %d times for 8 calls, want once", n)
		}
	})
}

// A paused process wakes up after the end of its window, while the source refuses to extend
// it. All calls fail and change nothing. The generator continues when the source answers.
func TestFenced(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, 10*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read))
	c.try(g, 10)
	w.set(func() { w.refuse = errDown })
	s.pass(time.Hour) // a paused process wakes up
	before := g.Stats().Issued
	for range 3 {
		if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("Next: got %v, want ErrFenced", err)
		}
		if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("TryNext: got %v, want ErrFenced", err)
		}
		if err := g.Fill(ctx, make([]id, 10)); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("Fill: got %v, want ErrFenced", err)
		}
	}
	if after := g.Stats().Issued; after != before {
		t.Errorf("a refused call changed the state: %d issued, then %d", before, after)
	}
	w.set(func() { w.refuse = nil })
	next, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.add(next)
}

// Extend of the source returns the grant without an error, and has not extended its window.
// The call must return ErrFenced. It must not call Extend again and again.
func TestSourceThatExtendsNothing(t *testing.T) {
	t.Parallel()
	// The call needs some slot after the window, or the very first slot after it.
	for _, start := range []snowflake.SequenceStart{snowflake.StartRandom, snowflake.StartZero} {
		s := newScript()
		w := newWindows(snowflake.TwitterLayout(), s.now, time.Millisecond)
		g := open(t, lazySource{w}, snowflake.WithReadings(s.read), snowflake.WithSequenceStart(start))
		s.pass(time.Millisecond)
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := g.Next(short); !errors.Is(err, snowflake.ErrFenced) || short.Err() != nil {
			t.Fatalf("got %v, %v, want ErrFenced at once", err, short.Err())
		}
	}
}

// lazySource is a source whose Extend returns the grant without extending it.
type lazySource struct{ *windows }

func (lazySource) Extend(_ context.Context, held *snowflake.Grant, _ time.Time) (*snowflake.Grant, error) {
	return held, nil
}

func (lazySource) Retire(context.Context, *snowflake.Grant, time.Time) error { return nil }

// If the source returns a grant of another worker, the generator continues under that
// worker and retires the lost worker.
func TestLostWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, 10*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read))
	c.try(g, 100)
	w.set(func() { w.loseWorker = true })
	s.pass(10 * time.Millisecond)
	stop := ticking(s)
	defer stop()
	for range 100 {
		id, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.add(id)
	}
	if got := g.Layout().Decompose(c.last).Worker; got != 1 {
		t.Errorf("issues under worker %d, want 1", got)
	}
	if len(w.retired) != 1 || w.retired[0] != "datacenter 0 worker 0" {
		t.Errorf("retired %v, want worker 0", w.retired)
	}
	if got := g.Stats().Issued; got != 200 {
		t.Errorf("%d issued, want 200", got)
	}
}

// A call has reserved all slots of the window of worker 0, and the worker is lost. The next
// worker starts above these slots, so that the IDs of a generator only rise.
func TestReplacementStartsAboveReservations(t *testing.T) {
	t.Parallel()
	s := newScript()
	w := newWindows(snowflake.TwitterLayout(), s.now, 10*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read))
	bound := w.bounds[0]
	abandonReservation(t, g, 41_000) // more than the window's ten ticks of 4,096
	w.set(func() { w.loseWorker = true })
	stop := ticking(s)
	defer stop()
	id, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p := g.Layout().Decompose(id); p.Worker != 1 || p.Time.Before(bound) {
		t.Errorf("%+v, want worker 1 at %v or later", p, bound)
	}
}

// With a lag calls take slots of earlier ticks, on the fast path within a tick, and on the
// slow path from a full tick to the next. They must stop at the bound too. The test needs the
// machine's clock, because calls on a scripted clock never take the fast path.
func TestLagStopsAtTheBound(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	l.SequenceBits = 6
	w := newWindows(l, time.Now, time.Second) // long enough for a busy machine
	g := open(t, w, snowflake.WithLag(time.Minute))
	bound := w.bounds[0]
	w.set(func() { w.refuse = errDown })
	time.Sleep(time.Until(bound.Add(10 * time.Millisecond)))
	ids, err := tryAll(g, 200_000)
	if !errors.Is(err, snowflake.ErrFenced) || len(ids) < 4096 {
		t.Fatalf("%d IDs, then %v, want the window's, then ErrFenced", len(ids), err)
	}
	if last := g.Layout().Time(ids[len(ids)-1]); !last.Before(bound) {
		t.Errorf("issued at %v, the bound is %v", last, bound)
	}
}

// Fill takes a block that is larger than the rest of the window in parts, one from each
// window. No part may be past the bound. Close, at the end of the test, would return an
// error for such a part.
func TestFillAcrossWindows(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, 2*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read))
	stop := ticking(s)
	defer stop()
	dst := make([]id, 40_000)
	if err := g.Fill(ctx, dst); err != nil {
		t.Fatal(err)
	}
	c.add(dst...)
}

// The clock was set back by an hour, so that the bound that the previous process has left
// is in the future. The generator issues above that bound at once, ahead of the clock.
func TestWindowAheadOfClock(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, time.Second)
	w.bounds[0] = s.now().Add(time.Hour)
	bound := w.bounds[0]
	g := open(t, w, snowflake.WithReadings(s.read))
	c.try(g, 100)
	if first := g.Layout().Time(minKey(c)); first.Before(bound) {
		t.Errorf("issued at %v, below the bound %v of the previous process", first, bound)
	}
	if lead := g.Stats().Lead; lead < time.Hour || lead > time.Hour+time.Second {
		t.Errorf("Lead = %v, want 1h", lead)
	}
}

// After a generator has released or lost its worker, it issues no ID under this worker at
// or above the bound in the store, because the next holder starts at the bound. A
// goroutine that still uses the old grant must not issue either. The sealed bit in
// grant.go prevents that.
func TestNothingIsIssuedAfterRetirement(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *windows, g *snowflake.Generator){
		"closed": func(_ *windows, g *snowflake.Generator) { _ = g.Close(ctx) },
		"lost":   func(w *windows, _ *snowflake.Generator) { w.set(func() { w.loseWorker = true }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 50 {
				retireUnderLoad(t, end)
			}
		})
	}
}

// retireUnderLoad ends a worker while eight goroutines issue, and then checks each ID
// against the bound with which the worker was released.
func retireUnderLoad(t *testing.T, end func(*windows, *snowflake.Generator)) {
	t.Helper()
	layout := snowflake.TwitterLayout()
	w := newWindows(layout, time.Now, 3*time.Millisecond)
	g, err := snowflake.New(w)
	if errors.Is(err, snowflake.ErrFenced) {
		return // on a busy machine the window was over before New returned
	}
	if err != nil {
		t.Fatal(err)
	}
	const busy = 8
	issued := make([][]id, busy)
	var wg sync.WaitGroup
	deadline := time.Now().Add(8 * time.Millisecond)
	for i := range busy {
		wg.Go(func() {
			for time.Now().Before(deadline) {
				id, err := g.Next(ctx)
				if err != nil {
					return
				}
				issued[i] = append(issued[i], id)
			}
		})
	}
	time.Sleep(4 * time.Millisecond)
	end(w, g)
	wg.Wait()
	_ = g.Close(ctx)
	seen := make(map[id]bool)
	for _, ids := range issued {
		for _, id := range ids {
			p := layout.Decompose(id)
			if bound := w.bounds[p.Worker]; !p.Time.Before(bound) {
				t.Fatalf("worker %d issued at %v and was released with the bound %v", p.Worker, p.Time, bound)
			}
			if seen[id] {
				t.Fatalf("%d was issued twice", id)
			}
			seen[id] = true
		}
	}
}

// Under WithLogicalTime a tick lasts until its sequence is used up, although the clock
// stands still, steps back, and then steps forward.
func TestLogicalTime(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	w := newWindows(snowflake.TwitterLayout(), s.now, time.Hour)
	g := open(t, w, snowflake.WithReadings(s.read), snowflake.WithLogicalTime())
	c.try(g, 20_000) // five ticks, while the clock stands still
	s.step(-time.Hour)
	c.try(g, 20_000)
	s.step(24 * time.Hour)
	c.try(g, 10)
	if got := g.Layout().Time(c.last).Sub(g.Layout().Time(minKey(c))); got > 11*time.Millisecond {
		t.Errorf("40,010 IDs took %v of logical time, want 10 ticks", got)
	}
}

// WithLogicalTime on a fixed worker is an error, because the IDs could run ahead of the
// clock without bound.
func TestLogicalTimeNeedsWindows(t *testing.T) {
	t.Parallel()
	if _, err := snowflake.New(snowflake.Static(6, 6), snowflake.WithLogicalTime()); err == nil {
		t.Error("a fixed worker may not run in logical time")
	}
	open(t, snowflake.Static(6, 6)) // the refused generator does not hold the worker
}

// keepingSource is a source that remembers its first grant.
type keepingSource struct {
	*windows
	grant *snowflake.Grant
}

func (k *keepingSource) Grant(ctx context.Context, l snowflake.Layout) (grant *snowflake.Grant, err error) {
	k.grant, err = k.windows.Grant(ctx, l)
	return k.grant, err
}

// After Revoke all calls fail, until the source returns a grant of another worker.
func TestRevoke(t *testing.T) {
	t.Parallel()
	src := &keepingSource{windows: newWindows(snowflake.TwitterLayout(), time.Now, time.Minute)}
	gen, err := snowflake.New(src)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(t.Context())
	if _, err := gen.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	src.grant.Revoke()
	src.set(func() { src.refuse = snowflake.ErrFenced })
	for range 3 {
		if id, err := gen.Next(t.Context()); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("Next = %d, %v after Revoke, want ErrFenced", id, err)
		}
		if _, err := gen.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
			t.Fatalf("TryNext: %v after Revoke, want ErrFenced", err)
		}
	}
	src.set(func() { src.refuse, src.loseWorker = nil, true })
	id, err := gen.Next(t.Context())
	if worker := gen.Layout().Decompose(id).Worker; err != nil || worker != 1 {
		t.Errorf("worker %d, %v, want another worker", worker, err)
	}
}

// descendingSource grants worker 1, and after that worker 0.
type descendingSource struct{ keepingSource }

func (d *descendingSource) Grant(context.Context, snowflake.Layout) (grant *snowflake.Grant, err error) {
	d.grant, err = d.take(1, d.now())
	return d.grant, err
}

func (d *descendingSource) Extend(_ context.Context, _ *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return d.take(0, need)
}

func (*descendingSource) Retire(context.Context, *snowflake.Grant, time.Time) error { return nil }

// After Revoke the source grants a lower worker. The generator must begin in a later tick,
// because in the same tick the IDs of the lower worker would be lower than the IDs before.
func TestReplacedWorkerBeginsInALaterTick(t *testing.T) {
	t.Parallel()
	for range 20 {
		src := &descendingSource{keepingSource{windows: newWindows(snowflake.TwitterLayout(), time.Now, time.Minute)}}
		gen, err := snowflake.New(src)
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close(t.Context())
		before, err := gen.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		src.grant.Revoke()
		after, err := gen.Next(t.Context())
		if worker := gen.Layout().Decompose(after).Worker; err != nil || worker != 0 || after <= before {
			t.Errorf("%d of worker %d, %v, want one of worker 0 above %d", after, worker, err, before)
		}
	}
}

// Last is the tick of the last ID, and the zero time before the grant is used and after it
// was retired.
func TestGrantLast(t *testing.T) {
	t.Parallel()
	src := &keepingSource{windows: newWindows(snowflake.TwitterLayout(), time.Now, time.Minute)}
	gen, err := snowflake.New(src)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		id, err := gen.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := src.grant.Last(), gen.Layout().Time(id); !got.Equal(want) {
			t.Errorf("Last = %v, want %v", got, want)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := src.grant.Last(); !got.IsZero() {
		t.Errorf("Last = %v after Close, want the zero time", got)
	}
	unused, err := snowflake.NewGrant(snowflake.TwitterLayout(), 0, 0, time.Now(), time.Time{})
	if err != nil || !unused.Last().IsZero() {
		t.Errorf("Last = %v, %v before use, want the zero time", unused.Last(), err)
	}
}

// A window that is longer than the layout's lifetime ends with the layout.
func TestWindowBeyondTheLayout(t *testing.T) {
	t.Parallel()
	l := snowflake.TwitterLayout()
	end := l.Expires()
	grant, err := snowflake.NewGrant(l, 0, 0, end.Add(-time.Hour), end.Add(time.Hour))
	if err != nil || !grant.Until().Equal(end) {
		t.Errorf("the window ends at %v, %v, want %v", grant.Until(), err, end)
	}
	if grant.Extend(end.Add(2 * time.Hour)); !grant.Until().Equal(end) {
		t.Errorf("extended, the window ends at %v, want %v", grant.Until(), end)
	}
}

// Extend with an earlier end does nothing, because IDs up to the later end may exist.
func TestWindowIsNeverShortened(t *testing.T) {
	t.Parallel()
	l := snowflake.TwitterLayout()
	from := l.Epoch.Add(time.Hour)
	grant, err := snowflake.NewGrant(l, 0, 0, from, from.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if grant.Extend(from.Add(time.Second)); !grant.Until().Equal(from.Add(time.Minute)) {
		t.Errorf("the window ends at %v, want %v", grant.Until(), from.Add(time.Minute))
	}
}

// Fill writes IDs of the window, and fails because the source refuses to extend it. These
// IDs are lost, and do not count as issued.
func TestIssuedAfterAFailedFill(t *testing.T) {
	t.Parallel()
	l, s := freshLayout(), newScript()
	w := newWindows(l, s.now, 10*time.Millisecond)
	g := open(t, w, snowflake.WithReadings(s.read), snowflake.WithLogicalTime())
	w.set(func() { w.refuse = errDown })
	if err := g.Fill(ctx, make([]id, 20<<l.SequenceBits)); !errors.Is(err, errDown) {
		t.Fatalf("got %v, want %v", err, errDown)
	}
	if got := g.Stats().Issued; got != 0 {
		t.Errorf("%d issued, want none", got)
	}
}

// Stats may count the first block of a call that fails later. The count then stays the
// same until as many IDs have been issued, because it only rises.
func TestIssuedOnlyRises(t *testing.T) {
	t.Parallel()
	l, s := freshLayout(), newScript()
	src := grantingSource(s.now(), 10*time.Millisecond)
	g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithLogicalTime())
	var during uint64
	src.extend = func(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		if during == 0 {
			during = g.Stats().Issued
			return nil, errDown
		}
		held.Extend(need.Add(time.Minute))
		return held, nil
	}
	if err := g.Fill(ctx, make([]id, 20<<l.SequenceBits)); !errors.Is(err, errDown) {
		t.Fatalf("got %v, want %v", err, errDown)
	}
	if after := g.Stats().Issued; during == 0 || after != during {
		t.Errorf("%d issued during the call, %d after it, want the same", during, after)
	}
	if err := g.Fill(ctx, make([]id, during+1)); err != nil {
		t.Fatal(err)
	}
	if got := g.Stats().Issued; got != during+1 {
		t.Errorf("%d issued, want %d", got, during+1)
	}
}

// When the generator follows a step back, it takes (burns) a slot that no call gets, so that
// no call can still use the old time. In this test all slots of the window are used, and the
// next slot belongs to the next holder of the worker. The generator must follow the step
// without burning that slot.
func TestStepBackAtTheEndOfAUsedWindow(t *testing.T) {
	t.Parallel()
	l, s := freshLayout(), newScript()
	w := newWindows(l, s.now, 10*time.Millisecond)
	g, err := snowflake.New(w, snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
	if err != nil {
		t.Fatal(err)
	}
	stop := ticking(s)
	if err := g.Fill(ctx, make([]id, 10<<l.SequenceBits)); err != nil {
		t.Fatal(err)
	}
	stop()
	w.set(func() { w.refuse = errDown })
	s.pass(time.Hour)
	s.step(-time.Minute)
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
	if lead := g.Stats().Lead; lead != 0 {
		t.Errorf("%v ahead of the clock, which has been set back", lead)
	}
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
}
