package sqllease_test

import (
	"bytes"
	"context"
	"regexp"
	"runtime/pprof"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// Many leases that wait for a busy pool, each with a store of its own, do not fill the
// memory with goroutines that wait. The test is not parallel, because it takes all places of
// the process, and leases of other tests on busy pools would miss them.
func TestPlacesAreBounded(t *testing.T) {
	const (
		calls = 100
		limit = 2048 + 500 // the further places of the process; a place of each call, also in other tests
	)
	db := testdb.Open(t, testdb.SQLite)
	pool := poolOf(t, db)
	pool.SetMaxOpenConns(1)
	busy, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // its steps take an eighth of a second
	defer cancel()
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, release, err := newStore(db).(lease.Connector).Connect(ctx); err == nil {
				t.Error("connected, want an error, because the only connection is in use")
				release()
			}
		})
	}
	most := 0
	for ; ctx.Err() == nil && most <= limit; time.Sleep(100 * time.Millisecond) {
		most = max(most, waiting(t))
	}
	t.Logf("at most %d places of %d calls", most, calls)
	if most < calls {
		t.Errorf("%d places of %d calls, want at least one place of each call", most, calls)
	}
	if most > limit {
		t.Errorf("%d places, want at most %d", most, limit)
	}
	cancel()
	wg.Wait()
}

var inQueue = regexp.MustCompile(`(?m)^(\d+) @(?: 0x[0-9a-f]+)*\n(?:#.*\n)*?#.*\.waitInQueue`)

// waiting returns the number of goroutines that wait in the queue of a pool.
func waiting(t *testing.T) (n int) {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	for _, match := range inQueue.FindAllSubmatch(profile.Bytes(), -1) {
		count, err := strconv.Atoi(string(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		n += count
	}
	return n
}
