package postgres

import (
	"context"
	"database/sql"
)

// End begins a transaction of conn and ends it over other, but takes it for the one of
// another process, or with another lock.
func End(ctx context.Context, conn, other *sql.Conn, pid int64, key string) error {
	s, err := begin(ctx, conn, nil)
	if err != nil {
		return err
	}
	s.backend.PID += pid
	s.backend.Key += key
	return s.backend.End(ctx, other)
}
