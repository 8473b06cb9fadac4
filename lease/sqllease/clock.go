package sqllease

import (
	"context"
	"database/sql"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// clockStore is a store in a database with a clock of its own, which SQLite lacks.
type clockStore struct{ *store }

var _ lease.Clock = clockStore{}

// withClock returns the store, as a [lease.Clock] if its database has a clock.
func withClock(s *store) lease.Store {
	if s.dialect().now == "" {
		return s
	}
	return clockStore{s}
}

// Now returns the time of the server, over any connection of the pool.
func (s clockStore) Now(ctx context.Context) (time.Time, error) {
	return endWithContext(ctx, s.store, func() (time.Time, error) {
		var microseconds int64
		err := s.attempt(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, "SELECT "+s.dialect().now).Scan(&microseconds)
		})
		return time.UnixMicro(microseconds), err
	})
}
