package sqllease_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// Many leases start at once over forty connections, ten thousand in the long form, and
// otherwise three hundred. Each must get a worker of its own. In the long form they must all
// be ready within the limit.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for target, limit := range map[testdb.Target]time.Duration{
		testdb.Postgres: 30 * time.Second, testdb.MariaDB: 30 * time.Second,
		testdb.MySQL: 2 * time.Minute, // with a binary log that is synchronized
	} {
		t.Run(string(target), func(t *testing.T) {
			storetest.Crowd(t, newStore(fortyConnections(t, testdb.Open(t, target))), limit)
		})
	}
}

// fortyConnections limits the pool of db to forty connections, and keeps them open.
func fortyConnections(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(40)
	pool.SetMaxIdleConns(40)
	return db
}

// The table has twenty thousand workers, or a hundred thousand in the long form. An extension
// of a window must not take much longer than in a table of few workers, and a lease must
// still be able to claim a worker.
func TestExtensionAmongManyWorkers(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		few, many := newStore(db, sqllease.WithTable("few")), newStore(db, sqllease.WithTable("many"))
		storetest.Write(t, few, 0, lease.Record{}, storetest.First)
		storetest.Write(t, many, 0, lease.Record{}, storetest.First)
		workers := 20_000
		if storetest.Long() {
			workers = 100_000
		}
		rows := make([]map[string]any, 0, workers) // which leave the workers below 100 free
		for worker := range cap(rows) {
			rows = append(rows, map[string]any{"namespace": "default", "worker_id": worker + 100, "bound": 1, "owner": "other"})
		}
		if err := db.Table("many").CreateInBatches(rows, 200).Error; err != nil {
			t.Fatal(err)
		}
		storetest.AmongMany(t, few, many)
		layout := snowflake.Layout{Epoch: time.UnixMilli(1577836800000).UTC(), Tick: time.Millisecond, WorkerBits: 17, SequenceBits: 5}
		began := time.Now()
		l, err := lease.Acquire(t.Context(), many, layout)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("a claim among them takes %v", time.Since(began))
		if err := l.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
