package migratetest

import (
	"testing"
	"time"
)

// PgWaiting counts the sessions that wait for a lock.
const PgWaiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// Waits calls apply, which has to wait for a lock, ends it when it does, and
// returns how many wait after that, and its error.
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
