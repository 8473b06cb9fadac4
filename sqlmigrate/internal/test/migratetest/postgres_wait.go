package migratetest

import (
	"testing"
	"time"
)

// PgWaiting is a query that returns the number of sessions of the database that wait for
// a lock.
const PgWaiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// Waits calls apply, and while apply waits for a lock, it calls end. The function end must
// make apply return, for example by canceling a context. Waits returns the number of
// sessions that still wait for a lock after apply has returned, and the error of apply.
//
// To make apply wait, Waits locks table orders in mode ACCESS SHARE, and apply must need a
// lock that conflicts with this mode.
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
