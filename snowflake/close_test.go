package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// waitingForSource returns a generator whose window has ended, with callers of Next that
// wait for its source. The source does not answer until its context ends. results
// receives the errors of the callers.
func waitingForSource(t *testing.T, callers int) (g *snowflake.Generator, src *faultySource, results chan error) {
	t.Helper()
	s := newScript()
	src = grantingSource(s.now(), 10*time.Millisecond)
	asked := make(chan struct{})
	src.extend = func(ctx context.Context, _ *snowflake.Grant, _ time.Time) (*snowflake.Grant, error) {
		close(asked)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	s.pass(time.Minute)
	waiting, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	results = make(chan error, callers)
	for range callers {
		go func() {
			_, err := g.Next(waiting)
			results <- err
		}()
	}
	<-asked
	return g, src, results
}

// Close ends a call of the source that hangs, and all calls that wait for it, so that a
// program can exit while the store is down.
func TestCloseDoesNotWaitForTheSource(t *testing.T) {
	t.Parallel()
	const callers = 5
	g, src, results := waitingForSource(t, callers)
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := g.Close(short); err != nil {
		t.Fatal(err)
	}
	for range callers {
		select {
		case err := <-results:
			if !errors.Is(err, snowflake.ErrClosed) {
				t.Errorf("a waiting call got %v, want ErrClosed", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a call still waits for the source")
		}
	}
	if retired := src.retirements(); len(retired) != 1 {
		t.Errorf("retired %v, want the grant", retired)
	}
}

// A call that waits for the source fails with ErrClosed when the generator is closed,
// independent of the source's error, and even if the call's own context ends too.
func TestClosedWhileTheSourceIsAsked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(ctx context.Context) error{
		"the context's error": context.Context.Err,
		"the cause":           context.Cause,
		"its own":             func(context.Context) error { return errDown },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			src := grantingSource(s.now(), 10*time.Millisecond)
			g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
			if err != nil {
				t.Fatal(err)
			}
			caller, cancel := context.WithCancel(ctx)
			defer cancel()
			src.extend = func(ctx context.Context, _ *snowflake.Grant, _ time.Time) (*snowflake.Grant, error) {
				if err := g.Close(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				cancel()
				return nil, answer(ctx)
			}
			s.pass(time.Minute)
			if id, err := g.Next(caller); !errors.Is(err, snowflake.ErrClosed) {
				t.Errorf("got %d, %v, want ErrClosed", id, err)
			}
		})
	}
}

// The generator calls the source for one call at a time. Another call waits for the
// answer, but only until its own context ends.
func TestContextEndsWhileTheSourceIsAsked(t *testing.T) {
	t.Parallel()
	g, _, results := waitingForSource(t, 1) // its source panics at a second call
	if id, err := g.Next(canceledContext()); !errors.Is(err, snowflake.ErrFenced) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v, want ErrFenced and context.Canceled", id, err)
	}
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-results; !errors.Is(err, snowflake.ErrClosed) {
		t.Errorf("the first call got %v, want ErrClosed", err)
	}
}

// A source that ignores its context cannot keep the generator open. If it returns a grant
// after Close, the generator releases that grant. The waiting call returns ErrClosed and
// the error of that release. In the case without sequence bits each slot is a tick, so the
// case also checks how ticks are computed from slots.
func TestCloseBeforeTheSourceGrants(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint8{0, 12} {
		t.Run(fmt.Sprintf("%d sequence bits", bits), func(t *testing.T) {
			t.Parallel()
			s, l := newScript(), freshLayout()
			l.SequenceBits = bits
			src := grantingSource(s.now(), 10*time.Millisecond)
			g, err := snowflake.New(src, snowflake.WithLayout(l), snowflake.WithReadings(s.read))
			if err != nil {
				t.Fatal(err)
			}
			src.extend = func(_ context.Context, _ *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
				short, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if err := g.Close(short); err != nil {
					t.Error(err)
				}
				return snowflake.NewGrant(l, 0, 1, need, need.Add(time.Hour))
			}
			errRetire := errors.New("the store is down")
			src.retire = func(held *snowflake.Grant) error {
				if held.Worker() == 1 {
					return errRetire
				}
				return nil
			}
			s.pass(time.Minute)
			if id, err := g.Next(ctx); !errors.Is(err, snowflake.ErrClosed) || !errors.Is(err, errRetire) {
				t.Errorf("got %d, %v, want ErrClosed and the error of the source", id, err)
			}
			if retired := src.retirements(); len(retired) != 2 || retired[0].grant.Worker() != 0 || retired[1].grant.Worker() != 1 {
				t.Errorf("retired %v, want worker 0, then worker 1", retired)
			}
		})
	}
}

// A second Close waits for the first, and returns the same result.
func TestCloseTellsEveryCallerTheSame(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := grantingSource(s.now(), time.Hour)
	errRetire, entered, answer := errors.New("the store is down"), make(chan struct{}), make(chan struct{})
	src.retire = func(*snowflake.Grant) error {
		close(entered)
		<-answer
		return errRetire
	}
	g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- g.Close(ctx) }()
	<-entered
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := g.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Close that did not wait for the first: %v, want context.Canceled", err)
	}
	go func() { second <- g.Close(ctx) }()
	select {
	case err := <-second:
		t.Fatalf("the second Close returned %v before the first", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(answer)
	for _, result := range []chan error{first, second} {
		if err := <-result; !errors.Is(err, errRetire) {
			t.Errorf("got %v, want what the source said", err)
		}
	}
	if _, err := g.TryNext(); !errors.Is(err, snowflake.ErrClosed) {
		t.Errorf("TryNext: %v, want ErrClosed", err)
	}
}

// While the source releases the worker no ID is issued, because another process may
// already hold the worker.
func TestNothingIsIssuedWhileRetiring(t *testing.T) {
	t.Parallel()
	s := newScript()
	src := grantingSource(s.now(), time.Hour)
	g, err := snowflake.New(src, snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	newChecker(t).try(g, 1)
	src.retire = func(*snowflake.Grant) error {
		if id, err := g.TryNext(); !errors.Is(err, snowflake.ErrClosed) {
			t.Errorf("got %d, %v, want ErrClosed", id, err)
		}
		return nil
	}
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// A call that has reserved IDs of later ticks, and waits for these ticks, returns its IDs
// even after Close. Stats counts them when the call returns.
func TestIssuedAfterClose(t *testing.T) {
	t.Parallel()
	s := newScript()
	g, err := snowflake.New(grantingSource(s.now(), time.Hour), snowflake.WithLayout(freshLayout()), snowflake.WithReadings(s.read))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- g.Fill(ctx, make([]id, 20_000)) }()
	for g.Stats().Lead == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := g.Stats().Issued; got != 0 {
		t.Errorf("%d issued before the wait is over, want 0", got)
	}
	s.pass(time.Second)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := g.Stats().Issued; got != 20_000 {
		t.Errorf("%d issued, want 20,000", got)
	}
}
