package leasetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// patience is how long a healthy store may take for a call.
const patience = 20 * time.Second

// prompt is how long a call may take after the end of its context, on a busy machine.
const prompt = 5 * time.Second

// An Opener returns a new handle on the store's namespace, with a connection of its own
// if the store has connections. Handles of one namespace share their records; handles
// of different namespaces do not. The Opener closes the handle with t.Cleanup.
//
// A namespace consists of at most 40 letters, digits and hyphens. Conform uses each
// namespace only once, so records may be left behind.
type Opener func(t *testing.T, namespace string) lease.Store

// A suite runs one subtest of Conform, in a namespace of its own. Each subtest is a method.
type suite struct {
	*testing.T
	open      Opener
	namespace string

	patience, prompt time.Duration // the constants, except in the suite's own tests
}

// A handle is a store that the suite's Opener has returned. Its methods fail the test at an
// unexpected error or answer.
type handle struct {
	t *testing.T
	lease.Store
}

// openHandle opens a handle on the suite's namespace.
func (s *suite) openHandle() handle {
	s.Helper()
	return s.openOn(s.namespace)
}

// openOn opens a handle on a namespace.
func (s *suite) openOn(namespace string) handle {
	s.Helper()
	store := s.open(s.T, namespace)
	if store == nil {
		s.Fatalf("the opener returned no store for namespace %q", namespace)
	}
	return handle{s.T, store}
}

// openHandles opens n handles on the suite's namespace.
func (s *suite) openHandles(n int) []handle {
	s.Helper()
	all := make([]handle, n)
	for i := range all {
		all[i] = s.openHandle()
	}
	return all
}

// load returns all records that are not zero. A store may return a zero record or leave it out,
// so load removes zero records.
func (h handle) load() map[int]lease.Record {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	records, err := h.Load(ctx)
	if err != nil {
		h.t.Fatalf("Load: %v", err)
	}
	for key, record := range records {
		if record == (lease.Record{}) {
			delete(records, key)
		}
	}
	return records
}

// swap calls CompareAndSwap and returns its answer. An error ends the test.
func (h handle) swap(key int, from, to lease.Record) bool {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	swapped, err := h.CompareAndSwap(ctx, key, from, to)
	if err != nil {
		h.t.Fatalf("CompareAndSwap(%d, %+v, %+v): %v", key, from, to, err)
	}
	return swapped
}

// mustSwap replaces the record from by to, and expects that this succeeds and that Load then
// shows the new record.
func (h handle) mustSwap(key int, from, to lease.Record) {
	h.t.Helper()
	if !h.swap(key, from, to) {
		h.t.Fatalf("CompareAndSwap(%d, %+v, %+v) = false, want true: the record is %+v", key, from, to, h.load()[key])
	}
	h.mustLoad(key, to)
}

// mustRefuse tries to replace the record from by to, and expects the answer false. The record
// must still be current.
func (h handle) mustRefuse(key int, from, to, current lease.Record) {
	h.t.Helper()
	if h.swap(key, from, to) {
		h.t.Errorf("CompareAndSwap(%d, %+v, %+v) = true, want false: the record was %+v", key, from, to, current)
	}
	h.mustLoad(key, current)
}

// mustLoad expects that Load returns the record want for the key.
func (h handle) mustLoad(key int, want lease.Record) {
	h.t.Helper()
	if got := h.load()[key]; got != want {
		h.t.Fatalf("Load shows %+v for key %d, want %+v", got, key, want)
	}
}

// mustLoadAll expects that Load returns exactly these records.
func (h handle) mustLoadAll(want map[int]lease.Record) {
	h.t.Helper()
	got := h.load()
	for key, record := range want {
		if got[key] != record {
			h.t.Errorf("Load shows %+v for key %d, want %+v", got[key], key, record)
		}
	}
	if len(got) != len(want) {
		h.t.Errorf("Load shows %d records, want %d", len(got), len(want))
	}
}

// usualBound is a bound of the usual size, a time of the year 2025 in milliseconds.
const usualBound = 1_760_000_000_123

// maxErrors is how many calls of Load may fail before writeUntilDone returns an error. Other
// goroutines use the store at the same time, so some failures are acceptable.
const maxErrors = 100

// writeUntilDone replaces the record from by to, and repeats the write until the replacement
// has happened. A busy store may return an error, after which the write may have happened or
// not. writeUntilDone then reads the record, and is done if the record is to.
//
// No other goroutine writes this record. So writeUntilDone returns an error if the store
// answers with false, or if the record is neither from nor to. It also returns an error after
// patience, or after maxErrors failed reads.
func writeUntilDone(ctx context.Context, store lease.Store, key int, from, to lease.Record) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for failures := 0; ; {
		swapped, err := store.CompareAndSwap(ctx, key, from, to)
		if swapped && err == nil {
			return nil
		}
		records, loadErr := store.Load(ctx)
		if loadErr != nil {
			failures++
		}
		// Try the write again if it returned an error and the record is still from, or if the
		// record could not be read. Otherwise the outcome is known.
		if current := records[key]; loadErr == nil && (err == nil || current != from) {
			if current == to && err != nil { // the write has happened, and only its answer was lost
				return nil
			}
			return errors.Join(fmt.Errorf("%+v to %+v, which nobody else writes: answered with %v, and the record is %+v", from, to, swapped, current), err)
		}
		if ctx.Err() != nil || failures == maxErrors {
			return errors.Join(err, loadErr)
		}
	}
}
