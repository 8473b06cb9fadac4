package sqllease_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/snowflake"
)

// If a database takes 0.8 s for each statement, a process can still acquire a worker,
// extend its window and release the worker, although each of these calls sends several
// statements. The long form logs up to which time per statement that is possible.
func TestSlowStatements(t *testing.T) {
	t.Parallel()
	times := []time.Duration{800 * time.Millisecond}
	if storetest.Long() {
		times = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 800 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
	}
	for _, d := range times {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *gorm.DB) {
				err := leaseSlowly(t, proxied(t, db, &proxy{rewrite: func(statement string) string {
					time.Sleep(d)
					return statement
				}}))
				if t.Log(err); err != nil && d < time.Second {
					t.Error("want none")
				}
			})
		})
	}
}

// leaseSlowly acquires, extends and releases a worker, and returns the first error.
func leaseSlowly(t *testing.T, db *gorm.DB) error {
	t.Helper()
	began := time.Now()
	l, err := lease.Acquire(t.Context(), newStore(db), snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	t.Logf("started after %v", time.Since(began).Round(10*time.Millisecond))
	for s := l.Stats(); s.Extensions == 0; s = l.Stats() {
		if s.Failure != nil {
			err = s.Failure
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("extended after %v", time.Since(began).Round(10*time.Millisecond))
	if err != nil {
		return err
	}
	began = time.Now()
	err = l.Release(context.WithoutCancel(t.Context()))
	t.Logf("released after %v", time.Since(began).Round(10*time.Millisecond))
	return err
}
