package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A sluggishStore carries out its calls after a delay. It carries out a write even if the
// caller no longer waits.
type sluggishStore struct {
	*leasetest.Memory
	read, write time.Duration // the delays of Load and CompareAndSwap
}

func (s sluggishStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	select {
	case <-time.After(s.read):
		return s.Memory.Load(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// CompareAndSwap returns when ctx ends, but the write happens after its delay
// nevertheless.
func (s sluggishStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	answer := make(chan bool, 1)
	go func() {
		time.Sleep(s.write)
		swapped, _ := s.Memory.CompareAndSwap(context.WithoutCancel(ctx), worker, old, next)
		answer <- swapped
	}()
	select {
	case swapped := <-answer:
		return swapped, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// If the context ends too soon for an answer, Acquire does not begin the write, because
// the process would exit without releasing the worker.
func TestNothingIsWrittenTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		_ = acquire(t, store).Release(t.Context())
		before := store.Calls().Swaps
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := lease.Acquire(ctx, sluggishStore{store, 300 * time.Millisecond, 300 * time.Millisecond}, layout(), lease.WithLogger(discard()))
		const want = "nothing was written, because the store took 300ms to be read and the context ends in 200ms: want a context that lasts longer"
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
		time.Sleep(time.Minute)
		if after := store.Calls().Swaps; after != before {
			t.Errorf("%d writes, want none", after-before)
		}
	})
}

// If somebody has deleted the layout, the next process writes it again and logs that.
func TestMissingLayoutIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := leasetest.NewMemory(), new(journal)
		acquire(t, store, lease.WithLogger(log.logger()))
		const text = "records of workers and none of their layout"
		if n := log.count(text); n != 0 {
			t.Errorf("an empty store: logged %d times %q", n, text)
		}
		store.Put(-1, lease.Record{})
		acquire(t, store, lease.WithLogger(log.logger()))
		if n := log.count(text); n != 1 {
			t.Errorf("logged %d times %q, want once:\n%s", n, text, log)
		}
	})
}

// A flawedStore refuses to replace records, and is a Checker that returns the reason.
type flawedStore struct{ *leasetest.Memory }

func (flawedStore) Check(context.Context) error {
	return errors.New("rule nothing rewrites statements")
}

// CompareAndSwap writes a record that was absent, and refuses every other write.
func (s flawedStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	if _, err := s.Load(ctx); err != nil || old.Owner != "" {
		return false, err
	}
	return s.Memory.CompareAndSwap(ctx, worker, old, next)
}

// If the store refuses to replace the record that it shows, the error contains the reason
// that its Check returns.
func TestRefusedExtensionIsExplained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, flawedStore{leasetest.NewMemory()})
		time.Sleep(25 * time.Second)
		if err := l.Stats().Failure; err == nil || !strings.Contains(err.Error(), "rule nothing rewrites statements") {
			t.Errorf("failure = %v, want the reason that the store gives", err)
		}
	})
}
