package sqllease_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// A load is what an application does to its pool: all goroutines create rows in
// transactions, one after the other.
type busyPool struct {
	connections, goroutines int
	transaction, window     time.Duration
}

// While transactions of the application take all connections all the time, the
// window is extended in time where it is longer than the longest transaction
// times the turns that the queue takes.
func TestBusyPool(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.Postgres, testdb.SQLite} {
		for _, load := range busyPools() {
			if target == testdb.SQLite && load.connections > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s %+v", target, load), func(t *testing.T) {
				t.Parallel()
				testBusyPool(t, testdb.Open(t, target), load)
			})
		}
	}
}

func busyPools() []busyPool {
	scale := time.Duration(20)
	if os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" {
		scale = 1
	}
	second := time.Second / scale
	return []busyPool{
		{1, 1, 30 * second, 60 * second},
		{1, 2, 20 * second, 60 * second},
		{1, 8, 5 * second, 60 * second},
		{4, 40, 5 * second, 60 * second},
		{4, 5, 35 * second, 60 * second},
		{10, 200, 2 * second, 60 * second},
	}
}

func testBusyPool(t *testing.T, db *gorm.DB, load busyPool) {
	t.Helper()
	run(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	poolOf(t, db).SetMaxOpenConns(load.connections)
	l, err := lease.Acquire(t.Context(), sqllease.New(db), snowflake.TwitterLayout(), lease.WithWindow(load.window), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	gen, err := snowflake.New(l)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(context.Background())
	var created, failed atomic.Int64
	var wg sync.WaitGroup
	until := time.Now().Add(3 * load.window)
	for range load.goroutines {
		wg.Go(func() {
			for time.Now().Before(until) {
				if err := create(db, gen, load.transaction); err != nil {
					failed.Add(1)
					if failed.Load() < 3 {
						t.Log(err)
					}
					continue
				}
				created.Add(1)
			}
		})
	}
	wg.Wait()
	turns := math.Ceil(float64(load.goroutines) / float64(load.connections))
	t.Logf("longest transaction times turns %v, window %v: %d created, %d failed, stats %+v",
		load.transaction*time.Duration(turns), load.window, created.Load(), failed.Load(), l.Stats())
	if failed.Load() > 0 {
		t.Errorf("%d creates failed", failed.Load())
	}
}

// create holds its connection before it asks for an ID, and after.
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
