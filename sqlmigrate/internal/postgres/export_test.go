package postgres

import (
	"context"
	"database/sql"
)

// End begins a transaction on conn, and then ends a session over the connection other. With
// pid 0 and an empty key, this is the session of conn. pid is added to the process number of
// the session, and key, for example " + 1", is appended to the key of its advisory lock, so
// that the identification no longer matches the session of conn.
func End(ctx context.Context, conn, other *sql.Conn, pid int64, key string) error {
	s, err := begin(ctx, conn, nil)
	if err != nil {
		return err
	}
	s.backend.PID += pid
	s.backend.Key += key
	return s.backend.End(ctx, other)
}
