package leasetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

var (
	first  = lease.Record{Bound: 10, Owner: "first"}
	second = lease.Record{Bound: 20, Owner: "second"}
)

// A CompareAndSwap with the fault None, LoseRequest or LoseReply must return the error of its
// fault, and must write the record, except with LoseRequest. The fault applies to one call
// only, so that the next call succeeds.
func TestMemoryFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault   leasetest.Fault
		swapped bool
		err     string       // the text of the error, or empty if there is none
		after   lease.Record // the record after the write
	}{
		{leasetest.None, true, "", first},
		{leasetest.LoseRequest, false, "leasetest: injected fault: request lost", lease.Record{}},
		{leasetest.LoseReply, false, "leasetest: injected fault: reply lost", first},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			m := leasetest.NewMemory()
			m.Fail(test.fault)
			swapped, err := m.CompareAndSwap(t.Context(), 1, lease.Record{}, first)
			if swapped != test.swapped || message(err) != test.err {
				t.Errorf("CompareAndSwap = %v, %v, want %v, %q", swapped, err, test.swapped, test.err)
			}
			if err != nil && !errors.Is(err, leasetest.ErrFault) {
				t.Errorf("error %v is not ErrFault", err)
			}
			if got := m.Records()[1]; got != test.after {
				t.Errorf("record %+v, want %+v", got, test.after)
			}
			if swapped, err := m.CompareAndSwap(t.Context(), 1, test.after, second); !swapped || err != nil {
				t.Errorf("the call after it = %v, %v, want true", swapped, err)
			}
		})
	}
}

// message returns the text of the error, or "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Deliver carries out two held calls in their order. The caller of the first call has given
// up, but its write happens nevertheless, so that the second call finds the record of the
// first.
func TestMemoryHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := leasetest.NewMemory()
		m.Fail(leasetest.Hold, leasetest.Hold)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if swapped, err := m.CompareAndSwap(ctx, 1, lease.Record{}, first); swapped || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, leasetest.ErrFault) {
			t.Errorf("CompareAndSwap = %v, %v, want its deadline", swapped, err)
		}
		answer := make(chan bool)
		go func() {
			swapped, err := m.CompareAndSwap(t.Context(), 1, first, second)
			answer <- swapped && err == nil
		}()
		synctest.Wait()
		if got := m.Records()[1]; got != (lease.Record{}) || m.Held() != 2 {
			t.Errorf("record %+v, %d held, want none and 2", got, m.Held())
		}
		if n := m.Deliver(); n != 2 {
			t.Errorf("%d delivered, want 2", n)
		}
		if !<-answer || m.Records()[1] != second || m.Held() != 0 {
			t.Errorf("record %+v, %d held, want %+v and none", m.Records()[1], m.Held(), second)
		}
	})
}

// While a Memory is down, its calls fail, have no effect, and are counted.
func TestMemoryDown(t *testing.T) {
	t.Parallel()
	m := leasetest.NewMemory()
	m.Put(1, first)
	m.Down()
	if _, err := m.Load(t.Context()); !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("Load while down: %v", err)
	}
	if swapped, err := m.CompareAndSwap(t.Context(), 1, first, second); swapped || !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("CompareAndSwap while down = %v, %v", swapped, err)
	}
	m.Up()
	if records, err := m.Load(t.Context()); err != nil || records[1] != first {
		t.Errorf("Load = %v, %v, want %+v", records, err, first)
	}
	if got, want := m.Calls(), (leasetest.Calls{Loads: 2, Swaps: 1}); got != want {
		t.Errorf("calls %+v, want %+v", got, want)
	}
}

// The hook of OnCall chooses the fault of a call, here for Load. The hook may use the store
// itself. Here it writes a record before a CompareAndSwap, like another process, so that the
// CompareAndSwap must be refused. OnCall(nil) removes the hook.
func TestMemoryOnCall(t *testing.T) {
	t.Parallel()
	m := leasetest.NewMemory()
	m.OnCall(func(c leasetest.Call) leasetest.Fault {
		if !c.Swap {
			return leasetest.LoseReply
		}
		if want := (leasetest.Call{Swap: true, Worker: 1, New: second}); c != want {
			t.Errorf("call %+v, want %+v", c, want)
		}
		m.Put(1, first)
		return leasetest.None
	})
	if swapped, err := m.CompareAndSwap(t.Context(), 1, lease.Record{}, second); swapped || err != nil {
		t.Errorf("CompareAndSwap = %v, %v, want false", swapped, err)
	}
	if _, err := m.Load(t.Context()); !errors.Is(err, leasetest.ErrFault) {
		t.Errorf("Load: %v, want a fault", err)
	}
	m.OnCall(nil)
	if records, err := m.Load(t.Context()); err != nil || records[1] != first {
		t.Errorf("Load = %v, %v", records, err)
	}
}

