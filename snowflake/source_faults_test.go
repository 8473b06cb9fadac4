package snowflake_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// faultySource is a source whose answers a test sets. It records the calls of Retire.
type faultySource struct {
	grant  func(snowflake.Layout) (*snowflake.Grant, error)
	extend func(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error)
	retire func(held *snowflake.Grant) error

	mu      sync.Mutex
	retired []retirement
}

// A retirement is a call of Retire.
type retirement struct {
	grant *snowflake.Grant
	last  time.Time
	err   error // of the context at that time
}

func (f *faultySource) Layout() snowflake.Layout { return snowflake.Layout{} }
func (f *faultySource) Clock() func() time.Time  { return nil }

func (f *faultySource) Grant(_ context.Context, l snowflake.Layout) (*snowflake.Grant, error) {
	return f.grant(l)
}

func (f *faultySource) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	return f.extend(ctx, held, need)
}

func (f *faultySource) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	f.mu.Lock()
	f.retired = append(f.retired, retirement{held, last, ctx.Err()})
	f.mu.Unlock()
	if f.retire == nil {
		return nil
	}
	return f.retire(held)
}

// retirements returns the calls of Retire so far.
func (f *faultySource) retirements() []retirement {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.retired
}

// grantingSource returns a source that grants worker 0 from an hour before now. The grant
// ends when the duration window has passed after now.
func grantingSource(now time.Time, window time.Duration) *faultySource {
	return &faultySource{
		grant: func(l snowflake.Layout) (*snowflake.Grant, error) {
			return snowflake.NewGrant(l, 0, 0, now.Add(-time.Hour), now.Add(window))
		},
	}
}

// NewGrant returns an error for an invalid layout, or a worker that the layout cannot hold.
func TestNewGrantRefuses(t *testing.T) {
	t.Parallel()
	l := freshLayout()
	for _, tt := range []struct {
		name               string
		layout             snowflake.Layout
		datacenter, worker int64
		want               string
	}{
		{"invalid layout", snowflake.Layout{}, 0, 0, "snowflake: layout's tick 0s"},
		{"datacenter", l, 32, 0, "snowflake: datacenter 32 out of range [0, 31]"},
		{"worker", l, 0, 32, "snowflake: worker 32 out of range [0, 31]"},
		{"negative worker", l, 0, -1, "snowflake: worker -1 out of range [0, 31]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			grant, err := snowflake.NewGrant(tt.layout, tt.datacenter, tt.worker, l.Epoch, time.Time{})
			if grant != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want no grant and %q", grant, err, tt.want)
			}
		})
	}
}

// A source may return a grant under which no ID can be issued. If it does so for the
// first grant, New fails. If it does so for a grant that replaces another, Next fails,
// and the next call asks the source again. In both cases the generator retires the grant.
func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		grant func(l snowflake.Layout, now time.Time) (*snowflake.Grant, error)
		want  string
	}{
		{"none", func(snowflake.Layout, time.Time) (*snowflake.Grant, error) {
			return nil, nil
		}, "the source has granted nothing"},
		{"another layout", func(_ snowflake.Layout, now time.Time) (*snowflake.Grant, error) {
			return snowflake.NewGrant(snowflake.JSSafeLayout(), 0, 3, now.Add(-time.Hour), now.Add(time.Hour))
		}, "the source has granted datacenter 0 worker 3 of another layout, 39 bits of 10ms"},
		{"past", func(l snowflake.Layout, now time.Time) (*snowflake.Grant, error) {
			return snowflake.NewGrant(l, 0, 3, now.Add(-2*time.Hour), now.Add(-time.Hour))
		}, "datacenter 0 worker 3 was granted until"},
		{"empty", func(l snowflake.Layout, now time.Time) (*snowflake.Grant, error) {
			return snowflake.NewGrant(l, 0, 3, now.Add(time.Hour), now.Add(time.Hour))
		}, "datacenter 0 worker 3 was granted until"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			t.Run("first", func(t *testing.T) {
				t.Parallel()
				s := newScript()
				var refused *snowflake.Grant
				src := &faultySource{}
				src.grant = func(l snowflake.Layout) (_ *snowflake.Grant, err error) {
					refused, err = tt.grant(l, s.now())
					return refused, err
				}
				g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
				if g != nil || err == nil || !strings.HasPrefix(err.Error(), "snowflake: ") || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				checkRetired(t, src, refused)
			})
			t.Run("replacing", func(t *testing.T) {
				t.Parallel()
				s, c := newScript(), newChecker(t)
				src := grantingSource(s.now(), 10*time.Millisecond)
				g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
				c.try(g, 1)
				extends := 0
				var refused *snowflake.Grant
				src.extend = func(context.Context, *snowflake.Grant, time.Time) (_ *snowflake.Grant, err error) {
					extends++
					refused, err = tt.grant(g.Layout(), s.now())
					return refused, err
				}
				s.pass(time.Minute)
				short, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if _, err := g.Next(short); !errors.Is(err, snowflake.ErrFenced) || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v, want ErrFenced and %q", err, tt.want)
				} else if n := strings.Count(err.Error(), snowflake.ErrFenced.Error()); n != 1 {
					t.Errorf("%v: ErrFenced %d times, want once", err, n)
				}
				if extends != 1 {
					t.Errorf("%d extensions by one call, want 1", extends)
				}
				checkRetired(t, src, refused)
				src.extend = func(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
					held.Extend(need.Add(time.Hour))
					return held, nil
				}
				if _, err := g.Next(ctx); err != nil {
					t.Errorf("after the fault: %v", err)
				}
			})
		})
	}
}

