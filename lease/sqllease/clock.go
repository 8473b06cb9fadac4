package sqllease

import (
	"context"
	"database/sql"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// A clockStore is a store in a database with a clock of its own. A lease calls the method Now
// of every store that has this method. SQLite has no clock, so the type store has no method
// Now, and only clockStore has it.
type clockStore struct{ *store }

var _ lease.Clock = clockStore{}

// withClock returns s as a clockStore if the database has a clock, and otherwise s itself.
func withClock(s *store) lease.Store {
	if s.dialect().now == "" {
		return s
	}
	return clockStore{s}
}

// Now returns the time of the database server.
func (s clockStore) Now(ctx context.Context) (time.Time, error) {
	return endWithContext(ctx, s.store, func() (time.Time, error) {
		var microseconds int64
		err := s.attempt(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, "SELECT "+s.dialect().now+oneRow).Scan(&microseconds)
		})
		return time.UnixMicro(microseconds), err
	})
}
