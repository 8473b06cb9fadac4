package snowflake_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// manyWorkers returns a layout with enough workers for every revocation. A tick has only 64
// slots, so that blocks wait.
func manyWorkers() snowflake.Layout {
	return snowflake.Layout{Epoch: date("2020-01-01T00:00:00Z"), Tick: time.Millisecond, WorkerBits: 16, SequenceBits: 6}
}

// replacingSource is a source that grants a new worker at each call.
type replacingSource struct {
	layout snowflake.Layout
	now    func() time.Time

	mu      sync.Mutex
	grants  []*snowflake.Grant // by worker
	refuse  error              // the error of Extend
	retired map[*snowflake.Grant]time.Time
}

func newReplacing(layout snowflake.Layout, now func() time.Time) *replacingSource {
	return &replacingSource{layout: layout, now: now, retired: map[*snowflake.Grant]time.Time{}}
}

func (r *replacingSource) Layout() snowflake.Layout { return r.layout }
func (r *replacingSource) Clock() func() time.Time  { return nil }

func (r *replacingSource) Grant(context.Context, snowflake.Layout) (*snowflake.Grant, error) {
	return r.take(r.now(), time.Hour)
}

func (r *replacingSource) Extend(_ context.Context, _ *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return r.take(need, time.Hour)
}

func (r *replacingSource) Retire(_ context.Context, held *snowflake.Grant, last time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retired[held] = last
	return nil
}

// take grants the next worker from a time on, for the width.
func (r *replacingSource) take(from time.Time, width time.Duration) (*snowflake.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return nil, r.refuse
	}
	grant, err := snowflake.NewGrant(r.layout, 0, int64(len(r.grants)), from, from.Add(width))
	r.grants = append(r.grants, grant)
	return grant, err
}

// current returns the last grant, and its worker.
func (r *replacingSource) current() (*snowflake.Grant, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	grant := r.grants[len(r.grants)-1]
	return grant, grant.Worker()
}

// set sets the error of Extend.
func (r *replacingSource) set(refuse error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// Six goroutines issue IDs while the source revokes one grant after the other. A call that
// begins after Revoke has returned must not return an ID of the revoked grant, although
// other calls are in progress during Revoke.
func TestNothingOfARevokedGrant(t *testing.T) {
	t.Parallel()
	src := newReplacing(manyWorkers(), time.Now)
	g := open(t, src)
	var revoked atomic.Int64 // all workers below this number are revoked
	var stop atomic.Bool
	var calls, wg sync.WaitGroup
	issued := make([][]id, 6)
	call := func(i int, issue func() ([]id, error)) {
		for !stop.Load() {
			least := revoked.Load()
			ids, err := issue()
			if err != nil {
				if !errors.Is(err, snowflake.ErrFenced) && !errors.Is(err, snowflake.ErrSequenceExhausted) {
					t.Error(err)
					return
				}
				continue
			}
			for _, id := range ids {
				if worker := src.layout.Decompose(id).Worker; worker < least {
					t.Errorf("an ID of worker %d, from a call that began after worker %d was revoked", worker, least-1)
					return
				}
			}
			issued[i] = append(issued[i], ids...)
		}
	}
	for i, issue := range []func() ([]id, error){
		func() ([]id, error) { one, err := g.Next(ctx); return []id{one}, err },
		func() ([]id, error) { one, err := g.Next(ctx); return []id{one}, err },
		func() ([]id, error) { one, err := g.TryNext(); return []id{one}, err },
		func() ([]id, error) { one, err := g.TryNext(); return []id{one}, err },
		func() ([]id, error) { dst := make([]id, 5); return dst, g.Fill(ctx, dst) },
		func() ([]id, error) { dst := make([]id, 200); return dst, g.Fill(ctx, dst) },
	} {
		calls.Go(func() { call(i, issue) })
	}
	wg.Go(func() {
		for begun := time.Now(); time.Since(begun) < 500*time.Millisecond || revoked.Load() == 0 && time.Since(begun) < time.Minute; {
			if grant, worker := src.current(); worker >= revoked.Load() && !grant.Last().IsZero() {
				grant.Revoke()
				revoked.Store(worker + 1)
			}
			time.Sleep(200 * time.Microsecond)
		}
		stop.Store(true)
	})
	wg.Wait()
	calls.Wait()
	if n := revoked.Load(); n == 0 {
		t.Error("nothing was revoked")
	} else {
		t.Logf("%d revocations", n)
	}
	seen := make(map[id]bool)
	for _, ids := range issued {
		c := checker{t: t, seen: seen}
		c.add(ids...)
	}
}

// startWaiting starts a call, and returns once the call waits for slots that it has
// reserved. The channel receives the error of the call.
func startWaiting(t *testing.T, g *snowflake.Generator, call func() error) (answer chan error) {
	t.Helper()
	answer = make(chan error, 1)
	waits := g.Stats().Waits
	go func() { answer <- call() }()
	for deadline := time.Now().Add(time.Minute); g.Stats().Waits == waits; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the call does not wait")
		}
	}
	return answer
}

