package mysql

import (
	"context"
	"database/sql"
	"errors"
)

var errEnded = errors.New("ended")

// EndSession ends s as Run does when its connection is lost.
func EndSession(ctx context.Context, conn *sql.Conn, pool *sql.DB, s *Session) error {
	if err := s.end(ctx, conn, pool, errEnded); !errors.Is(err, errEnded) || err.Error() != errEnded.Error() {
		return err
	}
	return nil
}
