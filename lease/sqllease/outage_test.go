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
	window := 30 * time.Second // two thirds of it are enough for a busy machine to start the server
	if storetest.Long() {
		window = 2 * time.Minute
	}
	server := testserver.Postgres(t)
	l, gen := leaseOn(t, server, window)
	began := time.Now()
	server.Kill()
	issueUntil(t, gen, window/10, func() bool { return l.Stats().Failures > 0 })
	restarted := make(chan error, 1)
	go func() { restarted <- server.Start() }()
	issueUntil(t, gen, window/10, func() bool { return l.Stats().Failure == nil })
	t.Logf("the server was down for %v", time.Since(began).Round(time.Millisecond))
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
}

// issueUntil issues IDs until done. It fails the test if no ID can be issued, or if an ID
// takes longer than maxGap.
func issueUntil(t *testing.T, gen *snowflake.Generator, maxGap time.Duration, done func() bool) {
	t.Helper()
	for last := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if _, err := gen.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if gap := stall.Took(last); gap > maxGap {
			t.Errorf("no ID for %v", gap)
		}
		last = time.Now()
	}
}

// The database is down for longer than the window. The generator is fenced at the bound,
// neither earlier nor later, and issues again within seconds of the restart.
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
	// The loop uses up all IDs of the last tick before the bound. It then asks for an ID of
	// the tick at the bound, up to a millisecond before this tick begins. A busy machine may
	// delay a call. So early is measured after the call that fails, and late at the beginning
	// of the last call that succeeds.
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
	if took := stall.Took(back); took > 5*time.Second {
		t.Errorf("served again after %v, want within seconds: %v", took, err)
	} else {
		t.Logf("served again after %v", took)
	}
}
