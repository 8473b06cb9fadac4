package leasetest

import (
	"context"
	"maps"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// maxOff is how far the clock of a store may be off on the machines of a test. A clock
// in a wrong time zone is off by more.
const maxOff = 10 * time.Minute

// clock tests the store if it is a lease.Clock.
func (s *suite) clock() {
	if clock, ok := s.handle().Store.(lease.Clock); ok {
		s.checkClock(clock)
	}
}

// checkClock checks that the clock shows the time of day, runs, and heeds its context. It
// compares times only roughly, because the machine may be busy.
func (s *suite) checkClock(clock lease.Clock) {
	s.Helper()
	before := s.storeTime(clock)
	if off := time.Until(before).Abs(); off > maxOff {
		s.Errorf("Now = %v, which is off by %v: want the time of day in any time zone", before, off)
	}
	const pause = 100 * time.Millisecond
	time.Sleep(pause)
	if passed := s.storeTime(clock).Sub(before); passed < pause/2 || passed > patience {
		s.Errorf("Now has advanced by %v during %v", passed, pause)
	}
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if now, err := clock.Now(ended); err == nil {
		s.Errorf("Now after its context has ended = %v, want an error", now)
	}
}

// storeTime returns the clock's time.
func (s *suite) storeTime(clock lease.Clock) time.Time {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	now, err := clock.Now(ctx)
	if err != nil {
		s.Fatalf("Now: %v", err)
	}
	return now
}

// connections tests the store if it is a lease.Connector. It connects thirty times, so
// that a store that does not release its connections runs out of them. It holds a
// single connection at a time, because the store may have no more.
func (s *suite) connections() {
	h := s.handle()
	connector, ok := h.Store.(lease.Connector)
	if !ok {
		return
	}
	current := lease.Record{}
	for i := range int64(30) {
		connected, release := s.connect(connector)
		next := lease.Record{Bound: usualBound + i, Owner: "owner"}
		connected.takes(1, current, next)
		connected.writesNothing(1, current, next)
		release()
		h.holds(1, next)
		current = next
	}
	connected, release := s.connect(connector)
	// The connected store must implement the same optional interfaces as the store.
	_, timed := h.Store.(lease.Clock)
	clock, ok := connected.Store.(lease.Clock)
	if ok != timed {
		s.Errorf("the store is a lease.Clock: %v, and over one connection: %v", timed, ok)
	}
	_, gets := h.Store.(lease.Getter)
	if getter, ok := connected.Store.(lease.Getter); ok != gets {
		s.Errorf("the store is a lease.Getter: %v, and over one connection: %v", gets, ok)
	} else if ok {
		s.checkGet(getter, []int{1}, map[int]lease.Record{1: current})
	}
	if ok {
		s.checkClock(clock) // last, because the ended context may close the connection
	}
	release()
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if _, _, err := connector.Connect(ended); err == nil {
		s.Error("Connect after its context has ended: want an error")
	}
}

// connect returns a handle over a connection of its own.
func (s *suite) connect(connector lease.Connector) (_ handle, release func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	store, release, err := connector.Connect(ctx)
	if err != nil {
		s.Fatalf("Connect: %v", err)
	}
	return handle{s.T, store}, release
}

// someRecords tests the store if it is a lease.Getter.
func (s *suite) someRecords() {
	writer, reader := s.handle(), s.handle()
	getter, ok := reader.Store.(lease.Getter)
	if !ok {
		return
	}
	s.checkGet(getter, []int{3}, nil)
	all := map[int]lease.Record{}
	for _, key := range []int{-1, 0, 1, 7, 40, 16383} {
		all[key] = lease.Record{Bound: usualBound + int64(key), Owner: "owner"}
		writer.takes(key, lease.Record{}, all[key])
	}
	for key, r := range all {
		s.checkGet(getter, []int{key}, map[int]lease.Record{key: r})
	}
	s.checkGet(getter, []int{40, -1, 2}, map[int]lease.Record{40: all[40], -1: all[-1]})
	many := []int{-1}
	for key := range 99 {
		many = append(many, 2*key)
	}
	s.checkGet(getter, many, map[int]lease.Record{-1: all[-1], 0: all[0], 40: all[40]})
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if records, _, err := getter.Get(ended, []int{0}); err == nil {
		s.Errorf("Get after its context has ended = %v, want an error", records)
	}
}

// checkGet expects exactly these records for the keys, and the time if the store is a
// lease.Clock.
func (s *suite) checkGet(getter lease.Getter, keys []int, want map[int]lease.Record) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	got, at, err := getter.Get(ctx, keys)
	if err != nil {
		s.Fatalf("Get(%v): %v", keys, err)
	}
	maps.DeleteFunc(got, func(_ int, r lease.Record) bool { return r == lease.Record{} })
	if !maps.Equal(got, want) {
		s.Errorf("Get(%v) = %v, want %v", keys, got, want)
	}
	clock, timed := getter.(lease.Clock)
	if at.IsZero() == timed { // no time from a store with a clock, or a time without one
		s.Errorf("Get returns the time %v, and the store is a lease.Clock: %v", at, timed)
	}
	if timed {
		if off := s.storeTime(clock).Sub(at).Abs(); off > patience {
			s.Errorf("Get returns a time that is %v off that of Now", off)
		}
	}
}

// turns tests the store if it is a lease.Queue. Some claims can enter, at most a thousand.
// Each claim that leaves must let another enter.
func (s *suite) turns() {
	queue, ok := s.handle().Store.(lease.Queue)
	if !ok {
		return
	}
	var held []func()
	for {
		leave, err := s.enter(queue)
		if err != nil {
			break
		}
		if held = append(held, leave); len(held) > 1000 {
			s.Fatal("a thousand claims have entered: want a limit")
		}
	}
	if len(held) == 0 {
		s.Fatal("no claim could enter")
	}
	for _, leave := range held {
		leave()
		again, err := s.enter(queue)
		if err != nil {
			s.Fatalf("Enter after another has left: %v", err)
		}
		again()
	}
}

// enter waits for a turn for a fifth of a second, after which no turn is free.
func (s *suite) enter(queue lease.Queue) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(s.Context(), patience/100)
	defer cancel()
	return queue.Enter(ctx)
}

// check tests the store if it is a lease.Checker. Check must not fail, because the server
// of a test is configured correctly.
func (s *suite) check() {
	if checker, ok := s.handle().Store.(lease.Checker); ok {
		ctx, cancel := context.WithTimeout(s.Context(), s.patience)
		defer cancel()
		if err := checker.Check(ctx); err != nil {
			s.Errorf("Check: %v", err)
		}
	}
}