// waitForAnswer returns the error of a call that startWaiting has started.
func waitForAnswer(t *testing.T, answer chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the call does not end")
		return nil
	}
}

// The source revokes a grant while a call waits for slots that it has reserved. The call
// loses these slots, and must not wait for them any longer. It starts again under the next
// grant, or fails if the source has none.
func TestRevokeDuringAWait(t *testing.T) {
	t.Parallel()
	const n = 200 // slots, in four ticks
	calls := map[string]func(g *snowflake.Generator, ids []id) (count int, err error){
		"Fill": func(g *snowflake.Generator, ids []id) (int, error) { return n, g.Fill(ctx, ids) },
		"Next": func(g *snowflake.Generator, ids []id) (_ int, err error) {
			ids[0], err = g.Next(ctx)
			return 1, err
		},
	}
	for name, call := range calls {
		for _, hasNext := range []bool{true, false} { // whether the source has another worker
			t.Run(map[bool]string{true: name + " with another worker", false: name + " with none"}[hasNext], func(t *testing.T) {
				t.Parallel()
				s := newScript()
				src := newReplacing(manyWorkers(), s.now)
				g := open(t, src, snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
				if err := g.Fill(ctx, make([]id, 64)); err != nil {
					t.Fatal(err)
				}
				issued := 64
				ids := make([]id, n)
				answer := startWaiting(t, g, func() error {
					count, err := call(g, ids)
					if err == nil {
						issued += count
					}
					return err
				})
				if !hasNext {
					src.set(errDown)
				}
				revoked, _ := src.current()
				last := revoked.Last()
				revoked.Revoke()
				if !hasNext {
					if err := waitForAnswer(t, answer); !errors.Is(err, snowflake.ErrFenced) || ids[0] != 0 {
						t.Errorf("%v and ID %d, want ErrFenced and none", err, ids[0])
					}
				} else {
					stop := ticking(s)
					defer stop()
					if err := waitForAnswer(t, answer); err != nil {
						t.Fatal(err)
					}
					for _, id := range ids[:issued-64] {
						if p := src.layout.Decompose(id); p.Worker != 1 || !p.Time.After(last) {
							t.Fatalf("%+v, want worker 1 after %v", p, last)
						}
					}
				}
				if got := g.Stats().Issued; got != uint64(issued) {
					t.Errorf("%d issued, want %d", got, issued)
				}
			})
		}
	}
}

// Fill has got its first IDs under one grant, and waits for slots of a second grant to get
// the rest. If the source revokes the first grant meanwhile, Fill must not return IDs of the
// first grant, and starts again. Without a revocation Fill keeps them.
func TestRevokeBetweenTheBlocksOfAFill(t *testing.T) {
	t.Parallel()
	const first = 64 // slots of the first window
	for _, test := range []struct {
		name   string
		n      int
		revoke bool
	}{
		{"revoked", 200, true},
		{"revoked before the last ID", first + 1, true},
		{"not revoked", 200, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, c := newScript(), newChecker(t)
			src := newReplacing(manyWorkers(), s.now)
			src.grants = append(src.grants, nil) // worker 0 has another window
			g := open(t, firstWindow{src, time.Millisecond}, snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
			dst := make([]id, test.n)
			answer := startWaiting(t, g, func() error { return g.Fill(ctx, dst) })
			if _, worker := src.current(); worker != 1 {
				t.Fatalf("the second block is of worker %d, want 1", worker)
			}
			if test.revoke {
				src.grants[0].Revoke()
			}
			stop := ticking(s)
			defer stop()
			if err := waitForAnswer(t, answer); err != nil {
				t.Fatal(err)
			}
			c.add(dst...)
			if worker := src.layout.Decompose(dst[0]).Worker; (worker == 0) == test.revoke {
				t.Errorf("the first block is of worker %d", worker)
			}
			if got := g.Stats().Issued; got != uint64(test.n) {
				t.Errorf("%d issued, want %d", got, test.n)
			}
		})
	}
}

// firstWindow is a source that grants a short window of worker 0 first, and after that an
// hour of another worker at each call.
type firstWindow struct {
	*replacingSource
	width time.Duration
}

// Grant grants worker 0 for the width.
func (f firstWindow) Grant(context.Context, snowflake.Layout) (grant *snowflake.Grant, err error) {
	f.grants[0], err = snowflake.NewGrant(f.layout, 0, 0, f.now(), f.now().Add(f.width))
	return f.grants[0], err
}

// A source extends a grant that it has revoked. This has no effect, and calls still fail.
func TestRevokedGrantStaysRevoked(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := grantingSource(s.now(), time.Hour)
	var grant *snowflake.Grant
	src.grant = func(l snowflake.Layout) (_ *snowflake.Grant, err error) {
		grant, err = snowflake.NewGrant(l, 0, 0, s.now(), s.now().Add(time.Hour))
		return grant, err
	}
	src.extend = func(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		held.Extend(need.Add(time.Hour))
		return held, nil
	}
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	newChecker(t).try(g, 10)
	for range 3 {
		grant.Revoke()
		end := grant.Until()
		grant.Extend(s.now().Add(10 * time.Hour))
		if !grant.Until().Equal(end) || !end.Equal(s.now()) {
			t.Errorf("the window ends at %v, then %v, want where it starts, %v", end, grant.Until(), s.now())
		}
		_, next := g.Next(ctx)
		_, tryNext := g.TryNext()
		for call, err := range map[string]error{"Next": next, "TryNext": tryNext, "Fill": g.Fill(ctx, make([]id, 10))} {
			if !errors.Is(err, snowflake.ErrFenced) || !strings.Contains(err.Error(), "datacenter 0 worker 0 was revoked") {
				t.Errorf("%s: %v, want ErrFenced that names the worker", call, err)
			}
		}
	}
	if got := g.Stats().Issued; got != 10 {
		t.Errorf("%d issued, want 10", got)
	}
}

// After Revoke, Last of the grant still returns the last tick that a call has reserved,
// and Retire gets this tick, because the source releases the worker above it. Once the
// grant has been released or replaced, its Last returns the zero time.
func TestLastOfARevokedGrant(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, g *snowflake.Generator, src *replacingSource){
		"closed": func(t *testing.T, g *snowflake.Generator, _ *replacingSource) {
			t.Helper()
			if err := g.Close(ctx); err != nil {
				t.Error(err)
			}
		},
		"replaced": func(t *testing.T, g *snowflake.Generator, src *replacingSource) {
			t.Helper()
			last := src.grants[0].Last()
			_ = g.Fill(canceledContext(), make([]id, 1)) // its slot is not due yet
			if next, _ := src.current(); !next.Last().Equal(last) {
				t.Errorf("the replacement begins after %v, want right after %v", next.Last(), last)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			src := newReplacing(manyWorkers(), s.now)
			g := open(t, src, snowflake.WithReadings(s.read), snowflake.WithSequenceStart(snowflake.StartZero))
			if err := g.Fill(ctx, make([]id, 64)); err != nil {
				t.Fatal(err)
			}
			abandonReservation(t, g, 640)
			want := s.now().Add(10 * time.Millisecond)
			grant, _ := src.current()
			grant.Revoke()
			grant.Revoke()
			if got := grant.Last(); !got.Equal(want) {
				t.Errorf("Last = %v, want %v", got, want)
			}
			if got := g.Stats(); got.Issued != 64 || got.Lead != 10*time.Millisecond {
				t.Errorf("%+v, want 64 issued and a lead of 10ms", got)
			}
			end(t, g, src)
			if got, ok := src.retired[grant]; !ok || !got.Equal(want) {
				t.Errorf("retired at %v, want %v", got, want)
			}
			if got := grant.Last(); !got.IsZero() {
				t.Errorf("Last = %v after the end, want the zero time", got)
			}
			if got := g.Stats().Issued; got != 64 {
				t.Errorf("%d issued, want 64", got)
			}
		})
	}
}

