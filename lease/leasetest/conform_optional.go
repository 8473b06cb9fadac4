package leasetest

import (
	"context"
	"maps"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// maxOff is how far the clock of a store may differ from the clock of the test, which may run
// on another machine. A clock in a wrong time zone differs by more.
const maxOff = 10 * time.Minute

// clock tests the store's clock if the store is a lease.Clock; see checkClock.
func (s *suite) clock() {
	if clock, ok := s.openHandle().Store.(lease.Clock); ok {
		s.checkClock(clock)
	}
}

// checkClock checks that the clock shows the present time and runs, and that Now returns an
// error if its context has ended. It compares times only roughly, because the machine may be
// busy.
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

// storeTime returns the clock's time, and ends the test on an error.
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

// connections tests the store if it is a lease.Connector. It writes over thirty connections,
// one after the other, so that a store that does not release its connections runs out of them.
// It never holds two connections at once, because the store may have only one. It then checks
// that the store over a connection is a lease.Clock or a lease.Getter exactly if the store
// itself is.
func (s *suite) connections() {
	h := s.openHandle()
	connector, ok := h.Store.(lease.Connector)
	if !ok {
		return
	}
	current := lease.Record{}
	for i := range int64(30) {
		connected, release := s.connect(connector)
		next := lease.Record{Bound: usualBound + i, Owner: "owner"}
		connected.mustSwap(1, current, next)
		connected.mustNotSwap(1, current, next)
		release()
		h.mustLoad(1, next)
		current = next
	}
	connected, release := s.connect(connector)
	// The connected store must implement the same optional interfaces as the store.
	_, wantClock := h.Store.(lease.Clock)
	clock, isClock := connected.Store.(lease.Clock)
	if isClock != wantClock {
		s.Errorf("the store is a lease.Clock: %v, and over one connection: %v", wantClock, isClock)
	}
	_, wantGetter := h.Store.(lease.Getter)
	if getter, isGetter := connected.Store.(lease.Getter); isGetter != wantGetter {
		s.Errorf("the store is a lease.Getter: %v, and over one connection: %v", wantGetter, isGetter)
	} else if isGetter {
		s.checkGet(getter, []int{1}, map[int]lease.Record{1: current})
	}
	if isClock {
		s.checkClock(clock) // last, because it ends a context, which may close the connection
	}
	release()
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if _, _, err := connector.Connect(ended); err == nil {
		s.Error("Connect after its context has ended: want an error")
	}
}

// connect returns a handle whose calls use one connection of the store, and the function that
// releases the connection.
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

// someRecords tests the store if it is a lease.Getter. Get must return the records of its keys
// and no others, for one key and for a hundred, also for keys without a record.
func (s *suite) someRecords() {
	writer, reader := s.openHandle(), s.openHandle()
	getter, ok := reader.Store.(lease.Getter)
	if !ok {
		return
	}
	s.checkGet(getter, []int{3}, nil)
	all := map[int]lease.Record{}
	for _, key := range []int{-1, 0, 1, 7, 40, 16383} {
		all[key] = lease.Record{Bound: usualBound + int64(key), Owner: "owner"}
		writer.mustSwap(key, lease.Record{}, all[key])
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

// checkGet expects that Get returns exactly the records want for the keys. Get must also return
// the store's time if the store is a lease.Clock, and otherwise the zero time.
func (s *suite) checkGet(getter lease.Getter, keys []int, want map[int]lease.Record) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	got, at, err := getter.Get(ctx, keys)
	if err != nil {
		s.Fatalf("Get(%v): %v", keys, err)
	}
	// A store may return a zero record for a key without a record, or leave the key out.
	maps.DeleteFunc(got, func(_ int, r lease.Record) bool { return r == lease.Record{} })
	if !maps.Equal(got, want) {
		s.Errorf("Get(%v) = %v, want %v", keys, got, want)
	}
	clock, isClock := getter.(lease.Clock)
	if at.IsZero() == isClock { // want a time exactly if the store is a lease.Clock
		s.Errorf("Get returns the time %v, and the store is a lease.Clock: %v", at, isClock)
	}
	if isClock {
		if off := s.storeTime(clock).Sub(at).Abs(); off > patience {
			s.Errorf("Get returns a time that is %v off that of Now", off)
		}
	}
}

// turns tests the store if it is a lease.Queue, which limits how many claims work at once. At
// least one claim and at most a thousand claims may have a turn at once. Each claim that leaves
// must let another enter.
func (s *suite) turns() {
	queue, ok := s.openHandle().Store.(lease.Queue)
	if !ok {
		return
	}
	var leaves []func() // end the turns of the claims that have entered
	for {
		leave, err := s.enter(queue)
		if err != nil { // all turns are in use
			break
		}
		if leaves = append(leaves, leave); len(leaves) > 1000 {
			s.Fatal("a thousand claims have entered: want a limit")
		}
	}
	if len(leaves) == 0 {
		s.Fatal("no claim could enter")
	}
	for _, leave := range leaves {
		leave()
		again, err := s.enter(queue)
		if err != nil {
			s.Fatalf("Enter after another has left: %v", err)
		}
		again()
	}
}

// enter waits for a turn, for at most a fifth of a second. It returns an error if no turn is
// free by then.
func (s *suite) enter(queue lease.Queue) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(s.Context(), patience/100)
	defer cancel()
	return queue.Enter(ctx)
}

// check tests the store if it is a lease.Checker. Check must not return an error, because the
// server of a test is configured correctly.
func (s *suite) check() {
	if checker, ok := s.openHandle().Store.(lease.Checker); ok {
		ctx, cancel := context.WithTimeout(s.Context(), s.patience)
		defer cancel()
		if err := checker.Check(ctx); err != nil {
			s.Errorf("Check: %v", err)
		}
	}
}
