package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// checkCluster notes whether the server is one of several that lag behind each
// other.
func (s *store) checkCluster(ctx context.Context) error {
	if s.dialect.cluster == "" {
		return nil
	}
	var name, value string
	err := s.attempt(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, s.dialect.cluster).Scan(&name, &value)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	s.clustered.Store(strings.EqualFold(value, "ON"))
	return err
}

// synchronously calls f so that it sees all that was acknowledged to anybody. A
// read that lags would be taken for a store that has forgotten.
func (s *store) synchronously(ctx context.Context, conn *sql.Conn, f func() error) error {
	if !s.clustered.Load() {
		return f()
	}
	return s.dialect.synchronously(ctx, conn, f)
}
