package leasetest

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// patience is how long a healthy store may take for a call.
const patience = 20 * time.Second

// suite is one subtest of Conform, with its own namespace.
type suite struct {
	*testing.T
	open      Opener
	namespace string

	patience, prompt time.Duration // the constants, except in the suite's own tests
}

// handle is a store that fails the test at an unexpected error.
type handle struct {
	t *testing.T
	lease.Store
}

func (s *suite) handle() handle {
	s.Helper()
	return s.handleOn(s.namespace)
}

func (s *suite) handleOn(namespace string) handle {
	s.Helper()
	store := s.open(s.T, namespace)
	if store == nil {
		s.Fatalf("the opener returned no store for namespace %q", namespace)
	}
	return handle{s.T, store}
}

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

// refuses expects that a write returns false, and that current is still the record.
func (h handle) refuses(key int, from, to, current lease.Record) {
	h.t.Helper()
	if h.swap(key, from, to) {
		h.t.Errorf("CompareAndSwap(%d, %+v, %+v) = true, want false: the record was %+v", key, from, to, current)
	}
	h.holds(key, current)
}

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
