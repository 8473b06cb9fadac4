package sqllease_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// Many leases wait for a busy pool, each with a store of its own. All of them together may
// have only a limited number of places in the pool's queue, because each place is a goroutine.
// A call on another pool still gets all places of a call.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	const (
		calls     = 100
		ofOneCall = 128
		ofPool    = calls + 2048 // a place of each call, and those that the calls share
	)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	call := func(db *gorm.DB) {
		if _, release, err := newStore(db).(lease.Connector).Connect(ctx); err == nil {
			t.Error("connected, want an error, because the only connection is in use")
			release()
		}
	}
	crowded, crowdedPool := busy(t)
	for range calls {
		wg.Go(func() { call(crowded) })
	}
	awaitPlaces(ctx, t, crowdedPool, ofPool)
	other, otherPool := busy(t)
	wg.Go(func() { call(other) })
	awaitPlaces(ctx, t, otherPool, ofOneCall)
	if places := crowdedPool.Stats().WaitCount; places != ofPool {
		t.Errorf("%d places of %d calls, want %d", places, calls, ofPool)
	}
}

// busy returns a database whose pool has one connection, which is in use until the test
// ends.
func busy(t *testing.T) (*gorm.DB, *sql.DB) {
	t.Helper()
	db := testdb.Open(t, testdb.SQLite)
	pool := poolOf(t, db)
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return db, pool
}

// awaitPlaces waits until calls have taken so many places of the pool's queue. WaitCount
// is their number, because no call gets a connection and leaves the queue.
func awaitPlaces(ctx context.Context, t *testing.T, pool *sql.DB, want int64) {
	t.Helper()
	for ; pool.Stats().WaitCount < want; time.Sleep(10 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("%d places, want %d", pool.Stats().WaitCount, want)
		}
	}
}
