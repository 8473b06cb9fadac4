package migratetest

import (
	"testing"
	"time"
)

// PgWaiting is a query that returns the number of sessions of the database that wait for
// a lock.
const PgWaiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// Waits tests what remains of a run that ends while it waits for a lock. It locks table
// orders, calls apply, which must need that lock, and calls end as soon as a session
// waits for it. It returns the number of sessions that still wait after apply has
// returned, and the error of apply.
func (d *PgDatabase) Waits(t *testing.T, end func(), apply func() error) (string, error) {
	t.Helper()
	reader := d.Begin()
	defer reader.Rollback()
	Run(t, reader, "LOCK TABLE orders IN ACCESS SHARE MODE")
	done := make(chan error)
	go func() { done <- apply() }()
	for d.Value(t, PgWaiting) != "1" {
		time.Sleep(time.Millisecond)
	}
	end()
	err := <-done
	return d.Value(t, PgWaiting), err
}
