package storetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// statementTimes are the times that docs/operating.md says were tested.
var statementTimes = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// A SlowStore is a store and a function that delays the statements of the store. Before the
// first call of Delay, the statements are not delayed.
type SlowStore struct {
	Store lease.Store
	Delay func(time.Duration) // sets the delay of the statements from now on
}

// Slow checks the line of a store in the table of docs/operating.md. The line says up to which
// time per statement a process starts, extends its window before the window ends, and releases
// its worker. Slow tries these three times. In the long form it tries all statementTimes, and
// the process must fail at those that are above the time of the line. open returns a new store
// with connections of its own.
func Slow(t *testing.T, name string, open func(*testing.T) SlowStore) {
	t.Helper()
	claimed := slowLine(t, name)
	for i, call := range []struct {
		name string
		do   func(*testing.T, SlowStore, time.Duration) error
	}{{"start", startSlowly}, {"extend", extendSlowly}, {"release", releaseSlowly}} {
		for _, d := range statementTimes {
			if d != claimed[i] && !Long() {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", call.name, d), func(t *testing.T) {
				t.Parallel()
				works := d <= claimed[i]
				err := call.do(t, open(t), d)
				for range 2 { // further tries, because a busy machine makes statements slower still
					if works && err != nil {
						t.Logf("again: %v", err)
						err = call.do(t, open(t), d)
					}
				}
				if (err == nil) != works {
					t.Errorf("error = %v, but docs/operating.md claims that it works up to %v", err, claimed[i])
				}
			})
		}
	}
}

// slowLine returns the times that the table of docs/operating.md claims for the store, of
// a start, an extension and a release.
func slowLine(t *testing.T, name string) (claimed []time.Duration) {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	page, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../../../docs/operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\|[^|]*\b` + name + `\b[^|]*\| ([\d.]+) s \| ([\d.]+) s \| ([\d.]+) s \|$`).FindSubmatch(page)
	if line == nil {
		t.Fatalf("docs/operating.md has no line of %s in the table of slow stores", name)
	}
	for _, cell := range line[1:] {
		seconds, err := strconv.ParseFloat(string(cell), 64)
		if err != nil {
			t.Fatal(err)
		}
		d := time.Duration(seconds * float64(time.Second))
		if !slices.Contains(statementTimes, d) {
			t.Fatalf("docs/operating.md claims %v for %s, want one of the tested times %v", d, name, statementTimes)
		}
		claimed = append(claimed, d)
	}
	return claimed
}

// startSlowly acquires a worker while each statement takes this time.
func startSlowly(t *testing.T, store SlowStore, d time.Duration) error {
	store.Delay(d)
	l, err := acquireQuietly(t, store.Store)
	if err == nil {
		store.Delay(0)
		_ = l.Release(context.WithoutCancel(t.Context()))
	}
	return err
}

// extendSlowly acquires a worker, and returns an error if its window ends before the lease
// has extended it.
func extendSlowly(t *testing.T, store SlowStore, d time.Duration) error {
	l, err := acquireQuietly(t, store.Store)
	if err != nil {
		t.Fatal(err)
	}
	store.Delay(d)
	defer func() {
		store.Delay(0)
		_ = l.Release(context.WithoutCancel(t.Context()))
	}()
	for ; l.Stats().Extensions == 0; time.Sleep(10 * time.Millisecond) {
		if err := l.Health(); err != nil {
			return err
		}
	}
	if failure := l.Stats().Failures; failure > 0 {
		t.Logf("%d failed attempts to extend before", failure)
	}
	return nil
}

// releaseSlowly acquires a worker, and releases it while each statement takes this time.
func releaseSlowly(t *testing.T, store SlowStore, d time.Duration) error {
	l, err := acquireQuietly(t, store.Store)
	if err != nil {
		t.Fatal(err)
	}
	store.Delay(d)
	defer store.Delay(0)
	return l.Release(context.WithoutCancel(t.Context()))
}

// acquireQuietly acquires a worker with the defaults, and without a log.
func acquireQuietly(t *testing.T, store lease.Store) (*lease.Lease, error) {
	return lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
}
