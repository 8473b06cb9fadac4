package sqllease

import (
	"context"
	"database/sql"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// The stores of a database that has a clock of its own. SQLite's is the clock of
// the process that asks.
type (
	clocked       struct{ *store }
	pooledClocked struct{ pooled }
)

var (
	_ lease.Clock = clocked{}
	_ lease.Clock = pooledClocked{}
)

// Now implements [lease.Clock].
func (s clocked) Now(ctx context.Context) (time.Time, error) { return s.now(ctx) }

// Now implements [lease.Clock].
func (s pooledClocked) Now(ctx context.Context) (time.Time, error) { return s.now(ctx) }

func withClock(s *store) lease.Store {
	if s.dialect.now == "" {
		return s
	}
	return clocked{s}
}

func (s *store) now(ctx context.Context) (time.Time, error) {
	return bounded(ctx, s, func() (time.Time, error) {
		var microseconds int64
		err := s.attempt(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, "SELECT "+s.dialect.now).Scan(&microseconds)
		})
		return time.UnixMicro(microseconds), err
	})
}
