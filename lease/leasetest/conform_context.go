package leasetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// endedBefore calls the store with contexts that have ended before the call. Each call must
// return an error at once. The record may then have its old or its new value, because a write
// may have happened if it returned an error.
func (s *suite) endedBefore() {
	h := s.openHandle()
	current := lease.Record{Bound: usualBound, Owner: "owner"}
	h.mustSwap(1, lease.Record{}, current)
	next := lease.Record{Bound: usualBound + 1, Owner: "next"}
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	passed, cancelPassed := context.WithDeadline(s.Context(), time.Now().Add(-time.Second))
	defer cancelPassed()
	for name, ctx := range map[string]context.Context{"cancelled": cancelled, "deadline passed": passed} {
		began := time.Now()
		if swapped, err := h.CompareAndSwap(ctx, 1, current, next); err == nil {
			s.Errorf("%s: CompareAndSwap = %v, want an error", name, swapped)
		}
		if records, err := h.Load(ctx); err == nil {
			s.Errorf("%s: Load = %v, want an error", name, records)
		}
		if took := time.Since(began); took > s.prompt {
			s.Errorf("%s: the calls returned after %v, want at once", name, took)
		}
	}
	got := s.reload(h)[1]
	if got != current && got != next {
		s.Errorf("the record is %+v, want %+v or %+v", got, current, next)
	}
}

// endsDuringWrite calls CompareAndSwap with contexts that end during the write. After each
// call the store must show a complete record, which this or an earlier call has tried to
// write. If this call returned true, the store must show its new record. If this call returned
// false, the store must show another record. After an error, both are right.
func (s *suite) endsDuringWrite() {
	writer, reader := s.openHandle(), s.openHandle()
	var answered int
	tried := map[lease.Record]bool{{}: true}
	for i := range 40 {
		from := s.reload(reader)[1]
		to := lease.Record{Bound: usualBound + int64(i), Owner: fmt.Sprint("try ", i, " of the writer")}
		tried[to] = true
		swapped, err := s.swapWithDeadline(writer, i, from, to)
		got := s.reload(reader)[1]
		switch {
		case !tried[got]:
			s.Fatalf("the record is %+v, which nobody wrote", got)
		case err == nil && swapped && got != to:
			s.Fatalf("%+v was acknowledged, and the record is %+v", to, got)
		case err == nil && !swapped && got == to:
			s.Fatalf("%+v is there and was answered with false", to)
		case err == nil:
			answered++
		}
	}
	s.Logf("%d of 40 writes were answered before their context ended", answered)
	// After contexts that have ended, the store must still write.
	final := lease.Record{Bound: usualBound + 100, Owner: "final"}
	if err := s.overwrite(writer, reader, final); err != nil {
		s.Errorf("after contexts that ended: %v", err)
	}
}

// overwrite replaces the record of worker 1 by to. It reads and writes again until s.patience
// has passed if the store refuses or fails, because a write whose context has ended may still
// land in between. If the store has answered with an error, the write may have happened.
func (s *suite) overwrite(writer, reader handle, to lease.Record) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	for failed := false; ; time.Sleep(time.Millisecond) {
		from := s.reload(reader)[1]
		if from == to {
			if failed {
				return nil
			}
			return fmt.Errorf("a write of %+v was refused, and the record is there", to)
		}
		swapped, err := writer.CompareAndSwap(ctx, 1, from, to)
		if swapped && err == nil {
			return nil
		}
		failed = failed || err != nil
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("%+v to %+v: answered with %v", from, to, swapped), err)
		}
	}
}

// swapWithDeadline calls CompareAndSwap with a context that ends i*i*5 microseconds later, so
// that the contexts of different i end in different phases of a write. For odd i the context
// has a deadline, and for even i it is cancelled.
func (s *suite) swapWithDeadline(h handle, i int, from, to lease.Record) (bool, error) {
	s.Helper()
	after := time.Duration(i*i) * 5 * time.Microsecond
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	if i%2 == 0 {
		time.AfterFunc(after, cancel)
	} else {
		ctx, cancel = context.WithTimeout(ctx, after)
		defer cancel()
	}
	began := time.Now()
	swapped, err := h.CompareAndSwap(ctx, 1, from, to)
	if took := time.Since(began); took > after+s.prompt {
		s.Fatalf("CompareAndSwap returned %v after its context had ended", took-after)
	}
	return swapped, err
}

// reload reads the records. It repeats a failed read until s.patience has passed, because a
// store may need a moment after a call that was cancelled.
func (s *suite) reload(h handle) map[int]lease.Record {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	for {
		records, err := h.Load(ctx)
		if err == nil {
			return records
		}
		if ctx.Err() != nil {
			s.Fatalf("Load: %v", err)
		}
	}
}