// canceledContext returns a context that has ended.
func canceledContext() context.Context {
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	return canceled
}

// A generator whose grant was revoked can be closed. Calls then fail with ErrClosed, even
// if the source revokes the grant again.
func TestCloseOfARevokedGrant(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := newReplacing(manyWorkers(), s.now)
	g := open(t, src, snowflake.WithReadings(s.read))
	newChecker(t).try(g, 1)
	grant, _ := src.current()
	grant.Revoke()
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrClosed) {
			t.Errorf("Next: %v, want ErrClosed", err)
		}
		if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClosed) {
			t.Errorf("TryNext: %v, want ErrClosed", err)
		}
		grant.Revoke()
	}
}

// A source may revoke its grant while New still prepares the generator. Either New fails,
// or the generator issues nothing. The test revokes the grant at once, or at one of the
// readings of the clock in New.
func TestRevokedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	for reading := range int64(4) {
		s := newScript()
		var grant *snowflake.Grant
		var readingsLeft atomic.Int64 // until the source revokes the grant
		src := grantingSource(s.now(), time.Hour)
		src.grant = func(l snowflake.Layout) (_ *snowflake.Grant, err error) {
			grant, err = snowflake.NewGrant(l, 0, 0, s.now(), s.now().Add(time.Hour))
			if readingsLeft.Store(reading); reading == 0 {
				grant.Revoke()
			}
			return grant, err
		}
		src.extend = func(context.Context, *snowflake.Grant, time.Time) (*snowflake.Grant, error) {
			return nil, errDown
		}
		read := func() (time.Time, time.Duration) {
			if readingsLeft.Add(-1) == 0 {
				grant.Revoke()
			}
			return s.read()
		}
		g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(read))
		if errors.Is(err, snowflake.ErrFenced) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
				t.Errorf("reading %d: got %d, %v, want ErrFenced", reading, id, err)
			}
		}
		if err := g.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// After a step back of the clock, a call of Now on a replaced grant must not move
