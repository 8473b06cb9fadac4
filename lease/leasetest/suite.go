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

// A suite is one subtest of Conform, with its own namespace.
type suite struct {
	*testing.T
	open      Opener
	namespace string

	patience, prompt time.Duration // the constants, except in the suite's own tests
}

// A handle is a store of the suite's namespace. Its methods fail the test at an unexpected
// error.
type handle struct {
	t *testing.T
	lease.Store
}

// handle opens a handle on the suite's namespace.
func (s *suite) handle() handle {
	s.Helper()
	return s.handleOn(s.namespace)
}

// handleOn opens a handle on a namespace.
func (s *suite) handleOn(namespace string) handle {
	s.Helper()
	store := s.open(s.T, namespace)
	if store == nil {
		s.Fatalf("the opener returned no store for namespace %q", namespace)
	}
	return handle{s.T, store}
}

// handles opens n handles on the suite's namespace.
func (s *suite) handles(n int) []handle {
	s.Helper()
	all := make([]handle, n)
	for i := range all {
		all[i] = s.handle()
	}
	return all
}

// load returns all records that are not zero, because a store may return a zero record
// or leave it out.
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

// swap calls CompareAndSwap and returns its answer.
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

// takes expects that a write succeeds and that the new record can be read.
func (h handle) takes(key int, from, to lease.Record) {
	h.t.Helper()
	if !h.swap(key, from, to) {
		h.t.Fatalf("CompareAndSwap(%d, %+v, %+v) = false, want true: the record is %+v", key, from, to, h.load()[key])
	}
	h.holds(key, to)
}

// refuses expects that a write returns false, and that the record still is current.
func (h handle) refuses(key int, from, to, current lease.Record) {
	h.t.Helper()
	if h.swap(key, from, to) {
		h.t.Errorf("CompareAndSwap(%d, %+v, %+v) = true, want false: the record was %+v", key, from, to, current)
	}
	h.holds(key, current)
}

// holds expects that Load shows this record for the key.
func (h handle) holds(key int, want lease.Record) {
	h.t.Helper()
	if got := h.load()[key]; got != want {
		h.t.Fatalf("Load shows %+v for key %d, want %+v", got, key, want)
	}
}

// holdsAll expects exactly these records.
func (h handle) holdsAll(want map[int]lease.Record) {
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

// maxErrors is how many errors of Load writeUntilDone accepts while other goroutines use
// the store.
const maxErrors = 100

// writeUntilDone writes a record until it has been written. No other goroutine writes
// this record. A busy store may return an error, and writeUntilDone then reads whether
// the write has happened.
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
		// If the record is still from after an error, the write may be tried again.
		if current := records[key]; loadErr == nil && (err == nil || current != from) {
			if current == to && err != nil { // written, and only the answer was lost
				return nil
			}
			return errors.Join(fmt.Errorf("%+v to %+v, which nobody else writes: answered with %v, and the record is %+v", from, to, swapped, current), err)
		}
		if ctx.Err() != nil || failures == maxErrors {
			return errors.Join(err, loadErr)
		}
	}
}
