package leasetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gormflake/gormflake/lease"
)

// A contender is a writer that competes with other writers, and its result.
type contender struct {
	record  lease.Record
	swapped bool
	err     error
}

// contend lets n writers replace the record from at once, each by a record of its own, and
// returns their results.
func (s *suite) contend(handles []handle, n, key int, from lease.Record) []contender {
	all := make([]contender, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range all {
		c := &all[i]
		c.record = lease.Record{Bound: from.Bound + 1, Owner: fmt.Sprintf("writer%d of %d", i, from.Bound)}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context(), s.patience)
			defer cancel()
			<-start
			c.swapped, c.err = handles[i%len(handles)].CompareAndSwap(ctx, key, from, c.record)
		})
	}
	close(start)
	wg.Wait()
	return all
}

// checkWinners checks the results of writers that all tried to replace the record from, and
// returns the record that the store has now. At most one write may have returned true, and
// exactly one if no write returned an error. The record must not be the new record of a write
// that returned false. If a write returned true, the record must be its new record.
func (s *suite) checkWinners(h handle, key int, from lease.Record, all []contender) lease.Record {
	s.Helper()
	current := h.load()[key]
	var winners, unknown int // the writes that returned true, and the writes that returned an error
	for _, c := range all {
		switch {
		case c.err != nil:
			unknown++
		case c.swapped:
			winners++
			if current != c.record {
				s.Errorf("%+v was acknowledged, and the record is %+v", c.record, current)
			}
		case current == c.record:
			s.Errorf("%+v is there and was answered with false", c.record)
		}
	}
	if winners > 1 || winners == 0 && unknown == 0 {
		s.Errorf("%d of %d writers were told that they swapped from %+v, want one", winners, len(all), from)
	}
	if unknown == len(all) {
		s.Fatalf("all %d writers got an error, for example: %v", len(all), all[0].err)
	}
	return current
}

// oneWinnerOnAbsent lets eight writers create the same record at once, for each of twelve
// keys.
func (s *suite) oneWinnerOnAbsent() {
	handles := s.openHandles(4)
	for key := range 12 {
		all := s.contend(handles, 8, key, lease.Record{})
		s.checkWinners(handles[key%4], key, lease.Record{}, all)
	}
}

// oneWinnerOnRecord lets eight writers replace the same record at once, twelve times.
func (s *suite) oneWinnerOnRecord() {
	handles := s.openHandles(4)
	current := lease.Record{Bound: usualBound, Owner: "start"}
	handles[0].mustSwap(1, lease.Record{}, current)
	for round := range 12 {
		all := s.contend(handles, 8, 1, current)
		current = s.checkWinners(handles[round%4], 1, current, all)
	}
}

// An incrementer is one of the goroutines of noUpdateLost. It raises the bound of the record
// with the key by one, again and again, until the store has acknowledged as many writes as
// wanted.
type incrementer struct {
	store         lease.Store
	name          string // for the owners of its records
	key, wanted   int
	swaps, errors int64 // writes that were acknowledged, and writes that returned an error
}

// maxTries limits the tries of an incrementer. It is far above 120, the increments of all
// goroutines together, because a try fails only if another goroutine has incremented in
// between.
const maxTries = 1000

// run raises the bound until as many writes as wanted are acknowledged. Every try writes an
// owner of its own, so that no two writes are equal. run counts the writes that returned an
// error, because each of them may have raised the bound too.
func (c *incrementer) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	for try := 0; c.swaps < int64(c.wanted); try++ {
		if try == maxTries {
			return fmt.Errorf("%d of %d tries have succeeded: a try may fail only if the write of another goroutine has succeeded in between", c.swaps, try)
		}
		records, err := c.store.Load(ctx)
		if err != nil {
			return fmt.Errorf("Load: %w", err)
		}
		from := records[c.key]
		to := lease.Record{Bound: from.Bound + 1, Owner: fmt.Sprint(c.name, " try ", try)}
		swapped, err := c.store.CompareAndSwap(ctx, c.key, from, to)
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("CompareAndSwap, %d swaps and %d errors before: %w", c.swaps, c.errors, err)
		case err != nil:
			c.errors++
		case swapped:
			c.swaps++
		}
	}
	return nil
}

// noUpdateLost lets eight goroutines raise the bound of one record by one, 15 times each.
// Afterwards the bound must be at least the number of acknowledged writes. It may be higher
// only by the number of writes that returned an error, because these may have happened.
func (s *suite) noUpdateLost() {
	handles := s.openHandles(4)
	all := make([]incrementer, 8)
	var wg sync.WaitGroup
	for i := range all {
		all[i] = incrementer{store: handles[i%4], name: fmt.Sprint("writer", i), key: 1, wanted: 15}
		wg.Go(func() {
			if err := all[i].run(s.Context()); err != nil {
				s.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	var swaps, unknown int64
	for i := range all {
		swaps, unknown = swaps+all[i].swaps, unknown+all[i].errors
	}
	if got := handles[0].load()[1].Bound; got < swaps || got > swaps+unknown {
		s.Errorf("the bound is %d after %d acknowledged increments and %d of unknown outcome", got, swaps, unknown)
	}
}

// neverStale reads while another goroutine raises the bound of the record. A read must show
// every write that was acknowledged before the read began, or a later write. The test finds
// stores that answer from a lagging replica or a cache.
func (s *suite) neverStale() {
	handles := s.openHandles(4)
	var acknowledged atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, h := range handles[1:] {
		wg.Go(func() {
			for running(done) {
				least := acknowledged.Load()
				records, err := h.Load(s.Context())
				if got := records[1].Bound; err == nil && got < least {
					s.Errorf("Load shows the bound %d, %d had been acknowledged before", got, least)
					return
				}
			}
		})
	}
	current := lease.Record{}
	for i := range int64(60) {
		next := lease.Record{Bound: i + 1, Owner: fmt.Sprint("owner", i)}
		if err := writeUntilDone(s.Context(), handles[0], 1, current, next); err != nil {
			s.Error(err)
			break
		}
		current = next
		acknowledged.Store(next.Bound)
	}
	close(done)
	wg.Wait()
}

// running reports whether done is still open.
func running(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}
