package sqllease

import (
	"context"
	"database/sql"
	"fmt"
)

// durably calls write while the connection is set to wait for the disk.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t table, write func() error) error {
	if s.dialect().durably == nil || s.volatile {
		return write()
	}
	return s.dialect().durably(ctx, conn, t, write)
}

// synchronously calls f so that it sees all that was acknowledged to anybody. A
// read that lags would be taken for a store that has forgotten.
func (s *store) synchronously(ctx context.Context, conn *sql.Conn, f func() error) error {
	if !s.clustered.Load() {
		return f()
	}
	return s.dialect().synchronously(ctx, conn, f)
}

// while calls f while a setting of the connection, which get selects, is what change
// makes of it, and then sets it back: the pool is the application's.
func while(ctx context.Context, conn *sql.Conn, get, set string, change func(int) int, f func() error) error {
	var before int
	if err := conn.QueryRowContext(ctx, get).Scan(&before); err != nil {
		return err
	}
	during := change(before)
	if during == before {
		return f()
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(set, during)); err != nil {
		return err
	}
	err := f()
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, before)); failed != nil {
		discard(conn)
	}
	return err
}