// A crash undoes unacknowledged writes, unless a later write was acknowledged, because
// one log orders all writes.
func TestMemoryCrash(t *testing.T) {
	t.Parallel()
	third := lease.Record{Bound: 30, Owner: "third"}
	tests := []struct {
		name   string
		write  func(ctx context.Context, m *leasetest.Memory)
		undone int          // how many writes the crash undoes
		after  lease.Record // the record of worker 1 after the crash
	}{
		{"acknowledged", func(ctx context.Context, m *leasetest.Memory) {
			_, _ = m.CompareAndSwap(ctx, 1, first, second)
		}, 0, second},
		{"reply lost", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.LoseReply)
			_, _ = m.CompareAndSwap(ctx, 1, first, second)
		}, 1, first},
		{"two replies lost", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.LoseReply, leasetest.LoseReply)
			_, _ = m.CompareAndSwap(ctx, 1, first, second)
			_, _ = m.CompareAndSwap(ctx, 1, second, third)
		}, 2, first},
		{"reply lost, another worker's write acknowledged", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.LoseReply)
			_, _ = m.CompareAndSwap(ctx, 1, first, second)
			_, _ = m.CompareAndSwap(ctx, 2, lease.Record{}, second)
		}, 0, second},
		{"reply lost, another worker's write refused", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.LoseReply)
			_, _ = m.CompareAndSwap(ctx, 1, first, second)
			_, _ = m.CompareAndSwap(ctx, 2, first, second)
		}, 1, first},
		{"delivered too late", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.Hold)
			ended, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			_, _ = m.CompareAndSwap(ended, 1, first, second)
			m.Deliver()
		}, 1, first},
		{"not written", func(ctx context.Context, m *leasetest.Memory) {
			m.Fail(leasetest.LoseReply)
			_, _ = m.CompareAndSwap(ctx, 1, third, second)
		}, 0, first},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := leasetest.NewMemory()
			m.Put(1, first)
			test.write(t.Context(), m)
			if undone := m.Crash(); undone != test.undone || m.Records()[1] != test.after {
				t.Errorf("Crash = %d and record %+v, want %d and %+v", undone, m.Records()[1], test.undone, test.after)
			}
			if again := m.Crash(); again != 0 {
				t.Errorf("a second Crash = %d, want 0", again)
			}
		})
	}
}

// A crash that undoes the first write of a worker leaves no record, not even a zero record.
func TestMemoryCrashOfFirstWrite(t *testing.T) {
	t.Parallel()
	m := leasetest.NewMemory()
	m.Fail(leasetest.LoseReply)
	_, _ = m.CompareAndSwap(t.Context(), 1, lease.Record{}, first)
	m.Crash()
	if records := m.Records(); len(records) != 0 {
		t.Errorf("records %v, want none", records)
	}
}

// A write whose old and new records are equal is an error, as in every store.
func TestMemoryOldIsNew(t *testing.T) {
	t.Parallel()
	want := "leasetest: write worker 1: old record 10|first, new record 10|first: want two that differ"
	if swapped, err := leasetest.NewMemory().CompareAndSwap(t.Context(), 1, first, first); swapped || message(err) != want {
		t.Errorf("CompareAndSwap = %v, %v, want %q", swapped, err, want)
	}
}

// WithTime keeps records in the given store, and returns the given time.
func TestWithTime(t *testing.T) {
	t.Parallel()
	m, now := leasetest.NewMemory(), time.UnixMilli(1_760_000_000_000)
	store := leasetest.WithTime(m, func() time.Time { return now })
	if swapped, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, first); !swapped || err != nil || m.Records()[1] != first {
		t.Errorf("CompareAndSwap = %v, %v and %v, want it in the store that is wrapped", swapped, err, m.Records())
	}
	clock := store.(lease.Clock)
	for range 2 {
		now = now.Add(time.Hour)
		if got, err := clock.Now(t.Context()); err != nil || !got.Equal(now) {
			t.Errorf("Now = %v, %v, want %v", got, err, now)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := clock.Now(ctx); err == nil {
		t.Errorf("Now after its context = %v, want an error", got)
	}
}