// checkRetired checks that this grant and no other was retired, with a last tick before its
// window, because no ID was issued.
func checkRetired(t *testing.T, src *faultySource, grant *snowflake.Grant) {
	t.Helper()
	retired := src.retirements()
	if grant == nil {
		if len(retired) != 0 {
			t.Errorf("retired %v, want nothing", retired)
		}
		return
	}
	if len(retired) != 1 || retired[0].grant != grant || !retired[0].last.Before(grant.Until()) || retired[0].last.IsZero() {
		t.Errorf("retired %v, want %v below its window", retired, grant)
	}
}

// Two generators under one grant would issue the same IDs. The second generator fails,
// and does not retire the grant of the first.
func TestGrantServesOneGenerator(t *testing.T) {
	t.Parallel()
	s, l := newScript(), freshLayout()
	src := grantingSource(s.now(), time.Hour)
	grant, err := src.grant(l)
	if err != nil {
		t.Fatal(err)
	}
	src.grant = func(snowflake.Layout) (*snowflake.Grant, error) { return grant, nil }
	opts := []snowflake.Option{snowflake.WithLayout(l), snowflake.WithReadings(s.read)}
	g := open(t, src, opts...)
	newChecker(t).try(g, 1)
	second, err := snowflake.New(src, opts...)
	if second != nil || err == nil || !strings.Contains(err.Error(), "snowflake: datacenter 0 worker 0 has been granted before") {
		t.Errorf("got %v, want an error that names the worker", err)
	}
	if retired := src.retirements(); len(retired) != 0 {
		t.Errorf("retired %v, under which a generator issues", retired)
	}
	newChecker(t).try(g, 1)
}

// The generator retires the replaced worker even if the context of the call that asked
// for the new worker has ended.
func TestReplacedWorkerIsRetiredWithoutTheCaller(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := grantingSource(s.now(), 10*time.Millisecond)
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	s.pass(time.Minute)
	canceled, cancel := context.WithCancel(ctx)
	src.extend = func(_ context.Context, _ *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		cancel()
		return snowflake.NewGrant(g.Layout(), 0, 1, need, need.Add(time.Hour))
	}
	_, _ = g.Next(canceled)
	retired := src.retirements()
	if len(retired) != 1 || retired[0].err != nil {
		t.Errorf("retired %v, want one with a live context", retired)
	}
}

// If a window begins within a tick, the first ID is of the next tick, because the previous
// window may end within the same tick.
func TestWindowBeginsWithAWholeTick(t *testing.T) {
	t.Parallel()
	s := newScript()
	from := s.now().Add(1)
	src := &faultySource{grant: func(l snowflake.Layout) (*snowflake.Grant, error) {
		return snowflake.NewGrant(l, 0, 0, from, from.Add(time.Hour))
	}}
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrSequenceExhausted) {
		t.Errorf("got %v, %v before the window's first whole tick", g.Layout().Time(id), err)
	}
	s.pass(time.Millisecond)
	id, err := g.TryNext()
	if at := g.Layout().Time(id); err != nil || at.Before(from) {
		t.Errorf("got %v, %v, want not before %v", at, err, from)
	}
}

