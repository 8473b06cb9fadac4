package postgres

import (
	"context"
	"database/sql"
)

// End begins a transaction on conn and ends its session over other. It adds pid to the
// process number, and appends key, such as " + 1", to the lock key by which the session
// is identified. With these, a test can name a session that is not that of conn.
func End(ctx context.Context, conn, other *sql.Conn, pid int64, key string) error {
	s, err := begin(ctx, conn, nil)
	if err != nil {
		return err
	}
	s.backend.PID += pid
	s.backend.Key += key
	return s.backend.End(ctx, other)
}
