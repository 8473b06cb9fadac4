package mysql

import (
	"context"
	"database/sql"
	"errors"
)

var errEnded = errors.New("ended")

// EndSession ends s as Run does after the connection was lost. It returns nil if the
// server has confirmed that the session has ended.
func EndSession(ctx context.Context, conn *sql.Conn, pool *sql.DB, s *Session) error {
	if err := s.end(ctx, conn, pool, errEnded); !errors.Is(err, errEnded) || err.Error() != errEnded.Error() {
		return err
	}
	return nil
}