// The context that the generator passes to Extend ends once Extend has returned. Otherwise
// each call would leave a context behind that lives as long as the caller's context.
func TestContextOfTheSourceEndsWithTheCall(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := grantingSource(s.now(), 10*time.Millisecond)
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	var asked context.Context
	src.extend = func(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		asked = ctx
		held.Extend(need.Add(time.Hour))
		return held, nil
	}
	s.pass(time.Minute)
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(asked.Err(), context.Canceled) {
		t.Errorf("the context has %v, want Canceled", asked.Err())
	}
}

// A call has reserved the slots of ten seconds, and the grant is revoked. The source then
// grants another worker, but only until the end of these ten seconds. The generator must
// refuse this grant, because the IDs of a generator only rise, and the grant has no tick
// above the reserved slots.
func TestReplacementBelowTheReservations(t *testing.T) {
	t.Parallel()
	s, l := newScript(), freshLayout()
	src := grantingSource(s.now(), time.Minute)
	granted, err := src.grant(l)
	if err != nil {
		t.Fatal(err)
	}
	src.grant = func(snowflake.Layout) (*snowflake.Grant, error) { return granted, nil }
	g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(s.read))
	abandonReservation(t, g, 10_000<<l.SequenceBits) // ten seconds
	end := granted.Last().Add(l.Tick)
	var refused *snowflake.Grant
	src.extend = func(_ context.Context, _ *snowflake.Grant, _ time.Time) (_ *snowflake.Grant, err error) {
		refused, err = snowflake.NewGrant(l, 0, 1, s.now(), end)
		return refused, err
	}
	granted.Revoke()
	if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
	checkRetired(t, src, refused)
}

// The source grants another worker until the layout's end, and the clock reaches that end
// during the call. No tick of the new grant is left then. The error must be ErrExpired, and
// not ErrFenced, because no other grant can help.
func TestReplacementAtTheEndOfTheLayout(t *testing.T) {
	t.Parallel()
	s, l := newScript(), freshLayout()
	s.wall = l.Expires().Add(-time.Minute)
	src := grantingSource(s.now(), 10*time.Millisecond)
	g := open(t, src, snowflake.WithLayout(l), snowflake.WithReadings(s.read), snowflake.WithMaxJump(time.Hour))
	src.extend = func(context.Context, *snowflake.Grant, time.Time) (*snowflake.Grant, error) {
		s.pass(time.Minute)
		return snowflake.NewGrant(l, 0, 1, l.Expires().Add(-time.Minute), l.Expires())
	}
	s.pass(time.Second)
	if _, err := g.Next(ctx); !errors.Is(err, snowflake.ErrExpired) || errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("got %v, want ErrExpired alone", err)
	}
}

// If the replaced worker cannot be released, the caller still gets its ID under the new
// worker. This test is not parallel, because it replaces the default logger.
func TestReplacedWorkerThatCannotBeReleased(t *testing.T) {
	log, s := captureLog(t), newScript()
	src := grantingSource(s.now(), 10*time.Millisecond)
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	src.extend = func(_ context.Context, _ *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		return snowflake.NewGrant(g.Layout(), 0, 1, need, need.Add(time.Hour))
	}
	src.retire = func(held *snowflake.Grant) error {
		if held.Worker() == 0 {
			return errDown
		}
		return nil
	}
	s.pass(time.Minute)
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a replaced worker could not be released", "datacenter 0 worker 0", "the store is down"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("logged %q, want %q", log, want)
		}
	}
}

// If a window would begin after the layout's end, the error is ErrExpired.
func TestGrantAfterTheLayoutsEnd(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := &faultySource{grant: func(l snowflake.Layout) (*snowflake.Grant, error) {
		return snowflake.NewGrant(l, 0, 0, l.Expires(), time.Time{})
	}}
	if g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read)); g != nil || !errors.Is(err, snowflake.ErrExpired) {
		t.Errorf("got %v, want ErrExpired", err)
	}
}

// A generator that calls its source again and again must not leak memory. This test is
// not parallel, because it measures the heap.
func TestAskingLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	s := newScript()
	src := grantingSource(s.now(), time.Millisecond)
	src.extend = func(_ context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
		held.Extend(need.Add(time.Millisecond))
		return held, nil
	}
	g := open(t, src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	heap := func(asks int) int64 {
		for range asks {
			s.pass(time.Millisecond)
			if _, err := g.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap(100)
	if grown := heap(10_000) - before; grown > 1_000_000 {
		t.Errorf("%d bytes are kept of 10,000 calls", grown)
	}
}
