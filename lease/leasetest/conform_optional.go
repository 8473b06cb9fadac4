package leasetest

import (
	"context"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// maxOff is how far the clock of a store may be off on the machines of a test.
// A clock that goes by a time zone is off by more.
const maxOff = 10 * time.Minute

// clock tests a store that is a lease.Clock.
func (s *suite) clock() {
	if clock, ok := s.handle().Store.(lease.Clock); ok {
		s.runs(clock)
	}
}

func (s *suite) runs(clock lease.Clock) {
	s.Helper()
	before := s.now(clock)
	if off := time.Until(before).Abs(); off > maxOff {
		s.Errorf("Now = %v, which is off by %v: want the time of day in any time zone", before, off)
	}
	const pause = 100 * time.Millisecond
	time.Sleep(pause)
	if passed := s.now(clock).Sub(before); passed < pause/2 || passed > patience {
		s.Errorf("Now has advanced by %v during %v", passed, pause)
	}
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if now, err := clock.Now(ended); err == nil {
		s.Errorf("Now after its context has ended = %v, want an error", now)
	}
}

func (s *suite) now(clock lease.Clock) time.Time {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	now, err := clock.Now(ctx)
	if err != nil {
		s.Fatalf("Now: %v", err)
	}
	return now
}

// connections tests a store that is a lease.Connector. One that does not release
// its connections runs out of them. There may be a single one.
func (s *suite) connections() {
	h := s.handle()
	connector, ok := h.Store.(lease.Connector)
	if !ok {
		return
	}
	is := lease.Record{}
	for i := range int64(30) {
		connected, release := s.connect(connector)
		next := lease.Record{Bound: now + i, Owner: "owner"}
		connected.takes(1, is, next)
		connected.writesNothing(1, is, next)
		release()
		h.holds(1, next)
		is = next
	}
	connected, release := s.connect(connector)
	_, timed := h.Store.(lease.Clock)
	clock, ok := connected.Store.(lease.Clock)
	if ok != timed {
		s.Errorf("the store is a lease.Clock: %v, and over one connection: %v", timed, ok)
	}
	if ok {
		s.runs(clock)
	}
	release()
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if _, _, err := connector.Connect(ended); err == nil {
		s.Error("Connect after its context has ended: want an error")
	}
}

func (s *suite) connect(connector lease.Connector) (_ handle, release func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	store, release, err := connector.Connect(ctx)
	if err != nil {
		s.Fatalf("Connect: %v", err)
	}
	return handle{s.T, store}, release
}
