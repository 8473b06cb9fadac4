package sqllease_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gorm.io/driver/postgres"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/snowflake"
)

// leaseOn returns a lease on a server that can be stopped, and its generator.
func leaseOn(t *testing.T, server *testserver.Server, window time.Duration) (*lease.Lease, *snowflake.Generator) {
	t.Helper()
	store := newStore(open(t, postgres.Open(server.URL())))
	l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithWindow(window), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gen.Close(context.Background()) })
	return l, gen
}

// The database is down when the lease first wants to extend its window, a third into the
// window, and back before the window ends. The lease counts failures, and the generator
// issues IDs all the time.
func TestShortOutageIsNotNoticed(t *testing.T) {
	t.Parallel()
	// The extension is due at window/3, which is after before and within down.
	window, before, down := 6*time.Second, time.Second, 2*time.Second
	if storetest.Long() {
		window, before, down = time.Minute, 18*time.Second, 5*time.Second
	}
	server := testserver.Postgres(t)
	l, gen := leaseOn(t, server, window)
	time.Sleep(before)
	server.Kill()
	killed, last, hadFailure := time.Now(), time.Now(), false // last is when the last ID was issued
	restarted := make(chan error, 1)
	time.AfterFunc(down, func() { restarted <- server.Start() })
	for time.Since(killed) < down+window/2 {
		if _, err := gen.Next(t.Context()); err != nil {
			t.Fatalf("%v into the outage: %v", time.Since(killed), err)
		}
		if gap := stall.Took(last); gap > window/10 {
			t.Errorf("no ID for %v", gap)
		}
		hadFailure = hadFailure || l.Stats().Failures > 0
		last = time.Now()
		time.Sleep(time.Millisecond)
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); !hadFailure || s.Failure != nil {
		t.Errorf("stats %+v: want failures, and none now", s)
	}
}

// The database is down for longer than the window. The generator is fenced at the bound,
// neither earlier nor later, and issues again within a second of the restart.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	l, gen := leaseOn(t, server, 3*time.Second)
	server.Kill()
	until := l.Stats().Until
	var lastCall, callBefore time.Time // when the last call began, which fails, and the call before it
	var err error
	for err == nil {
		callBefore, lastCall = lastCall, time.Now()
		_, err = gen.Next(t.Context())
	}
	// The loop uses up all IDs of a tick, so that it asks for the bound up to a
	// millisecond before the bound comes. A busy machine delays whole calls, whose times
	// are taken right before and after them.
	early, late := time.Until(until), callBefore.Sub(until)
	if max(early, late) > time.Millisecond || !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("refused %v before the bound, and served %v after it: %v", early, late, err)
	}
	time.Sleep(2 * time.Second)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	for {
		if _, err = gen.Next(t.Context()); err == nil || time.Since(back) > patience {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if took := stall.Took(back); took > time.Second {
		t.Errorf("served again after %v, want within a second: %v", took, err)
	} else {
		t.Logf("served again after %v", took)
	}
}
