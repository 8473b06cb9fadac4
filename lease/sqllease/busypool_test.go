package sqllease_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/snowflake"
)

// A busyPool is a pool whose connections are always used by transactions. Each
// goroutine creates rows, one after the other.
type busyPool struct {
	goroutines, connections int           // more goroutines than connections, so that the pool has a queue
	transaction, window     time.Duration // of each row; of the lease
}

// Transactions of many goroutines use all connections of the pool over which a lease extends
// its window. The window is at least four times as long as a transaction. The lease must
// extend it in time, so that no creation of a row fails, even if many goroutines wait for a
// connection. In the short form the times are a twentieth of the times in the table.
func TestBusyPool(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.Postgres, testdb.SQLite} {
		// The fields are goroutines, connections, transaction and window.
		for _, pool := range []busyPool{
			{2, 1, 15 * time.Second, time.Minute},
			{8, 1, 5 * time.Second, time.Minute},
			{40, 4, 5 * time.Second, time.Minute},
			{200, 10, 2 * time.Second, time.Minute},
		} {
			if target == testdb.SQLite && pool.connections > 1 {
				continue // its writers wait for each other, not for connections
			}
			t.Run(fmt.Sprintf("%s %d on %d", target, pool.goroutines, pool.connections), func(t *testing.T) {
				t.Parallel()
				if !storetest.Long() {
					pool.transaction, pool.window = pool.transaction/20, pool.window/20
				}
				testBusyPool(t, testdb.Open(t, target), pool)
			})
		}
	}
}

// testBusyPool leases a worker over a busy pool. No creation of a row may fail, which it
// would if the generator's window ended.
func testBusyPool(t *testing.T, db *gorm.DB, pool busyPool) {
	t.Helper()
	run(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	poolOf(t, db).SetMaxOpenConns(pool.connections)
	l, err := lease.Acquire(t.Context(), newStore(db), snowflake.TwitterLayout(),
		lease.WithWindow(pool.window), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(context.Background())
	created, failed := pool.run(t, db, gen)
	stats := l.Stats()
	t.Logf("%d created, %d failed, %d extensions, %d failures", created, failed, stats.Extensions, stats.Failures)
	if failed > 0 || created == 0 {
		t.Errorf("%d creates of %d failed", failed, created+failed)
	}
}

// run creates rows for three windows, and returns how many were created and how many
// failed.
func (p busyPool) run(t *testing.T, db *gorm.DB, gen *snowflake.Generator) (created, failed int64) {
	t.Helper()
	var good, bad atomic.Int64
	var wg sync.WaitGroup
	until := time.Now().Add(3 * p.window)
	for range p.goroutines {
		wg.Go(func() {
			for time.Now().Before(until) {
				if err := create(db, gen, p.transaction); err == nil {
					good.Add(1)
				} else if bad.Add(1) == 1 {
					t.Log(err)
				}
			}
		})
	}
	wg.Wait()
	return good.Load(), bad.Load()
}

// create creates a row in a transaction that takes this time. The transaction holds its
// connection before and after it asks for an ID, so that the lease cannot use it.
func create(db *gorm.DB, gen *snowflake.Generator, takes time.Duration) error {
	return db.Transaction(func(tx *gorm.DB) error {
		time.Sleep(takes / 2)
		id, err := gen.Next(tx.Statement.Context)
		if err != nil {
			return err
		}
		err = tx.Exec("INSERT INTO orders VALUES (" + strconv.FormatInt(int64(id), 10) + ")").Error
		time.Sleep(takes / 2)
		return err
	})
}