// logical time behind the last ID, which belongs to another grant.
func TestStepBackAfterARevocation(t *testing.T) {
	t.Parallel()
	s, c := newScript(), newChecker(t)
	src := newReplacing(manyWorkers(), s.now)
	g := open(t, src, snowflake.WithReadings(s.read), snowflake.OnClockBackwards(snowflake.Fail()))
	c.try(g, 1)
	revoked, _ := src.current()
	s.pass(30 * time.Minute)
	revoked.Revoke()
	if err := g.Fill(canceledContext(), make([]id, 1)); !errors.Is(err, context.Canceled) && err != nil {
		t.Fatal(err)
	}
	s.pass(time.Millisecond)
	c.try(g, 1)
	s.step(-10 * time.Minute)
	checkBelieves(t, revoked, s)
	if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrClockBackwards) {
		t.Errorf("got %v, %v, want ErrClockBackwards", src.layout.Time(id), err)
	}
}

// The first ID of this generator is the last of the layout, with all 63 bits set. After
// Revoke, which sets the 64th bit of the generator's state, calls return ErrFenced.
func TestRevokeAtTheLastID(t *testing.T) {
	t.Parallel()
	l := snowflake.Layout{Epoch: time.UnixMilli(0), Tick: 30 * 365 * 24 * time.Hour, DatacenterBits: 31, WorkerBits: 31}
	src := &keepingSource{windows: newWindows(l, time.Now, time.Hour)}
	src.windows.refuse = errDown
	f := &faultySource{
		grant: func(l snowflake.Layout) (_ *snowflake.Grant, err error) {
			src.grant, err = snowflake.NewGrant(l, 1<<31-1, 1<<31-1, l.Epoch, l.Expires())
			return src.grant, err
		},
		extend: func(context.Context, *snowflake.Grant, time.Time) (*snowflake.Grant, error) { return nil, errDown },
	}
	g := open(t, f, snowflake.WithLayout(l))
	id, err := g.Next(ctx)
	if err != nil || id != 1<<63-1 {
		t.Fatalf("got %d, %v, want the last ID", id, err)
	}
	src.grant.Revoke()
	for range 3 {
		if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("got %d, %v, want ErrFenced", id, err)
		}
	}
}
